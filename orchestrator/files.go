package orchestrator

import (
	"fmt"

	"github.com/beadsorch/orch/orchestrator/private"
)

// levels is how deep an epic's folder is below the git directory: orch/epics/EPIC.
const levels = 3

// openFiles holds the folder that an epic's files are below, and that agents have no reason to
// write to: the git directory, with orch/epics/EPIC in it. Each step from there on is looked at.
func openFiles(dir string) (*private.Dir, error) {
	files, err := private.OpenAbove(dir, levels)
	if err != nil {
		return nil, fmt.Errorf("opening orch's folder: %w", err)
	}
	return files, nil
}
