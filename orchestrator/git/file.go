package git

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// readRegular reads a file that others can write: it follows no link at the end of the path,
// waits for no pipe, and reads no more than limit bytes. It fails for what is no plain file,
// or larger.
func readRegular(path string, limit int64) ([]byte, error) {
	return readBounded(path, limit, syscall.O_NOFOLLOW)
}

// readBounded is readRegular with flags.
func readBounded(path string, limit int64, flags int) ([]byte, error) {
	f, err := openRegular(path, flags)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return content, err
}

// openRegular opens a plain file to be read, and never waits.
func openRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
