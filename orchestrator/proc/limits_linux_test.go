package proc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// TestLimits: a command that uses more than it may is ended with all below it, and says which limit it was; one that uses less is not.
func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct {
		script string
		limits command.Limits
		what   string
		says   string
	}{
		"processes": {`for i in 1 2 3 4 5 6 7 8 9; do setsid sleep 1000 & done; wait`, command.Limits{Processes: 8, Memory: 1 << 40}, command.Processes, "more than 8 processes"},
		"memory":    {`exec awk 'BEGIN { for (s = "x"; length(s) < 100000000; ) s = s s; system("sleep 1000") }'`, command.Limits{Processes: 100, Memory: 50 << 20}, command.Memory, "50 MB"},
		"disk":      {`mkdir -p "$1/a/b"; head -c 3000000 /dev/zero >"$1/a/b/c"; sleep 1000`, command.Limits{Disk: 2 << 20, Folders: []string{filepath.Join(dir, "none"), dir}}, command.Disk, "2 MB"},
		"less":      {`sleep 0.6; echo done`, command.Limits{Processes: 100, Memory: 1 << 40, Disk: 1 << 40, Folders: []string{dir}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := system(t, 0)
			c := command.Cmd{Argv: []string{"sh", "-c", test.script, "sh", dir}, Env: []string{"PATH=" + os.Getenv("PATH")}, Limits: test.limits}
			res, err := s.RunGuarded(t.Context(), c)
			if test.what == "" {
				require.NoError(t, err)
				return
			}
			var over *command.LimitError
			require.ErrorAs(t, err, &over)
			require.Equal(t, test.what, over.What)
			require.Contains(t, err.Error(), test.says)
			require.Empty(t, res.Survivors)

			p, err := s.Start(t.Context(), proc.Spec{Cmd: c})
			require.NoError(t, err)
			require.Equal(t, proc.Cause(test.what), p.Wait().Cause)
		})
	}
}
