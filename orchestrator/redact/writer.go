package redact

import (
	"io"
	"sync"
	"time"
)

// Writer redacts a stream. Its memory is bounded by the longest match; what it holds back is
// only what may be the beginning of one. It is not for concurrent use.
type Writer struct {
	to   io.Writer
	scan scanner
	held []byte
	err  error
}

// Writer makes a stream to w without secrets. Of a nil Redactor it passes all on.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{to: w, scan: scanner{r: r}} }

// Write takes p. It fails as the writer behind it does, then and ever after.
func (w *Writer) Write(p []byte) (int, error) {
	if w.err == nil {
		w.take(p, false)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Flush writes out what is held back, as if the stream ended here. A secret that is written
// partly before and partly after it is not seen.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.held) > 0 {
		w.take(nil, true)
	}
	return w.err
}

// Close flushes. The writer behind stays open.
func (w *Writer) Close() error { return w.Flush() }

// Held is how many bytes are held back.
func (w *Writer) Held() int { return len(w.held) }

func (w *Writer) take(p []byte, final bool) {
	if w.scan.r == nil {
		w.emit(p)
		return
	}
	data := p
	if len(w.held) > 0 {
		w.held = append(w.held, p...)
		data = w.held
	}
	if len(data) == 0 {
		return
	}
	done := w.scan.scan(data, final, w.emit)
	w.held = append(w.held[:0], data[done:]...)
}

func (w *Writer) emit(p []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(p)
	}
}

// patience is how long a Live writer waits for the rest of what may be a secret.
const patience = 100 * time.Millisecond

// Live is a Writer for a reader who follows the output: what is held back comes after a tenth of a
// second without more. It may be used by many goroutines.
type Live struct {
	mu    sync.Mutex
	to    io.Writer
	w     *Writer
	timer *time.Timer
}

// Live makes a stream to w without secrets for a reader who follows it.
func (r *Redactor) Live(w io.Writer) *Live {
	l := &Live{to: w, w: r.Writer(w)}
	l.timer = time.AfterFunc(time.Hour, func() { _ = l.Flush() }) // the next Write returns the error
	l.timer.Stop()
	return l
}

// Write takes p. It fails as the writer behind it does.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.w.Write(p)
	if l.w.Held() > 0 {
		l.timer.Reset(patience)
	}
	return n, err
}

// Use has another Redactor take over from here.
func (l *Live) Use(r *Redactor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.w.Flush()
	l.w = r.Writer(l.to)
	return err
}

// Flush writes out what is held back.
func (l *Live) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer.Stop()
	return l.w.Flush()
}

// Unwrap is the writer behind.
func (l *Live) Unwrap() io.Writer { return l.to }
