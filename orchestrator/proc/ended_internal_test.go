package proc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExitErrorIsOneLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		argv   []string
		code   int
		signal string
		stderr string
		want   string
	}{
		{[]string{"git", "--git-dir=/r/.git", "-c", "core.x=y", "merge-tree", "-z"}, 128, "", "\nfatal: bad\nhint: no\n", "git merge-tree: exit 128: fatal: bad"},
		{[]string{"/usr/bin/git", "-C", "/a/b", "status"}, 1, "", "", "git status: exit 1"},
		{[]string{"sh", "-c", "go test ./..."}, 137, "SIGKILL", "", "sh: ended by SIGKILL"},
		{[]string{"bd"}, 1, "", "\x1b[31mError\xff\x1b[0m: no\r\n", "bd: exit 1: Error\ufffd: no"},
		{nil, 1, "", "", "command: exit 1"},
	} {
		require.EqualError(t, exitError(test.argv, test.code, test.signal, []byte(test.stderr)), test.want)
	}
}

func TestQuietErrorIsOneLine(t *testing.T) {
	t.Parallel()
	require.EqualError(t, quietError([]string{"git", "status", "a b\n"}, time.Minute),
		"git status did nothing for 1m0s and was ended: it waited for a file that does not answer (git status 'a b ')")
}
