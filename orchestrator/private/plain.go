package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OpenPlain opens a regular file whose folder is trusted; flag is as for [os.OpenFile]. A link under
// that name is not followed, and a FIFO not waited for. It fails with an [*UnsafeError] for what is
// no regular file.
func OpenPlain(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
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
	return &UnsafeError{Path: path, What: "is no plain file: it is " + kindOf(info)}
}

// CheckFile reports whether path is a regular file that is the user's own and closed to others.
// It fails with an [*UnsafeError] where it is not, and with [fs.ErrNotExist].
func CheckFile(path string) error { return checkKind(path, 0) }

// CheckFolder is CheckFile for a folder.
func CheckFolder(path string) error { return checkKind(path, fs.ModeDir) }

func checkKind(path string, want fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	why := ""
	switch mode := info.Mode(); {
	case mode.Type() != want:
		if want == 0 {
			return notPlain(path, info)
		}
		why = "is not a folder: it is " + kindOf(info)
	case mode.Perm()&0o077 != 0:
		why = fmt.Sprintf("is open to others (mode %04o); chmod go= it", mode.Perm())
	case !Own(info):
		why = "belongs to another user"
	default:
		return nil
	}
	return &UnsafeError{Path: path, What: why}
}

// Own reports whether a file belongs to the user who runs this program.
func Own(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
