package cmd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// fickleAgent gets better, gets worse, lies, asks, crashes, wants to go on or does nothing, as
// the dice have it.
const fickleAgent = `cd "$ORCH_WORKTREE"
roll() { od -An -N2 -tu2 /dev/urandom | tr -d ' '; }
do_work() { echo "$1" >"$ORCH_TASK.txt"; [ $(($(roll) % 2)) = 0 ] || { git add -A; git commit -qm "$1"; }; }
case $(($(roll) % 9)) in
0) do_work wrong; echo '<promise>COMPLETE</promise>' ;;
1|2|3) do_work right; echo '<promise>COMPLETE</promise>' ;;
4) do_work right; echo '<promise>CONTINUE</promise>' ;;
5) do_work "wrong $(roll)" ;;
6) echo 'I did it all. <promise>COMPLETE</promise>' ;;
7) do_work half; exit 1 ;;
8) [ $(($(roll) % 3)) != 0 ] || printf '<promise>BLOCKED</promise>\nReason: which one?\n' ;;
esac
`

// TestFickleAgents runs an epic with agents that do as the dice have it, kills orch at random
// moments, and runs it again. However it goes: it ends; what is closed has landed, once, and
// is right; what is not says why; and nothing is left behind.
func TestFickleAgents(t *testing.T) {
	t.Parallel()
	const tasks = 8
	for seed := range uint64(thorough(1, 4, 4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := quickFixture(t, fickleAgent, "! cat *.txt 2>/dev/null | grep -v right")
			f.settings("", "  agents: {me: {maxIterations: 5, validationRules: [gate]}, do: {enabled: false}}\n")
			rnd := rand.New(rand.NewPCG(seed, 1))
			for n := range tasks {
				labels := []string{"agent:me", "agent:do", "agent:qa"}[rnd.IntN(3)]
				args := []string{"tasks", "create", fmt.Sprint("task ", n), "--parent", f.epic, "--labels", labels}
				if n > 0 && rnd.IntN(3) == 0 {
					args = append(args, "--deps", fmt.Sprintf("%s.%d", f.epic, 1+rnd.IntN(n)))
				}
				f.must("orch", args...)
			}
			was := f.checkout()
			for range 6 {
				f.run([]string{fmt.Sprintf("ORCH_TEST_KILL=after %d", 3+rnd.IntN(40))}, "orch", "run", f.epic)
			}
			var out string
			for tries, code := 0, cli.ExitLimit; code == cli.ExitLimit; tries++ { // three in a row may need a person
				require.Less(t, tries, tasks)
				out, code = f.run(nil, "orch", "run", f.epic)
				require.Contains(t, []int{cli.ExitDone, cli.ExitNeedsYou, cli.ExitLimit}, code, out)
			}
			f.requireTruth(out)
			require.Equal(t, was, f.checkout())
			f.noProcesses()
			f.noLocks()
		})
	}
}

// requireTruth: the tracker, the epic branch and the journal say the same of each task.
func (f *fixture) requireTruth(out string) {
	t := f.t
	t.Helper()
	landed := strings.Fields(f.must("git", "log", "--first-parent", "--format=%(trailers:key=Orch-Task,valueonly)", "main..epic/"+f.epic))
	times := map[string]int{}
	for _, id := range landed {
		times[id]++
		require.Equal(t, 1, times[id], "%s landed twice", id)
		require.Equal(t, "right", f.must("git", "show", "epic/"+f.epic+":"+id+".txt"))
	}
	var list struct{ Issues []struct{ ID, Status string } }
	require.NoError(t, json.Unmarshal([]byte(f.must("orch", "tasks", "list", "--all", "--json")), &list))
	status := map[string]string{}
	for _, i := range list.Issues {
		status[i.ID] = i.Status
	}
	rec, err := journal.Read(f.epicDir())
	require.NoError(t, err)
	s, err := epicstore.Replay(rec.Records)
	require.NoError(t, err)
	for _, task := range s.Tasks {
		if task.Epic {
			continue
		}
		id := string(task.ID)
		require.Equal(t, times[id] == 1, status[id] == "closed", "%s is %s in the tracker\n%s", id, status[id], out)
		require.Equal(t, times[id] == 1, task.State == epic.Landed, "%s is %s in the journal", id, task.State)
		if task.State == epic.Parked {
			require.NotEmpty(t, task.Code)
			require.NotEmpty(t, task.Why)
			require.Equal(t, "blocked", status[id], id)
		}
	}
	require.Empty(t, f.must("git", "fsck", "--no-dangling", "--no-progress"))
}
