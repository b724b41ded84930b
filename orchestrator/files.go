package orchestrator

import (
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/private"
)

// levels is how deep an epic's folder is below the git directory: orch/epics/EPIC.
const levels = 3

// RemoveLogs removes the folder logs below an epic's folder dir, as [private.Dir.RemoveAll] does.
func RemoveLogs(dir, logs string) error {
	files, err := openFiles(dir)
	if err != nil {
		return err
	}
	return errors.Join(files.RemoveAll(logs), files.Close())
}

// openFiles holds the folder that an epic's files are below, and that agents have no reason to
// write to: the git directory, with orch/epics/EPIC in it. Each step from there on is looked at.
func openFiles(dir string) (*private.Dir, error) {
	files, err := private.OpenAbove(dir, levels)
	if err != nil {
		return nil, fmt.Errorf("opening orch's folder: %w", err)
	}
	return files, nil
}
