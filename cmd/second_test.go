package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// pauseAt has orch wait at the n-th event that is written, until somebody has made the file
// FILE.go; it makes FILE when it is there: "7 FILE".
func pauseAt(when string) faults {
	if when == "" {
		return nil
	}
	var n int
	var file string
	if _, err := fmt.Sscan(when, &n, &file); err != nil {
		panic(err)
	}
	return func(write func(...epic.Event) error) func(...epic.Event) error {
		written := 0
		return func(events ...epic.Event) error {
			for range events {
				if written++; written == n {
					if err := os.WriteFile(file, nil, 0o600); err != nil {
						panic(err)
					}
					await(file + ".go")
				}
			}
			return write(events...)
		}
	}
}

// await waits for a file, a minute at most.
func await(file string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
}

// TestSecondRunAtAnyMoment starts a second run at each event of the first. It is refused, or it
// waits and finds all done; no agent works twice, and nothing lands twice.
func TestSecondRunAtAnyMoment(t *testing.T) {
	t.Parallel()
	agent := `cd "$ORCH_WORKTREE"
echo "$ORCH_TASK" >>../../../starts
echo work >"$ORCH_TASK.txt"
git add -A
git commit -q -m "$ORCH_TASK"
`
	world := func(t *testing.T) *fixture {
		f := quickFixture(t, agent, "true")
		f.task("one")
		f.task("two", ".1")
		return f
	}
	ref := world(t)
	out, code := ref.run(nil, "orch", "run", ref.epic)
	require.Equal(t, 0, code, out)
	events := countEvents(t, ref)
	step := thorough(9, 3, 1)
	for n := 1; n <= events; n += step {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			f := world(t)
			file := filepath.Join(f.dir, "..", "there")
			type end struct {
				out  string
				code int
			}
			first := make(chan end)
			go func() {
				out, code := f.run([]string{fmt.Sprintf("ORCH_TEST_PAUSE=%d %s", n, file)}, "orch", "run", f.epic)
				first <- end{out, code}
			}()
			await(file)
			second := exec.CommandContext(t.Context(), filepath.Join(f.bin, "orch"), "run", f.epic)
			second.Dir, second.Env = f.dir, f.env
			var text bytes.Buffer
			second.Stdout, second.Stderr = &text, &text
			require.NoError(t, second.Start())
			time.Sleep(time.Duration(n%5) * 100 * time.Millisecond) // it reads the world in the middle of the first
			require.NoError(t, os.WriteFile(file+".go", nil, 0o600))
			one := <-first
			require.Equal(t, 0, one.code, one.out)
			_ = second.Wait() // its exit code is looked at
			require.Contains(t, []int{0, 6}, second.ProcessState.ExitCode(), text.String())
			starts, err := os.ReadFile(filepath.Join(f.dir, "..", "starts"))
			require.NoError(t, err)
			require.Equal(t, "e-1.1\ne-1.2\n", string(starts), text.String())
			landed := f.must("git", "log", "--first-parent", "--format=%(trailers:key=Orch-Task,valueonly,separator=)", "main..epic/"+f.epic)
			require.Equal(t, "e-1.2\ne-1.1", strings.TrimSpace(landed))
		})
	}
}
