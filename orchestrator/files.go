package orchestrator

import (
	"errors"

	"github.com/beadsorch/orch/orchestrator/epicdir"
)

// RemoveLogs removes the folder logs below an epic's folder dir, as RemoveAll of a private.Dir does.
func RemoveLogs(dir, logs string) error {
	files, err := epicdir.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(files.RemoveAll(logs), files.Close())
}
