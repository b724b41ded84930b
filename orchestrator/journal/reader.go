package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrReplaced says that another journal stands where the one stood that was read so far, or that
// the journal is shorter than what was read of it.
var ErrReplaced = errors.New("the journal was replaced")

// Reader reads a journal on from outside the process that writes it. It takes no lock and changes
// nothing, and it is for one goroutine at a time.
type Reader struct {
	path  string
	chain chain
	file  os.FileInfo // the file that was read; nil where nothing was read yet
	head  string      // the sum of its header
}

// NewReader is a Reader at the start of the journal in dir, which need not exist yet.
func NewReader(dir string) *Reader { return &Reader{path: filepath.Join(dir, File)} }

// Read calls fn for each record that has come since the last Read, in order. A record that is
// being written, or is torn, is left for a later Read. When fn fails, the record counts as read.
//
// It fails with os.ErrNotExist where there is no journal, and with [ErrReplaced]; the next
// Read then begins at the start of what is there. It fails with fn's error, and as [Read] does.
func (r *Reader) Read(fn func(Record) error) error {
	f, err := openPlain(r.path, os.O_RDONLY)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			r.rewind()
		}
		return fmt.Errorf("reading the journal: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	if r.file != nil && (!os.SameFile(r.file, info) || info.Size() < r.chain.offset) {
		r.rewind()
		return ErrReplaced
	}
	r.file = info
	if info.Size() == r.chain.offset {
		return nil
	}
	data, err := io.ReadAll(io.NewSectionReader(f, r.chain.offset, 1<<62))
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	_, err = r.chain.extend(data, fn)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) && r.otherHead(f) {
		r.rewind()
		return ErrReplaced
	}
	if r.head == "" && r.chain.line > 0 {
		r.head = headOf(f)
	}
	return withFile(r.path, err)
}

func (r *Reader) rewind() { *r = Reader{path: r.path} }

// otherHead reports whether the file has another header than the one that was read. A file system
// may give the number of a removed file to the next one, so that the number alone tells nothing.
func (r *Reader) otherHead(f *os.File) bool { return r.head != "" && headOf(f) != r.head }

// headOf is the sum of a journal's header; "" where there is none.
func headOf(f *os.File) string {
	line, err := bufio.NewReader(io.NewSectionReader(f, 0, maxHead)).ReadBytes('\n')
	if err != nil {
		return ""
	}
	var c chain
	if c.begin(line[:len(line)-1]) != nil {
		return ""
	}
	return c.sum
}

// maxHead bounds the header of a journal, in bytes.
const maxHead = 4 << 10
