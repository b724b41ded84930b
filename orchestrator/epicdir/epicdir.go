// Package epicdir says where things are below an epic's folder, <common>/orch/epics/<epic>.
package epicdir

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// levels is how deep an epic's folder is below the git directory: orch/epics/EPIC.
const levels = 3

// Open holds the folder that an epic's files are below, and that agents have no reason to
// write to: the git directory, with orch/epics/EPIC in it. Each step from there on is checked.
// It fails when the folder cannot be opened.
func Open(dir string) (*private.Dir, error) {
	files, err := private.OpenAbove(dir, levels)
	if err != nil {
		return nil, fmt.Errorf("opening orch's folder: %w", err)
	}
	return files, nil
}

// Attempt is where the briefs and logs of attempt n at a task are.
func Attempt[ID ~string](dir string, task ID, n int) string {
	return filepath.Join(dir, "attempts", slug.Of(string(task)), strconv.Itoa(n))
}

// Brief is the prompt of a turn, in the folder of an attempt.
func Brief(attempt string, turn int) string {
	return filepath.Join(attempt, fmt.Sprintf("brief-%d.md", turn))
}

// Output is what the agent of a turn printed, in the folder of an attempt.
func Output(attempt string, turn int) string {
	return filepath.Join(attempt, fmt.Sprintf("output-%d.log", turn))
}

// Home is where the home of a task's agents is, which they have in a sandbox and keep over its attempts.
func Home[ID ~string](dir string, task ID) string {
	return filepath.Join(dir, "homes", slug.Of(string(task)))
}

// Setup is what the setup of a worktree has printed, in the folder of the attempt; or of the epic for that of the gate's.
func Setup(folder string) string { return filepath.Join(folder, "setup.log") }

// Gate is what the gate printed last of an attempt's work, in the folder of the attempt.
func Gate(attempt string) string { return filepath.Join(attempt, "gate.log") }
