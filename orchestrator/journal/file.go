package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/beadsorch/orch/orchestrator/private"
)

// Check reports whether the journal in dir, and dir, are what [Open] takes: the user's own, and
// closed to others. None there is no error. It fails with [ErrUnsafe], and when the file system does.
func Check(dir string) error {
	err := private.CheckFolder(dir)
	if err == nil {
		err = private.CheckFile(filepath.Join(dir, File))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return asUnsafe(err)
}

// asUnsafe makes what package private refuses an ErrUnsafe.
func asUnsafe(err error) error {
	var u *private.UnsafeError
	if errors.As(err, &u) {
		return fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	return err
}

// levels is how many folders are the journal's own: orch/epics/EPIC, below the git directory.
const levels = 3

// openPrivate opens the journal's file in dir for reading and append; both are made, for
// nobody but the user, where they are missing. It fails with ErrUnsafe when they are there
// and not so.
func openPrivate(dir string) (*os.File, error) {
	if err := private.MkdirBelow(dir, levels); err != nil {
		return nil, err
	}
	if err := Check(dir); err != nil {
		return nil, err
	}
	// Nobody else can write in dir, so what was checked is what is opened.
	return openPlain(filepath.Join(dir, File), os.O_RDWR|os.O_CREATE|os.O_APPEND)
}

// openPlain is private.OpenPlain; it fails with ErrUnsafe for what is no plain file.
func openPlain(path string, flag int) (*os.File, error) {
	f, err := private.OpenPlain(path, flag)
	return f, asUnsafe(err)
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

// syncDir makes the names in dir safe on disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
