package claude

import "bytes"

// maxLineBytes is the longest line that is read. The lines that matter are far shorter; the
// results of tools may be any length, and nothing in them matters.
const maxLineBytes = 256 << 10

// lines cuts a stream into lines without their ends, in bounded memory.
type lines struct {
	part    []byte // a line that is not complete yet
	skip    bool   // it is too long: drop the rest of it
	dropped int    // lines that were too long
}

func (l *lines) write(p []byte, take func(line []byte)) {
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.add(p)
			return
		}
		l.add(p[:end])
		l.end(take)
		p = p[end+1:]
	}
}

func (l *lines) add(p []byte) {
	if l.skip || len(l.part)+len(p) > maxLineBytes {
		l.skip, l.part = true, nil
		return
	}
	l.part = append(l.part, p...)
}

// end passes on the line so far, unless it is blank or too long.
func (l *lines) end(take func(line []byte)) {
	if l.skip {
		l.dropped++
	} else if line := bytes.TrimSpace(l.part); len(line) > 0 {
		take(line)
	}
	l.part, l.skip = l.part[:0], false
}
