package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// TestSeatbelt: the profile of a usual place is the one that is kept; what is hidden comes before what is open, and that before what of it
// is only read.
func TestSeatbelt(t *testing.T) {
	t.Parallel()
	place := usual()
	place.Worktree, place.Read, place.Network = `/home/ann/repo.worktrees/e/a "quoted" \ tree`, []string{"/home/ann/.nvm"}, true
	policy, err := sandbox.New(place)
	require.NoError(t, err)
	got := sandbox.SeatbeltProfile(policy)
	golden := filepath.Join("testdata", "usual.sb")
	if os.Getenv("ORCH_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "ORCH_TEST_UPDATE=1 makes it anew")

	at := func(line string) int {
		n := strings.Index(got, line+"\n")
		require.GreaterOrEqual(t, n, 0, line)
		return n
	}
	tree := `"/home/ann/repo.worktrees/e/a \"quoted\" \\ tree`
	require.Less(t, at(`(deny file-read* file-write* (subpath "/home/ann"))`), at(`(allow file-read* (subpath `+tree+`"))`))
	require.Less(t, at(`(allow file-write* (subpath `+tree+`"))`), at(`(deny file-write* (subpath `+tree+`/.git"))`))
	require.Less(t, at(`(deny file-read* file-write* (subpath "/home/ann/repo/.git"))`), at(`(allow file-read* (subpath "/home/ann/repo/.git/objects"))`))
	require.NotContains(t, got, `(allow file-write* (subpath "/home/ann/.nvm"))`)
	place.Network = false
	policy, err = sandbox.New(place)
	require.NoError(t, err)
	require.NotContains(t, sandbox.SeatbeltProfile(policy), "(allow network*)")
}

// FuzzSeatbelt: no path ends its string.
func FuzzSeatbelt(f *testing.F) {
	f.Add(`a"b\`)
	f.Add("))(allow default)")
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsAny(name, "/\n\x00") {
			return
		}
		profile := sandbox.SeatbeltProfile(sandbox.Policy{Bounds: []sandbox.Bound{{Kind: sandbox.Writable, At: "/x" + name, From: "/x" + name}}, PrivateHome: "/h"})
		plain := sandbox.SeatbeltProfile(sandbox.Policy{Bounds: []sandbox.Bound{{Kind: sandbox.Writable, At: "/x", From: "/x"}}, PrivateHome: "/h"})
		if strings.Count(profile, "\n") != strings.Count(plain, "\n") || quotes(profile)%2 != 0 || quotes(profile) != quotes(plain) {
			t.Fatal(profile)
		}
	})
}

// quotes counts those that begin or end a string.
func quotes(s string) (n int) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			n++
		}
	}
	return n
}
