package session

import (
	"bufio"
	"errors"
	"io"
)

// What is kept of JSON from outside, in bytes: a string's beginning and its end, and all of
// it together.
const (
	clipHead = 64 << 10
	clipTail = 192 << 10
	clipAll  = 1 << 20
)

// errLarge says that there is more than clipAll, long strings left aside.
var errLarge = errors.New("more than 1 MiB")

// Clip passes JSON on in bounded memory, however long: the middle of a string that is too
// long becomes a line with three dots, and a run of white space one space. It knows no more
// of JSON than where strings begin and end, so that what is none stays none.
func Clip(r io.Reader) io.Reader { return &clipper{in: bufio.NewReaderSize(r, 32<<10), left: clipAll} }

type clipper struct {
	in   *bufio.Reader
	out  []byte // to be passed on
	left int    // that may still be
	err  error  // why there is no more

	within bool   // a string
	length int    // of the string so far
	tail   []byte // of the string, beyond its head
	cut    bool   // something of it was dropped
	space  bool   // the last byte was white space
}

// Read implements io.Reader.
func (c *clipper) Read(p []byte) (int, error) {
	for len(c.out) == 0 && c.err == nil {
		c.step()
	}
	if len(c.out) == 0 {
		return 0, c.err
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// step takes what has come in already, so that it never waits for more than there is.
func (c *clipper) step() {
	first, err := c.in.ReadByte()
	if err != nil {
		c.err = err
		return
	}
	c.out = c.out[:0]
	c.take(first)
	for c.in.Buffered() > 0 && len(c.out) < 16<<10 && c.err == nil {
		b, err := c.in.ReadByte()
		if err != nil {
			c.err = err
			return
		}
		c.take(b)
	}
}

// take is for one byte; an escape is taken whole.
func (c *clipper) take(b byte) {
	switch {
	case !c.within && b == '"':
		c.within, c.length, c.tail, c.cut, c.space = true, 0, c.tail[:0], false, false
		c.emit(b)
	case !c.within && (b == ' ' || b == '\t' || b == '\n' || b == '\r'):
		if !c.space {
			c.emit(' ')
		}
		c.space = true
	case !c.within:
		c.space = false
		c.emit(b)
	case b == '\\':
		c.escape()
	case b == '"':
		c.end()
	default:
		c.inside(b)
	}
}

// escape takes what follows a backslash: one byte, and four digits more after a u.
func (c *clipper) escape() {
	piece := []byte{'\\'}
	for want := 2; len(piece) < want; {
		b, err := c.in.ReadByte()
		if err != nil {
			c.err = err
			break
		}
		if piece = append(piece, b); b == 'u' && len(piece) == 2 {
			want = 6
		}
	}
	c.inside(piece...)
}

// inside takes a piece of a string.
func (c *clipper) inside(piece ...byte) {
	if c.length += len(piece); c.length <= clipHead {
		c.emit(piece...)
		return
	}
	c.tail = append(c.tail, piece...)
	if len(c.tail) > 2*clipTail {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-clipTail:]...)
		c.cut = true
	}
}

// end closes a string with its tail.
func (c *clipper) end() {
	if len(c.tail) > clipTail {
		c.tail, c.cut = c.tail[len(c.tail)-clipTail:], true
	}
	tail := c.tail
	if c.cut {
		for len(tail) > 0 && !isPlain(tail[0]) { // the middle of a rune, or of an escape
			tail = tail[1:]
		}
		c.emit([]byte(`\n...\n`)...)
	}
	c.emit(tail...)
	c.emit('"')
	c.within = false
}

// isPlain is a byte that no escape and no rune goes on with: escapes go on with letters that
// are hexadecimal digits, or name a control character.
func isPlain(b byte) bool {
	return b == ' ' || b == '.' || b >= 'G' && b <= 'Z' || b == '<' || b == '>'
}

func (c *clipper) emit(piece ...byte) {
	if c.left -= len(piece); c.left < 0 {
		c.err = errLarge
		return
	}
	c.out = append(c.out, piece...)
}
