package land

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
)

// FuzzAuthor: whatever a commit says of its author, git makes a commit with what is left of it.
func FuzzAuthor(f *testing.F) {
	f.Add("An Agent", "agent@x", "1700000000 +0530")
	f.Add(" <", "", "1 +9999")
	f.Add(".", "\n", "")
	w := gittest.New(f, os.Getenv("PATH"))
	w.Commit("file", "1")
	tree, r := w.Git("rev-parse", "HEAD^{tree}"), w.Open()
	f.Fuzz(func(t *testing.T, name, email, date string) {
		env := authorEnv(name, email, date)
		for _, e := range env {
			if strings.Contains(e, "\x00") {
				t.Fatalf("%q cannot be an environment variable", e)
			}
		}
		_, err := r.Do(t.Context(), git.Call{Env: env, Args: []string{"commit-tree", "-m", "x", tree}})
		var exit *command.ExitError
		require.NotErrorAs(t, err, &exit)
		require.NoError(t, err)
	})
}
