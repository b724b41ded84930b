package session

import (
	"errors"
	"fmt"
	"io"
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

// WriteState replaces a file as a whole, durably.
func WriteState(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	return nil
}
