package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ClosedError says that a folder that has to be written to cannot be: by its mode, its owner or an attribute, or since
// it is on a file system that is only read. That is a fault of the machine.
type ClosedError struct {
	// Path is the folder.
	Path string
	// Err is what the system says.
	Err error
}

// Error names the folder.
func (e *ClosedError) Error() string {
	return fmt.Sprintf("%s cannot be written to: %v", e.Path, e.Err)
}

// Unwrap is what the system says.
func (e *ClosedError) Unwrap() error { return e.Err }

// ClosedObjects fails with a [*ClosedError] where git could not write an object, or a pack of them, into a folder of
// objects: the folder itself, or one of those below it. What is not there, or cannot be asked, is not closed.
func ClosedObjects(objects string) error {
	entries, err := os.ReadDir(objects)
	if err != nil {
		return nil // which git says
	}
	dirs := []string{objects}
	for _, e := range entries {
		if e.IsDir() && (len(e.Name()) == 2 || e.Name() == "pack") {
			dirs = append(dirs, filepath.Join(objects, e.Name()))
		}
	}
	for _, dir := range dirs {
		err := unix.Access(dir, unix.W_OK|unix.X_OK)
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
			return &ClosedError{Path: dir, Err: err}
		}
	}
	return nil
}
