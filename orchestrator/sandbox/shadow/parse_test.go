package shadow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPacked: whatever the file is, what comes of it are names of references and ids, and what git writes is read.
func FuzzPacked(f *testing.F) {
	id := strings.Repeat("0a", 20)
	f.Add("# pack-refs with: peeled fully-peeled sorted \n" + id + " refs/heads/a\n^" + id + "\n")
	f.Add(id + " refs/heads/a b\n" + id + " HEAD\n" + id)
	f.Fuzz(func(t *testing.T, content string) {
		for name, at := range parsePacked([]byte(content)) {
			require.True(t, strings.HasPrefix(name, "refs/"))
			require.Regexp(t, `^[0-9a-f]+$`, string(at))
		}
		require.Equal(t, id, string(parsePacked([]byte(strings.TrimSuffix(content, "\n") + "\n" + id + " refs/heads/last\n"))["refs/heads/last"]))
	})
}
