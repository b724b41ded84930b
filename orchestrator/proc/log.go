package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// boundedLog is a file that keeps the beginning and the end of what is written to it. The end
// is a ring in a file beside it until the log is closed, so that memory stays small.
type boundedLog struct {
	mu    sync.Mutex // stdout and stderr are two goroutines
	files Files
	path  string
	half  int64
	head  *os.File
	tail  *os.File // nil until the head is full
	first int64    // bytes in the head
	ring  int64    // bytes that were given to the ring, ever
	lost  int64    // bytes that were not written because of err
	err   error

	joined  io.WriteCloser            // the filter before all this; nil for none
	streams map[stream]io.WriteCloser // a filter for each stream, before joined
}

// stream is one of the two that a log joins.
type stream int

const (
	stdout stream = iota
	stderr
)

// Files makes and removes files of which nobody knows what stands at their paths by now.
type Files interface {
	// Create makes a new empty file, mode 0600, to be read and written.
	Create(path string) (*os.File, error)
	// Remove takes a file away.
	Remove(path string) error
}

// plainFiles are those of the file system, for paths that only the user writes to.
type plainFiles struct{}

func (plainFiles) Create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (plainFiles) Remove(path string) error { return os.Remove(path) }

// openLog fails when the file cannot be made. A log without a path drops everything.
func openLog(files Files, path string, limit int64) (*boundedLog, error) {
	if limit <= 0 {
		limit = defaultOutputBytes
	}
	if files == nil {
		files = plainFiles{}
	}
	l := &boundedLog{files: files, path: path, half: max(1, limit/2)}
	if path == "" {
		return l, nil
	}
	var err error
	l.head, err = files.Create(path)
	return l, err
}

// filterBy has all that is written from now on go through filters; nil is none. Each stream has
// one of its own, since what came in pieces may have the other stream between them in the log,
// and behind them is one for what came partly from either.
func (l *boundedLog) filterBy(filter func(io.Writer) io.WriteCloser) {
	if filter == nil || l.head == nil {
		return
	}
	l.joined = filter(logSink{l})
	l.streams = map[stream]io.WriteCloser{stdout: filter(l.joined), stderr: filter(l.joined)}
}

// logSink is where a filter writes to. It never fails: the log itself counts what is lost.
type logSink struct{ *boundedLog }

// Write implements io.Writer.
func (s logSink) Write(p []byte) (int, error) {
	s.keep(p)
	return len(p), nil
}

func (l *boundedLog) tailPath() string { return l.path + ".tail" }

// write keeps what the filters leave of p, which came from s.
func (l *boundedLog) write(s stream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.joined == nil {
		l.keep(p)
		return
	}
	_, err := l.streams[s].Write(p)
	l.fail(err, 0)
}

// keep keeps p as far as the bound lets it. After an error it only counts.
func (l *boundedLog) keep(p []byte) {
	if l.head == nil || l.err != nil {
		l.lost += int64(len(p))
		return
	}
	n := min(int64(len(p)), l.half-l.first)
	if n > 0 {
		wrote, err := l.head.Write(p[:n])
		l.first += int64(wrote)
		l.fail(err, n-int64(wrote))
	}
	l.writeRing(p[n:])
}

func (l *boundedLog) writeRing(p []byte) {
	if len(p) > 0 && l.tail == nil && l.err == nil {
		tail, err := l.files.Create(l.tailPath())
		if err == nil {
			l.tail = tail
		}
		l.fail(err, 0)
	}
	for len(p) > 0 {
		if l.err != nil {
			l.lost += int64(len(p))
			return
		}
		at := l.ring % l.half
		n := min(int64(len(p)), l.half-at)
		if _, err := l.tail.WriteAt(p[:n], at); err != nil {
			l.fail(err, 0)
			continue
		}
		l.ring += n
		p = p[n:]
	}
}

// fail notes the first error, and lost bytes.
func (l *boundedLog) fail(err error, lost int64) {
	if err != nil {
		l.err = errors.Join(l.err, err)
		l.lost += lost
	}
}

// dropped counts the bytes that are not in the file.
func (l *boundedLog) dropped() int64 {
	return l.lost + max(0, l.ring-l.half)
}

// close puts the end behind the beginning. It gives the first error of the log's life.
func (l *boundedLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head == nil {
		return nil
	}
	if l.joined != nil {
		l.fail(errors.Join(l.streams[stdout].Close(), l.streams[stderr].Close(), l.joined.Close()), 0)
		l.joined, l.streams = nil, nil
	}
	err := l.err
	if l.tail != nil {
		err = errors.Join(err, l.join(), l.tail.Close())
		if err == nil {
			err = l.files.Remove(l.tailPath())
		}
	}
	err = errors.Join(err, l.head.Close())
	l.head, l.tail = nil, nil
	return err
}

// join copies the ring in the order in which it was written.
func (l *boundedLog) join() error {
	if n := l.dropped(); n > 0 {
		if _, err := fmt.Fprintf(l.head, "\n... %d bytes dropped ...\n", n); err != nil {
			return err
		}
	}
	start := int64(0)
	if l.ring > l.half {
		start = l.ring % l.half
	}
	kept := min(l.ring, l.half)
	if _, err := io.Copy(l.head, io.NewSectionReader(l.tail, start, kept-start)); err != nil {
		return err
	}
	_, err := io.Copy(l.head, io.NewSectionReader(l.tail, 0, start))
	return err
}
