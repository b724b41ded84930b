package stream

import "bytes"

// maxLineBytes is the longest line that is read. The lines that matter are far shorter; the
// results of tools may be any length, and nothing in them matters.
const maxLineBytes = 256 << 10

// Lines cuts a stream into lines without their ends, in bounded memory. The zero Lines is
// ready for use.
type Lines struct {
	part    []byte // a line that is not complete yet
	skip    bool   // it is too long: drop the rest of it
	dropped int    // lines that were too long
}

// Write takes the next piece, cut anywhere, and passes on the lines that it ends. Blank
// lines, and those of more than 256 KiB, are left out.
func (l *Lines) Write(p []byte, take func(line []byte)) {
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.add(p)
			return
		}
		l.add(p[:end])
		l.flush(take)
		p = p[end+1:]
	}
}

// End passes on a last line that no newline ended, and says how many lines were too long.
func (l *Lines) End(take func(line []byte)) (dropped int) {
	l.flush(take)
	dropped, l.dropped = l.dropped, 0
	return dropped
}

func (l *Lines) add(p []byte) {
	if l.skip || len(l.part)+len(p) > maxLineBytes {
		l.skip, l.part = true, nil
		return
	}
	l.part = append(l.part, p...)
}

// flush passes on the line so far, unless it is blank or too long.
func (l *Lines) flush(take func(line []byte)) {
	if l.skip {
		l.dropped++
	} else if line := bytes.TrimSpace(l.part); len(line) > 0 {
		take(line)
	}
	l.part, l.skip = l.part[:0], false
}
