package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// openPrivate opens the journal's file in dir for reading and append; both are made, for
// nobody but the user, where they are missing. It fails with ErrUnsafe when they are there
// and not so.
func openPrivate(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if err := checkPrivate(dir, info, fs.ModeDir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, File)
	// Nobody else can write in dir, so what Lstat sees is what is opened.
	switch info, err = os.Lstat(path); {
	case err == nil:
		if err := checkPrivate(path, info, 0); err != nil {
			return nil, err
		}
	case !os.IsNotExist(err):
		return nil, err
	}
	return openPlain(path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
}

// openPlain opens a plain file, and waits for nothing: a pipe under that name is not opened but
// refused, and a link not followed. It fails with ErrUnsafe for either.
func openPlain(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil {
		if info, look := os.Lstat(path); look == nil && !info.Mode().IsRegular() {
			return nil, notPlain(path, info)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notPlain(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func notPlain(path string, info fs.FileInfo) error {
	return fmt.Errorf("%w: %s is no plain file: %s", ErrUnsafe, path, info.Mode())
}

// readPlain reads a plain file whole. It fails as openPlain does.
func readPlain(path string) ([]byte, error) {
	f, err := openPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func checkPrivate(path string, info fs.FileInfo, kind fs.FileMode) error {
	why := ""
	switch mode := info.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		why = "is a symbolic link"
	case mode.Type() != kind:
		why = "is not of the right kind: " + mode.String()
	case mode.Perm()&0o077 != 0:
		why = fmt.Sprintf("is open to others (mode %04o); chmod go= it", mode.Perm())
	case !ownedByUser(info):
		why = "belongs to another user"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s %s", ErrUnsafe, path, why)
}

// syncDir makes the names in dir safe on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
