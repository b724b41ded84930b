// Package private reads, writes and removes files below a folder that others with the same
// user id can write to as well. Each step on the way there is checked through
// handles: no symbolic link is followed, no FIFO or device is opened, and nothing outside
// the folder is changed, also while others swap things meanwhile.
//
// A write makes room for itself: what is there and should not be (a link where a folder
// belongs, a folder where a file belongs) is taken away first, and never what it leads to.
// A read of such a thing fails with an [*UnsafeError].
package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The modes of what this package makes, whatever the umask is.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// UnsafeError says that something else stands where a file or a folder of ours belongs.
type UnsafeError struct {
	// Path is where it stands.
	Path string
	// What says in a clause what it is.
	What string
}

// Error is the path and what stands there.
func (e *UnsafeError) Error() string { return e.Path + " " + e.What }

// Dir is a folder, held open. Names given to its methods are paths below it, absolute or
// relative to it. It is safe for concurrent use.
type Dir struct {
	root *os.Root
	path string
}

// Open holds the folder at path, an absolute path that is trusted, or where that is not there
// yet the nearest folder above it that is. It fails when that cannot be opened.
func Open(path string) (*Dir, error) {
	for {
		root, err := os.OpenRoot(path)
		if err == nil {
			return &Dir{root: root, path: path}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return nil, err
		}
		path = filepath.Dir(path)
	}
}

// OpenThere holds the folder at path, an absolute path that is trusted. It fails with a [*GoneError] when it is not
// there: to make it anew, as for a repository that was moved, would hide what is missing.
func OpenThere(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, &GoneError{Path: path, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, path: path}, nil
}

// OpenAbove holds the folder that is so many levels above path, as OpenThere does.
func OpenAbove(path string, levels int) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for range levels {
		path = filepath.Dir(path)
	}
	return OpenThere(path)
}

// Close gives the handle back.
func (d *Dir) Close() error { return d.root.Close() }

// steps are the components of name below the folder.
func (d *Dir) steps(name string) ([]string, error) {
	rel := name
	if filepath.IsAbs(name) {
		var err error
		if rel, err = filepath.Rel(d.path, name); err != nil {
			return nil, err
		}
	}
	if rel = filepath.Clean(rel); rel == "." {
		return nil, nil
	}
	if !filepath.IsLocal(rel) {
		return nil, &UnsafeError{Path: name, What: "is not below " + d.path}
	}
	return strings.Split(rel, string(filepath.Separator)), nil
}

// walk opens the folder that name is in; last is the name's last component. With create, folders
// that are missing are made, and what is no folder makes way.
func (d *Dir) walk(name string, create bool) (at *os.Root, last string, err error) {
	steps, err := d.steps(name)
	if err != nil {
		return nil, "", err
	}
	if len(steps) == 0 {
		return nil, "", &UnsafeError{Path: name, What: "is the folder itself"}
	}
	if at, err = d.root.OpenRoot("."); err != nil {
		return nil, "", err
	}
	for n, step := range steps[:len(steps)-1] {
		next, err := openFolder(at, step, create)
		if err = errors.Join(err, at.Close()); err != nil {
			return nil, "", withPath(err, filepath.Join(append([]string{d.path}, steps[:n+1]...)...))
		}
		at = next
	}
	return at, steps[len(steps)-1], nil
}

// withPath gives an UnsafeError, or an error of the file system, its whole path.
func withPath(err error, path string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	}
	var unsafe *UnsafeError
	if errors.As(err, &unsafe) {
		return &UnsafeError{Path: path, What: unsafe.What}
	}
	return err
}

// enterTries bounds how often something planted is taken away before a write gives up.
const enterTries = 8

// openFolder opens the folder step of at, which is no link.
func openFolder(at *os.Root, step string, create bool) (*os.Root, error) {
	for range enterTries {
		next, err := enterPlain(at, step)
		if err == nil || !create {
			return next, err
		}
		var unsafe *UnsafeError
		if errors.As(err, &unsafe) {
			err = makeWay(at, step)
		} else if errors.Is(err, fs.ErrNotExist) {
			if err = at.Mkdir(step, dirMode); errors.Is(err, fs.ErrExist) {
				err = nil // another was faster
			} else if err == nil {
				err = at.Chmod(step, dirMode)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, &UnsafeError{Path: step, What: "is put in place of a folder of orch's again and again"}
}

// enterPlain opens a folder and then asks what its name stands for, so that nothing that is
// swapped meanwhile is taken for it: a link's own entry is never the folder that was opened.
func enterPlain(at *os.Root, step string) (*os.Root, error) {
	info, err := at.Lstat(step)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &UnsafeError{Path: step, What: "is not a folder: it is " + kindOf(info)}
	}
	next, err := at.OpenRoot(step)
	if err != nil {
		return nil, err
	}
	is, err := next.Stat(".")
	if err == nil {
		info, err = at.Lstat(step)
	}
	if err == nil && !os.SameFile(is, info) {
		err = &UnsafeError{Path: step, What: "is swapped while it is used"}
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode.IsDir():
		return "a folder"
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// makeWay takes away what stands at name and is not what belongs there. A folder with
// something in it is only renamed: anyone may own it.
func makeWay(at *os.Root, name string) error {
	err := at.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return at.Rename(name, name+".planted-"+rand.Text()[:8])
	}
	return err
}

// MkdirBelow makes the folder at path, and of those above it so many levels in all, for the user alone. The folder above
// these has to be there: it fails with a [*GoneError] when it is not.
func MkdirBelow(path string, levels int) error {
	err := os.Mkdir(path, dirMode)
	if errors.Is(err, fs.ErrNotExist) && levels > 1 {
		if err = MkdirBelow(filepath.Dir(path), levels-1); err == nil {
			err = os.Mkdir(path, dirMode)
		}
	}
	var gone *GoneError
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist) && !errors.As(err, &gone):
		return &GoneError{Path: filepath.Dir(path), Err: err}
	}
	return err
}

// MkdirAll makes the folder name with those above it.
func (d *Dir) MkdirAll(name string) (err error) {
	defer func() { err = Refused(err) }()
	at, _, err := d.walk(filepath.Join(name, "x"), true)
	if err != nil {
		return err
	}
	return at.Close()
}

// MkdirTemp makes a new folder in parent, which is made too where it is missing, and returns its path.
func (d *Dir) MkdirTemp(parent, prefix string) (string, error) {
	path := filepath.Join(parent, prefix+rand.Text()[:12])
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	return path, d.MkdirAll(path)
}

// Create makes a new empty file, to be read and written; what was there is taken away, not changed.
func (d *Dir) Create(name string) (f *os.File, err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, true)
	if err != nil {
		return nil, err
	}
	f, err = createFile(at, last)
	return f, errors.Join(withPath(err, name), at.Close())
}

func createFile(at *os.Root, name string) (*os.File, error) {
	for range enterTries {
		f, err := at.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		if err == nil {
			if err = f.Chmod(fileMode); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := makeWay(at, name); err != nil {
			return nil, err
		}
	}
	return nil, &UnsafeError{Path: name, What: "is put in place of a file of orch's again and again"}
}

// WriteFile puts data at name, as a whole: a reader finds what was there before, or all of it.
func (d *Dir) WriteFile(name string, data []byte) (err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	fresh := "." + last + ".new-" + rand.Text()[:8]
	if len(fresh) > 255 {
		fresh = ".new-" + rand.Text()
	}
	f, err := createFile(at, fresh)
	if err != nil {
		return withPath(err, name)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = renameOver(at, fresh, last)
	}
	if err != nil {
		return errors.Join(err, at.Remove(fresh))
	}
	return nil
}

// renameOver renames a file over whatever is at name.
func renameOver(at *os.Root, fresh, name string) error {
	err := at.Rename(fresh, name)
	if err == nil {
		return nil
	}
	if info, lstat := at.Lstat(name); lstat != nil || !info.IsDir() {
		return err
	}
	if err := makeWay(at, name); err != nil {
		return err
	}
	return at.Rename(fresh, name)
}

// Open opens a file to be read. It fails with an [*UnsafeError] for what is no regular file.
func (d *Dir) Open(name string) (*os.File, error) {
	at, last, err := d.walk(name, false)
	if err != nil {
		return nil, err
	}
	f, err := openFile(at, last)
	return f, errors.Join(withPath(err, name), at.Close())
}

func openFile(at *os.Root, name string) (*os.File, error) {
	info, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &UnsafeError{Path: name, What: "is not a file: it is " + kindOf(info)}
	}
	f, err := at.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // which does not wait for the writer of a FIFO
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && !os.SameFile(is, info) {
		err = &UnsafeError{Path: name, What: "is swapped while it is used"}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile reads a file of at most limit bytes. It fails with an [*UnsafeError] for a larger
// one, and for what is no regular file.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	return readAll(f, name, limit)
}

func readAll(f *os.File, name string, limit int64) (data []byte, err error) {
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &UnsafeError{Path: name, What: "is not a file: it is " + kindOf(info)}
	default:
		data, err = io.ReadAll(io.LimitReader(f, limit+1))
	}
	if err == nil && int64(len(data)) > limit {
		data, err = nil, &UnsafeError{Path: name, What: fmt.Sprintf("has more than %d bytes", limit)}
	}
	return data, errors.Join(err, f.Close())
}

// ReadFile reads a file of at most limit bytes whose folder is trusted. It fails as [Dir.ReadFile] does.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := OpenPlain(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return readAll(f, path, limit)
}

// ReadDir lists a folder. It fails with an [*UnsafeError] for what is none.
func (d *Dir) ReadDir(name string) (entries []fs.DirEntry, err error) {
	at, _, err := d.walk(filepath.Join(name, "x"), false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	f, err := at.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err = f.ReadDir(-1)
	return entries, errors.Join(err, f.Close())
}

// OpenFolder opens a folder, and no link to one. It fails with an [*UnsafeError] where something
// else is there.
func (d *Dir) OpenFolder(name string) (*os.File, error) {
	at, last, err := d.walk(name, false)
	if err != nil {
		return nil, err
	}
	folder, err := enterPlain(at, last)
	if err := errors.Join(err, at.Close()); err != nil {
		return nil, err
	}
	f, err := folder.Open(".")
	return f, errors.Join(err, folder.Close())
}

// Lstat says what stands at name.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	at, last, err := d.walk(name, false)
	if err != nil {
		return nil, err
	}
	info, err := at.Lstat(last)
	return info, errors.Join(err, at.Close())
}

// Readlink is where the symbolic link at name leads to, as it says.
func (d *Dir) Readlink(name string) (string, error) {
	at, last, err := d.walk(name, false)
	if err != nil {
		return "", err
	}
	to, err := at.Readlink(last)
	return to, errors.Join(err, at.Close())
}

// Symlink makes a symbolic link where nothing is.
func (d *Dir) Symlink(to, name string) (err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, true)
	if err != nil {
		return err
	}
	return errors.Join(at.Symlink(to, last), at.Close())
}

// Chmod sets the mode of what is at name, which is no link.
func (d *Dir) Chmod(name string, mode fs.FileMode) (err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, false)
	if err != nil {
		return err
	}
	info, err := at.Lstat(last)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = &UnsafeError{Path: name, What: "is a symbolic link"}
	}
	if err == nil {
		err = at.Chmod(last, mode)
	}
	return errors.Join(err, at.Close())
}

// Chtimes sets when what is at name was used and changed last.
func (d *Dir) Chtimes(name string, used, changed time.Time) (err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, false)
	if err != nil {
		return err
	}
	return errors.Join(at.Chtimes(last, used, changed), at.Close())
}

// Remove takes one file, link or empty folder away.
func (d *Dir) Remove(name string) (err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, false)
	if err != nil {
		return err
	}
	return errors.Join(at.Remove(last), at.Close())
}

// Rename moves what is at from to to, both below the folder. Folders that to needs are made.
func (d *Dir) Rename(from, to string) (err error) {
	defer func() { err = Refused(err) }()
	a, source, err := d.walk(from, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, target, err := d.walk(to, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	out, err := a.Open(".")
	if err != nil {
		return err
	}
	defer out.Close()
	in, err := b.Open(".")
	if err != nil {
		return err
	}
	defer in.Close()
	if err := unix.Renameat(int(out.Fd()), source, int(in.Fd()), target); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// Plain makes sure that nothing but a regular file, or nothing at all, is at name, for a
// library that opens it by its path.
func (d *Dir) Plain(name string) (err error) {
	defer func() { err = Refused(err) }()
	at, last, err := d.walk(name, true)
	if err != nil {
		return err
	}
	info, err := at.Lstat(last)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && !info.Mode().IsRegular():
		err = makeWay(at, last)
	}
	return errors.Join(err, at.Close())
}

// LockFlags open a lock's file without following a link, and without waiting at a FIFO.
const LockFlags = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
