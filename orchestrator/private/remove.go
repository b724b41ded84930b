package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// MountError says that something is mounted below a tree that was to be removed.
type MountError struct {
	// Path is the tree.
	Path string
	// At is where something is mounted.
	At string
}

// Error names both, and what to do.
func (e *MountError) Error() string {
	return e.Path + " is not removed: something is mounted at " + e.At + "; umount it, and remove the folder"
}

// Mounted fails with a [*MountError] where something is mounted at or below a path, so that RemoveAll would
// not delete it.
func Mounted(path string) error {
	if mount := mountBelow(path); mount != "" {
		return &MountError{Path: path, At: mount}
	}
	return nil
}

// RemoveAll deletes what is at name and everything below it, folders without permissions
// too. No link is followed, and nothing is deleted of a tree that something is mounted in: it
// fails with a [*MountError] then. Nothing there is no error.
func (d *Dir) RemoveAll(name string) (err error) {
	defer func() { err = Refused(err) }()
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	at, last, err := d.walk(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = removeAll(at, last, path)
	return errors.Join(err, at.Close())
}

// RemoveAll removes a folder with all that a command has left in it, folders without permissions too; one that is not there is removed.
func RemoveAll(path string) error {
	above, err := OpenAbove(path, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(above.RemoveAll(path), above.Close())
}

func removeAll(at *os.Root, name, path string) error {
	if err := Mounted(path); err != nil {
		return err
	}
	err := at.RemoveAll(name)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return errors.Join(makeDeletable(at, name), at.RemoveAll(name))
}

// makeDeletable gives the folders of a tree the permissions that deleting them takes.
func makeDeletable(at *os.Root, name string) error {
	info, err := at.Lstat(name)
	if err != nil || !info.IsDir() {
		return nil
	}
	if info.Mode().Perm()&dirMode != dirMode {
		if err := at.Chmod(name, dirMode); err != nil {
			return err
		}
	}
	sub, err := enterPlain(at, name)
	if err != nil {
		return nil // what was swapped is left to RemoveAll
	}
	err = permitEntries(sub)
	return errors.Join(err, sub.Close())
}

func permitEntries(at *os.Root) error {
	f, err := at.Open(".")
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := makeDeletable(at, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
