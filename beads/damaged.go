package beads

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/beadsorch/orch/orchestrator/text"
)

// DamagedError says that the file of the embedded tracker is not what it should be. Nothing is read from
// such a file, and it is never replaced.
type DamagedError struct {
	// Path is the file.
	Path string
	// Line is which line it is, from 1; 0 where it is the file as a whole.
	Line int
	// Why is what is wrong, in a clause.
	Why string
	// Fix is what a person can do about it, where that is more than to bring the file back.
	Fix string
	// Quote is how the line begins, at most 80 cells.
	Quote string
	// Err is what it comes from, or nil.
	Err error
}

// Error names the file and the line, and quotes it.
func (e *DamagedError) Error() string {
	s := e.Path
	if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	s += ": " + e.Why
	if e.Quote != "" {
		s += fmt.Sprintf(": %q", e.Quote)
	}
	return s
}

// Unwrap is what it comes from, or nil.
func (e *DamagedError) Unwrap() error { return e.Err }

// lines reads the lines of a tracker's file one by one, and finds what is wrong with them.
type lines struct {
	path string
	n    int            // how many were read
	at   map[string]int // on which line an issue is
}

func newLines(path string) *lines { return &lines{path: path, at: map[string]int{}} }

// maxLineQuote is how many cells of a line an error quotes: it names the file and the line.
const maxLineQuote = 80

// next reads a line; ok is false for one that is empty. It fails with a [*DamagedError].
func (l *lines) next(line []byte) (r record, ok bool, err error) {
	if l.n++; l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return record{}, false, nil
	}
	damaged := &DamagedError{Path: l.path, Line: l.n, Quote: text.Clause(string(line), maxLineQuote)}
	r, damaged.Err = parseRecord(line)
	switch {
	case bytes.HasPrefix(line, []byte("<<<<<<<")), bytes.HasPrefix(line, []byte("=======")), bytes.HasPrefix(line, []byte(">>>>>>>")), bytes.HasPrefix(line, []byte("|||||||")):
		damaged.Why, damaged.Fix = "a merge was not resolved here", "keep one line for each id, and remove the lines that begin with <<<<<<<, ======= or >>>>>>>"
	case bytes.IndexByte(line, 0) >= 0:
		damaged.Why = "zero bytes, as a crash of the machine leaves them"
	case !utf8.Valid(line):
		damaged.Why = "bytes that are no UTF-8"
	case damaged.Err != nil:
		damaged.Why = notRecord(damaged.Err)
	case r.issue != nil && l.at[r.issue.ID] > 0:
		damaged.Why = fmt.Sprintf("%s is on line %d already", r.issue.ID, l.at[r.issue.ID])
		damaged.Fix = "keep the line of the two that is right, and remove the other"
	default:
		if r.issue != nil {
			l.at[r.issue.ID] = l.n
		}
		return r, true, nil
	}
	return record{}, false, damaged
}

// notRecord says in a clause why a line is none of the file's.
func notRecord(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s cannot be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return "no issue, but a JSON " + kind.Value
	case strings.Contains(err.Error(), "unexpected end of JSON"):
		return "the line is cut off"
	}
	return err.Error()
}

// notPlain is the error for what stands in the place of the tracker's file; nil for a plain file.
func notPlain(path string, mode fs.FileMode) error {
	e := &DamagedError{Path: path, Fix: "move it away: mv " + text.Shell(path) + " " + text.Shell(path+".aside")}
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		e.Why = "it is a folder"
	case mode&fs.ModeNamedPipe != 0:
		e.Why = "it is a pipe"
	default:
		e.Why = "it is no plain file"
	}
	return e
}

// Empty is the error of a tracker whose file is there and has no issue, for a caller that looks for one. It is nil
// where the file has one, is not there, or cannot be read.
func (f *File) Empty() error {
	records, err := f.read()
	if err != nil || len(issuesOf(records)) > 0 || !isFile(f.path()) {
		return nil
	}
	return &DamagedError{Path: f.path(), Why: "it has no task", Err: errNoTask}
}

var errNoTask = errors.New("no task")
