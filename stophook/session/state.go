package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// maxState bounds a state file, in bytes.
const maxState = 1 << 20

// ErrState says that a state file is there and cannot be used; it is never replaced.
var ErrState = errors.New("a state file that cannot be used")

// ReadState reads a regular file of a bounded size, as openState does.
func ReadState(path string) ([]byte, error) {
	f, size, err := openState(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxState {
		return nil, fmt.Errorf("%s: more than %d bytes: %w", path, maxState, ErrState)
	}
	return io.ReadAll(io.LimitReader(f, maxState))
}

// openState opens a regular file. It follows no symbolic link at the end of the path, and
// never waits, as opening a FIFO would.
func openState(path string) (f *os.File, size int64, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, 0, fmt.Errorf("%s: a symbolic link: %w", path, ErrState)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: no regular file: %w", path, ErrState)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// MakeFolder makes the folder of a state file for the user alone: that of a loop, or that of sessions with orch's above
// it. The project or git directory that it is in is never made: one that was removed or moved would be there again.
// It fails with [fs.ErrNotExist] where that is gone, and as [os.Mkdir] does.
func MakeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(dir) == sessions {
		if err = os.Mkdir(filepath.Dir(dir), 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// WriteState replaces a file as a whole, durably.
func WriteState(path string, data []byte) error {
	if err := MakeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	return nil
}
