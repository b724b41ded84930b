package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSessionsBesideARun: a run and two sessions work on one epic at the same time. No task is in
// two hands, and each lands once.
func TestSessionsBesideARun(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo "agent $ORCH_TASK" >>"$HOME/worked"
echo x >"$ORCH_TASK" && git add -A && git commit -q -m x
`, "true")
	titles := strings.Fields("a b c d e f g h")
	for _, title := range titles {
		f.task(title)
	}
	var mu sync.Mutex
	by := map[string][]string{} // who was given a task, by task and attempt
	lead := func(id string) {
		for range 20 {
			c := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "next", f.epic, "--json", "-j", "2")
			c.Dir, c.Env = f.dir, append(slices.Clone(f.env), "CLAUDE_CODE_SESSION_ID="+id)
			out, err := c.Output()
			var next struct {
				Tasks []struct {
					Task, Dir string
					Attempt   int
				}
				Done bool
			}
			if json.Unmarshal(out, &next) != nil {
				t.Errorf("%s: %s %v", id, out, err)
				return
			}
			for _, task := range next.Tasks {
				mu.Lock()
				by[task.Task] = append(by[task.Task], id)
				mu.Unlock()
				if err := os.WriteFile(filepath.Join(task.Dir, task.Task), []byte(id), 0o600); err != nil {
					t.Error(err)
				}
				land := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "land", task.Task)
				land.Dir, land.Env = f.dir, c.Env
				if out, err := land.CombinedOutput(); err != nil {
					t.Errorf("%s lands %s: %s", id, task.Task, out)
				}
			}
			if len(next.Tasks) == 0 {
				return
			}
		}
	}
	var sessions sync.WaitGroup
	for _, id := range []string{"s-1", "s-2"} {
		sessions.Go(func() { lead(id) })
	}
	out, code := f.run(nil, "orch", "run", f.epic, "-j", "3")
	sessions.Wait()
	if code != 0 { // a session had a task when it began, or a short command had the epic at its end
		out, code = f.run(nil, "orch", "run", f.epic)
	}
	require.Zero(t, code, out)
	worked, _ := os.ReadFile(filepath.Join(filepath.Dir(f.dir), "worked")) // none when sessions did all
	for task, who := range by {
		require.NotContains(t, string(worked), "agent "+task+"\n", "no agent was given what a session had")
		require.Len(t, slices.Compact(slices.Clone(who)), 1, "%s was in the hands of %v", task, who)
	}
	landed := strings.Fields(f.must("git", "log", "--first-parent", "--format=%(trailers:key=Orch-Task,valueonly,separator=)", "main..epic/"+f.epic))
	slices.Sort(landed)
	require.Len(t, landed, len(titles))
	require.Equal(t, slices.Compact(slices.Clone(landed)), landed, "each once")
}
