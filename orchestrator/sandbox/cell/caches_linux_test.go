package cell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
)

// TestCaches: what an agent writes into a cache is its own: the person's stays, and neither the next turn nor the gate sees it. Where there are
// mounts all see the person's; else those of which tools make use when they can only read them.
func TestCaches(t *testing.T) {
	t.Parallel()
	caches := []string{".cache/go-build", "go/pkg/mod", ".npm", ".cache/pip", ".cache/uv", ".cargo/registry", ".m2/repository"}
	eachLevel(t, func(t *testing.T, w *world) {
		elsewhere := filepath.Join(filepath.Dir(w.home), "data", "pnpm") // where a link in the home leads
		require.NoError(t, os.MkdirAll(elsewhere, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "entry"), []byte("good"), 0o600))
		require.NoError(t, os.MkdirAll(w.at(".cache"), 0o700))
		require.NoError(t, os.Symlink(elsewhere, w.at(".cache/pnpm")))
		for _, cache := range caches {
			require.NoError(t, os.MkdirAll(w.at(cache), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(w.at(cache), "entry"), []byte("good"), 0o400))
		}
		all := append(caches, ".cache/pnpm")
		w.cells.Place = w.cells.Place.WithTools(func(string) string { return "" })
		before := w.everything()
		list := strings.Join(all, " ")
		look := "cd; for c in " + list + "; do echo $c $(cat $c/entry 2>/dev/null) $(ls $c/new 2>/dev/null); done"
		poison := "cd; for c in " + list + "; do { chmod 600 $c/entry; echo -n evil >$c/entry; mkdir -p $c; echo evil >$c/new; } 2>/dev/null; done; cat .npm/new"
		if !w.cells.Box.Level.Mounts() { // the mode of a file is not kept there
			poison = strings.Replace(poison, "chmod 600 $c/entry; ", "", 1)
		}
		seen := func(out string) {
			t.Helper()
			require.NotContains(t, out, "evil")
			require.NotContains(t, out, "/new")
			require.Contains(t, out, ".cargo/registry good\n")
			if w.cells.Box.Level.Mounts() {
				require.Equal(t, len(all), strings.Count(out, " good\n"), out)
			}
		}
		out, _ := w.turn(look)
		seen(out)
		out, _ = w.turn(poison)
		require.Equal(t, "evil\n", out, "the agent can write its own")
		require.Equal(t, before, w.everything())
		content, err := os.ReadFile(filepath.Join(elsewhere, "entry"))
		require.NoError(t, err)
		require.Equal(t, "good", string(content))
		if w.cells.Box.Level.Mounts() { // else what is private is kept over the turns of a task
			out, _ = w.turn(look)
			seen(out)
		}
		res, err := w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: w.stay.Dir, Argv: []string{"sh", "-c", look}, Env: w.Env})
		require.NoError(t, err, string(res.Stderr))
		seen(string(res.Stdout))
		_, err = w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: w.stay.Dir, Argv: []string{"sh", "-c", poison}, Env: w.Env})
		require.NoError(t, err)
		res, err = w.cells.In(engine.Room{})(t.Context(), command.Cmd{Dir: w.stay.Dir, Argv: []string{"sh", "-c", look}, Env: w.Env})
		require.NoError(t, err, string(res.Stderr))
		seen(string(res.Stdout))
		require.Equal(t, before, w.everything())
	})
}
