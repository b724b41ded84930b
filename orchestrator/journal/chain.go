package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// chain is how far a journal was read and found sound. The zero value is its start.
type chain struct {
	offset int64  // bytes
	line   int    // lines, the header included
	seq    int64  // of the last record
	sum    string // of the last line
}

// extend reads on: data begins at c.offset, and each is called for every record. It returns
// what is left: nothing, or a tail that is torn, repeats
// the last line, or is still being written. It fails with
// a *CorruptError without Path, with ErrVersion, or with each's error.
func (c *chain) extend(data []byte, each func(Record) error) (tail []byte, err error) {
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			if c.line == 0 && !beginsHeader(data) {
				return nil, &CorruptError{Line: 1, Why: "it is not the beginning of a journal"}
			}
			return data, nil
		}
		was := *c
		r, err := c.next(data[:i])
		if errors.Is(err, ErrVersion) {
			return nil, err
		}
		if err != nil {
			if _, rest := c.copies(data); c.line > 0 && !holdsRecord(rest) {
				return data, nil
			}
			return nil, &CorruptError{Line: c.line + 1, Offset: c.offset, Why: err.Error(), ValidPrefix: c.offset}
		}
		c.offset += int64(i) + 1
		c.line++
		if was.line > 0 {
			if err := each(r); err != nil {
				return nil, err
			}
		}
		data = data[i+1:]
	}
}

// next takes one line, without its newline. When it fails, c is as before.
func (c *chain) next(line []byte) (Record, error) {
	if c.line == 0 {
		return Record{}, c.begin(line)
	}
	var e entry
	sum, err := unseal(line, &e)
	switch {
	case err != nil:
		return Record{}, err
	case e.V < 1:
		return Record{}, fmt.Errorf("its version is %d, and there is none below 1", e.V)
	case e.V > version:
		return Record{}, fmt.Errorf("%w: record %d has version %d, and this one knows up to %d", ErrVersion, e.Seq, e.V, version)
	case e.Seq != c.seq+1:
		return Record{}, fmt.Errorf("record %d follows record %d", e.Seq, c.seq)
	case e.Prev != c.sum:
		return Record{}, fmt.Errorf("record %d does not continue the line before it", e.Seq)
	}
	c.seq, c.sum = e.Seq, sum
	return Record{Seq: e.Seq, At: e.At.UTC(), Event: e.Event}, nil
}

// copies counts how often data begins with the last line again, and returns what follows. A
// line that is there twice at the end says nothing new; no record follows it.
func (c *chain) copies(data []byte) (n int, rest []byte) {
	for {
		line, more, whole := bytes.Cut(data, []byte("\n"))
		if sum, err := unseal(line, new(json.RawMessage)); !whole || err != nil || sum != c.sum {
			return n, data
		}
		n, data = n+1, more
	}
}

// beginsHeader reports whether data, a line without its end, can be a header that was not written to
// its end.
func beginsHeader(data []byte) bool {
	n := min(len(data), len(headerStart))
	return string(data[:n]) == headerStart[:n]
}

func (c *chain) begin(line []byte) error {
	var h header
	sum, err := unseal(line, &h)
	switch {
	case err != nil:
		return err
	case h.Format != format:
		return fmt.Errorf("its format is %q, not %q", h.Format, format)
	case h.V < 1:
		return fmt.Errorf("its version is %d, and there is none below 1", h.V)
	case h.V > version:
		return fmt.Errorf("%w: it has version %d, and this one knows up to %d", ErrVersion, h.V, version)
	}
	c.sum = sum
	return nil
}
