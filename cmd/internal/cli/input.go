package cli

import (
	"errors"
	"io"
	"os"
)

// Open opens a file to read; - is standard input, which stays open. It fails as [os.Open]
// does.
func (p Process) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(p.Stdin), nil
	}
	return os.Open(name)
}

// Exists reports whether there may be something at a path: only what is surely not there
// does not exist.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
