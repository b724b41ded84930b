package stophook

import (
	"encoding/json"
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

// ErrState says that a state file is there and can not be used; it is never replaced.
var ErrState = errors.New("a state file that can not be used")

// LoadSession reads what is kept of a session. ok is false when nothing is. It fails
// with ErrState for what is no regular file, too large, or no session's.
func LoadSession(path, id string) (s Session, ok bool, err error) {
	data, err := readState(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Session{}, false, nil
	}
	if err != nil {
		return Session{}, false, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Session{}, false, fmt.Errorf("%s: %w: %w", path, ErrState, err)
	}
	return s, s.ID == id && id != "", nil
}

// SaveSession keeps a session, for this person only.
func SaveSession(path string, s Session) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	return writeState(path, append(data, '\n'))
}

// readState reads a regular file of a bounded size, as openState does.
func readState(path string) ([]byte, error) {
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

// writeState replaces a file as a whole, durably.
func writeState(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	if err := renameio.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("keeping the state: %w", err)
	}
	return nil
}
