package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Damaged begins the names of files beside a journal that keep what was wrong with it.
const Damaged = "journal.damaged-"

// Mended is what [Mend] did.
type Mended struct {
	// Did says it, a clause for each thing; none when there was nothing to do.
	Did []string
	// Kept is the file that has the journal as it was; "" when its content is as it was.
	Kept string
}

func (m *Mended) did(format string, args ...any) { m.Did = append(m.Did, fmt.Sprintf(format, args...)) }

// Mend makes the journal in dir one that [Open] takes, or takes it away where nothing of it can
// be kept. What it changes it keeps first, in a file journal.damaged-<time>… beside it. makesSense
// says how many of the records, from the first, can be believed; the rest is cut as well. The
// caller makes sure that no process has the journal open. A dry one changes nothing, and says what it
// would do. It fails with [ErrHeld], with [ErrVersion], for which another program is the cure, and
// when the file system does.
func Mend(dir string, makesSense func([]Record) int, now func() time.Time, dry bool) (Mended, error) {
	m := mending{path: filepath.Join(dir, File), dir: dir, now: now, dry: dry}
	err := m.mend(makesSense)
	if err != nil {
		err = fmt.Errorf("mending the journal: %w", err)
	}
	return m.Mended, err
}

// SetAside takes away what is left of the journal in dir, which holds no record, so that a new one can be
// begun. It is kept as [Mend] keeps one; where there is none, an empty file of that kind says
// that its loss is known. The caller makes sure that no process has the journal open. It fails with
// an error where there is a record, and when the file system does.
func SetAside(dir string, now func() time.Time) (Mended, error) {
	m := mending{path: filepath.Join(dir, File), dir: dir, now: now}
	if Begun(dir) {
		return m.Mended, fmt.Errorf("setting the journal aside: it holds a record")
	}
	_, err := os.Lstat(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = m.mark()
	} else if err == nil {
		err = m.aside("nothing is left of what it held")
	}
	if err != nil {
		err = fmt.Errorf("setting the journal aside: %w", err)
	}
	return m.Mended, err
}

// Held reports whether some process has the journal in dir open for append.
func Held(dir string) bool {
	f, err := openPlain(filepath.Join(dir, File), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	return isHeld(f)
}

type mending struct {
	Mended
	path, dir string
	now       func() time.Time
	dry       bool
}

func (m *mending) mend(makesSense func([]Record) int) error {
	if err := m.private(m.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(m.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return m.aside(fmt.Sprintf("it is no plain file (%s)", info.Mode()))
	}
	if err := m.private(m.path, 0o600); err != nil {
		return err
	}
	if Held(m.dir) {
		return ErrHeld
	}
	data, err := readPlain(m.path)
	if err != nil {
		return err
	}
	sound, why, err := soundPart(data, makesSense)
	switch {
	case err != nil:
		return err
	case bytes.Equal(sound, data):
		return nil
	case len(sound) == 0:
		return m.aside(why)
	}
	return m.replace(data, sound, why)
}

// soundPart is the longest beginning of a journal that can be read and believed, in the line ends
// that a journal has, and why it is not all. It fails with ErrVersion.
func soundPart(data []byte, makesSense func([]Record) int) (sound []byte, why string, err error) {
	best, why, err := soundPrefix(data, makesSense)
	if err != nil || len(best) == len(data) {
		return best, why, err
	}
	if unix := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")); len(unix) < len(data) {
		if other, cut, err := soundPrefix(unix, makesSense); err == nil && len(other) > len(best) {
			if best, why = other, "its line ends were converted to CR LF"; cut != "" {
				why += "; " + cut
			}
		}
	}
	return best, why, nil
}

func soundPrefix(data []byte, makesSense func([]Record) int) (sound []byte, why string, err error) {
	var c chain
	var records []Record
	ends := []int64{}
	tail, err := c.extend(data, func(r Record) error {
		records, ends = append(records, r), append(ends, c.offset)
		return nil
	})
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		why = fmt.Sprintf("line %d: %s", corrupt.Line, corrupt.Why)
	case err != nil:
		return nil, "", err
	case len(tail) > 0:
		why = fmt.Sprintf("its last %d bytes are no record, or say the last one again", len(tail))
	}
	if n := makesSense(records); n < len(records) {
		why = fmt.Sprintf("record %d does not belong here", n+1)
		if n == 0 {
			return nil, why, nil
		}
		return data[:ends[n-1]], why, nil
	}
	return data[:c.offset], why, nil
}

// private takes the rights of others to a file or folder of the user's away.
func (m *mending) private(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || info.Mode().Type() == fs.ModeSymlink || info.Mode().Perm()&0o077 == 0 && info.Mode().Perm()&0o600 == 0o600 {
		return err
	}
	m.did("%s had mode %04o and gets %04o", filepath.Base(path), info.Mode().Perm(), mode)
	if m.dry {
		return nil
	}
	return os.Chmod(path, mode)
}

// stamp is a name beside the journal for what is kept of it.
func (m *mending) stamp() (string, error) {
	name := filepath.Join(m.dir, Damaged+m.now().UTC().Format("20060102T150405Z"))
	for n := 1; ; n++ {
		path := name
		if n > 1 {
			path = fmt.Sprintf("%s-%d", name, n)
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}

// aside renames the journal; the next run begins a new one, from what git and the tracker know.
func (m *mending) aside(why string) error {
	kept, err := m.stamp()
	if err != nil {
		return err
	}
	m.did("%s; it is moved to %s, and the next run goes by what git and the tracker know", why, filepath.Base(kept))
	if m.dry {
		return nil
	}
	m.Kept = kept
	return errors.Join(os.Rename(m.path, kept), syncDir(m.dir))
}

// mark leaves an empty file in place of a journal that is gone.
func (m *mending) mark() error {
	kept, err := m.stamp()
	if err != nil {
		return err
	}
	m.did("it is gone, which %s notes, and the next run goes by what git and the tracker know", filepath.Base(kept))
	m.Kept = kept
	return errors.Join(writeNew(kept, nil), syncDir(m.dir))
}

// replace keeps the journal as it is, and only then puts its sound part in its place.
func (m *mending) replace(was, sound []byte, why string) error {
	kept, err := m.stamp()
	if err != nil {
		return err
	}
	m.did("%s; it is cut from %d bytes to %d, and kept as it was in %s", why, len(was), len(sound), filepath.Base(kept))
	if m.dry {
		return nil
	}
	if err := writeNew(kept, was); err != nil {
		return err
	}
	m.Kept = kept
	next := m.path + ".mended"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(next, sound); err != nil {
		return err
	}
	return errors.Join(os.Rename(next, m.path), syncDir(m.dir))
}

// writeNew writes a file that is not there yet, and is safe on disk then.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
