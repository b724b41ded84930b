package fault

import (
	"errors"
	"fmt"
	"io/fs"
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
		if err := closed(dir); err != nil {
			return err
		}
	}
	return nil
}

// closed fails with a [*ClosedError] where a folder cannot be written to. What is no folder is not closed.
func closed(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil
	}
	err := unix.Access(dir, unix.W_OK|unix.X_OK)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
		return &ClosedError{Path: dir, Err: err}
	}
	return nil
}

// Closed fails with a [*ClosedError] where nothing can be made in one of the folders; where there is none yet, in the
// folder that it would be made in. What cannot be asked is not closed.
func Closed(dirs ...string) error {
	for _, dir := range dirs {
		for !isThere(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		if err := closed(dir); err != nil {
			return err
		}
	}
	return nil
}

// maxFolders bounds how many folders ClosedBelow looks at below each that it is given.
const maxFolders = 2000

// ClosedBelow is Closed for the folders and all below them. No link is followed.
func ClosedBelow(dirs ...string) error {
	for _, dir := range dirs {
		if err := Closed(dir); err != nil {
			return err
		}
		left := maxFolders
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return fs.SkipAll
			}
			if d != nil && d.IsDir() {
				return closed(path)
			}
			return nil // it is gone, or no folder
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
