package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// File is the name of a journal in its folder.
const File = "journal.jsonl"

// Record is one event as it was written down.
type Record struct {
	// Seq counts the records of a journal from 1, without gaps.
	Seq int64
	// At is when it was written, in UTC; for people, since clocks jump.
	At time.Time
	// Event is what the caller gave, as compact JSON.
	Event json.RawMessage
}

// Recovery is what was found in a journal.
type Recovery struct {
	// Records are all the records, in order.
	Records []Record
	// TornBytes is the length of the tail that is torn, or says the last record again. [Open] has
	// cut it from the journal and kept it in a file journal.torn-<time>…; [Read] has only passed
	// over it.
	TornBytes int64
	// Repeated is how often the last record was there again, in that tail.
	Repeated int
}

func (r *Recovery) add(rec Record) error {
	r.Records = append(r.Records, rec)
	return nil
}

// found says what the tail behind c is.
func (r *Recovery) found(c chain, tail []byte) {
	r.TornBytes = int64(len(tail))
	r.Repeated, _ = c.copies(tail)
}

// Journal is open for append, by one goroutine at a time.
type Journal struct {
	file   *os.File
	now    func() time.Time
	chain  chain
	broken error
}

// Open opens or creates the journal in dir, a private directory that is made where it is
// missing; reads it whole; cuts a torn tail; and is then ready for append. All that
// it returns is safe on disk. Until it is closed nobody else opens it. It fails with [ErrHeld],
// [ErrUnsafe], [ErrVersion], a [*CorruptError], or an error of the file system.
func Open(dir string, now func() time.Time) (*Journal, Recovery, error) {
	f, err := openPrivate(dir)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("opening the journal: %w", err)
	}
	j := &Journal{file: f, now: now}
	if err := lockFile(f); err != nil {
		return nil, Recovery{}, errors.Join(fmt.Errorf("opening the journal: %w", err), f.Close())
	}
	rec, err := j.recover(dir)
	if err != nil {
		return nil, Recovery{}, errors.Join(err, f.Close())
	}
	return j, rec, nil
}

func (j *Journal) recover(dir string) (rec Recovery, err error) {
	data, err := io.ReadAll(j.file)
	if err != nil {
		return rec, fmt.Errorf("reading the journal: %w", err)
	}
	tail, err := j.chain.extend(data, rec.add)
	if err != nil {
		return rec, withFile(j.file.Name(), err)
	}
	if rec.found(j.chain, tail); rec.TornBytes > 0 {
		if err := j.cut(dir, tail); err != nil {
			return rec, fmt.Errorf("cutting the journal's torn tail: %w", err)
		}
	}
	if j.chain.line == 0 {
		if err := j.writeHeader(); err != nil {
			return rec, fmt.Errorf("beginning the journal: %w", err)
		}
	}
	// Not everything that a killed writer left is on disk yet.
	if err := errors.Join(j.file.Sync(), syncDir(dir)); err != nil {
		return rec, fmt.Errorf("syncing the journal: %w", err)
	}
	return rec, nil
}

// withFile sets the file of a *CorruptError.
func withFile(path string, err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		corrupt.Path = path
	}
	return err
}

// cut keeps the tail in a file of its own, and only then shortens the journal.
func (j *Journal) cut(dir string, tail []byte) error {
	kept, err := os.CreateTemp(dir, "journal.torn-"+j.now().UTC().Format("20060102T150405Z")+"-*")
	if err != nil {
		return err
	}
	_, err = kept.Write(tail)
	if err := errors.Join(err, kept.Sync(), kept.Close(), syncDir(dir)); err != nil {
		return err
	}
	return j.file.Truncate(j.chain.offset)
}

func (j *Journal) writeHeader() error {
	line, sum, err := sealLine(header{Format: format, V: version, Created: j.now().UTC()})
	if err != nil {
		return err
	}
	if _, err := j.file.Write(line); err != nil {
		return err
	}
	j.chain = chain{offset: int64(len(line)), line: 1, sum: sum}
	return nil
}

// AppendAll writes events down, as JSON, with one write and one fsync, and returns when they are
// safe on disk. After a crash in the middle, the first few of them may be there. It fails when an
// event has no JSON, which changes nothing; with [ErrFenced]; and with [ErrBroken] when a write or
// an fsync fails now or has failed before.
func (j *Journal) AppendAll(events ...any) ([]Record, error) {
	if j.broken != nil {
		return nil, j.broken
	}
	if len(events) == 0 {
		return nil, nil
	}
	next, recs, text := j.chain, make([]Record, 0, len(events)), []byte(nil)
	for _, event := range events {
		r, line, err := next.add(event, j.now())
		if err != nil {
			return nil, fmt.Errorf("journal record %d: %w", next.seq+1, err)
		}
		recs, text = append(recs, r), append(text, line...)
	}
	if err := j.Check(); err != nil {
		return nil, err
	}
	if err := j.write(text); err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return nil, j.broken
	}
	j.chain = next
	return recs, nil
}

// add makes the next line of the chain. When it fails, c is as before.
func (c *chain) add(event any, at time.Time) (Record, []byte, error) {
	data, err := encodeJSON(event)
	if err != nil {
		return Record{}, nil, err
	}
	e := entry{V: version, Seq: c.seq + 1, At: at.UTC().Round(0), Prev: c.sum, Event: data}
	line, sum, err := sealLine(e)
	if err != nil {
		return Record{}, nil, err
	}
	*c = chain{offset: c.offset + int64(len(line)), line: c.line + 1, seq: e.Seq, sum: sum}
	return Record{Seq: e.Seq, At: e.At, Event: e.Event}, line, nil
}

// Taken reports whether the file of that name is no longer the one that was opened. It may be
// called at any time, from any goroutine. It fails with [ErrFenced] when it is not, and when the file system does.
func (j *Journal) Taken() error {
	mine, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("looking at the journal: %w", err)
	}
	there, err := os.Lstat(j.file.Name())
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %s was removed", ErrFenced, j.file.Name())
	case err != nil:
		return fmt.Errorf("looking at the journal: %w", err)
	case !os.SameFile(mine, there):
		return fmt.Errorf("%w: %s was replaced", ErrFenced, j.file.Name())
	}
	return nil
}

// Check reports whether the file of that name is still the one that was opened, and as long as
// what was read and written. It fails with [ErrFenced] when it is not, and so does every Append
// from then on: somebody has taken the journal away, and may have put another in its place.
func (j *Journal) Check() error {
	if j.broken != nil {
		return j.broken
	}
	err := j.Taken()
	if err == nil {
		var info os.FileInfo
		if info, err = j.file.Stat(); err == nil && info.Size() != j.chain.offset {
			err = fmt.Errorf("%w: %s has %d bytes, where this process left %d", ErrFenced, j.file.Name(), info.Size(), j.chain.offset)
		}
	}
	if errors.Is(err, ErrFenced) {
		j.broken = err
	}
	return err
}

func (j *Journal) write(text []byte) error {
	if _, err := j.file.Write(text); err != nil {
		return err
	}
	return j.file.Sync()
}

// Close ends the use of the journal; Append fails from then on. It fails when the file
// system says that closing did; what was appended is safe all the same.
func (j *Journal) Close() error {
	if j.broken == nil {
		j.broken = fmt.Errorf("%w: %w", ErrBroken, os.ErrClosed)
	}
	if err := j.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("closing the journal: %w", err)
	}
	return nil
}

// Size is how long the journal in dir is, in bytes; 0 where there is none.
func Size(dir string) int64 {
	info, err := os.Lstat(filepath.Join(dir, File))
	if err != nil {
		return 0
	}
	return info.Size()
}

// Begun reports whether the journal in dir holds a record, or something that [Read] refuses: one that
// is missing or empty, or has only its header, or a first record that was not written to its end, is as good as none. It
// reads no more of a sound journal than its beginning.
func Begun(dir string) bool {
	path := filepath.Join(dir, File)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return false
	}
	if startsWithRecord(path) {
		return true
	}
	rec, err := Read(dir)
	if errors.Is(err, os.ErrNotExist) { // removed meanwhile
		return false
	}
	return err != nil || len(rec.Records) > 0
}

// startsWithRecord reports whether the journal at path has a header with a record behind it.
func startsWithRecord(path string) bool {
	f, err := openPlain(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	var c chain
	for lines := bufio.NewReader(f); c.seq == 0; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return false
		}
		if _, err := c.next(line[:len(line)-1]); err != nil {
			return false
		}
		c.line++
	}
	return true
}

// Read reads the journal in dir as it stands: without a lock, without changing anything.
// A record that is being written just now counts as a torn tail. It fails with [ErrUnsafe],
// [ErrVersion], a [*CorruptError], or an error of the file system (os.ErrNotExist: there is none).
func Read(dir string) (Recovery, error) {
	path := filepath.Join(dir, File)
	data, err := readPlain(path)
	if err != nil {
		return Recovery{}, fmt.Errorf("reading the journal: %w", err)
	}
	var (
		c   chain
		rec Recovery
	)
	tail, err := c.extend(data, rec.add)
	if err != nil {
		return Recovery{}, withFile(path, err)
	}
	rec.found(c, tail)
	return rec, nil
}
