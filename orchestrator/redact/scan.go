package redact

import "bytes"

// A text is looked at place by place. What matches there, the longest of all patterns, is
// covered; a match that begins within covered text and goes further covers more. So what
// becomes of a place follows from the text alone, and a stream only has to wait where a match
// may have begun and is not whole yet.

// scanner goes through one text, in one piece or in many.
type scanner struct {
	r     *Redactor
	found func(name string) // of each mark that is made; may be nil
	cover int               // bytes from here on that are covered
	open  classBits         // runs that the covered text ends in, and that go on
	edge  bool              // covered text ends right here
	prev  [2]byte           // the bytes before, the nearest last
}

// verdict is what a pattern says of a place.
type verdict uint8

const (
	no   verdict = iota
	yes          // it matches
	more         // the text has to go on before that is known
)

// match is what begins at a place.
type match struct {
	p    *pattern
	n    int // bytes
	open bool
}

// scan emits what data becomes, and returns how much of it is done; the rest has to be given
// again with what follows it. With final all is done.
func (s *scanner) scan(data []byte, final bool, emit func([]byte)) int {
	from, i := 0, 0
	flush := func(to int) {
		if to > from {
			emit(data[from:to])
		}
	}
	for i < len(data) {
		if s.cover == 0 && s.open == 0 && !s.edge {
			i = s.r.skip(data, i)
			if i == len(data) {
				break
			}
		}
		if s.cover == 0 && s.open != 0 {
			s.goesOn(data[i])
		}
		m, v := s.at(data, i, final)
		if v == more {
			break
		}
		switch {
		case v == no:
		case m.p.kind == ofMark:
			if s.cover == 0 { // it stays
				s.edge = true
				i += m.n
				continue
			}
		default:
			if s.cover == 0 {
				flush(i)
				emit(m.p.mark)
				if s.found != nil {
					s.found(m.p.name)
				}
			}
			s.cover = max(s.cover, m.n)
			if m.open {
				s.open |= m.p.class
			}
		}
		s.edge = false
		i++
		if s.cover > 0 {
			from = i
			if s.cover--; s.cover == 0 && s.open == 0 {
				s.edge = true
			}
		}
	}
	flush(i)
	s.passed(data, i)
	return i
}

// goesOn takes a byte to the runs that covered text ends in, or ends them.
func (s *scanner) goesOn(b byte) {
	if s.open &= classes[b]; s.open != 0 {
		s.cover = 1
	} else {
		s.edge = true
	}
}

// passed remembers the bytes before data[i].
func (s *scanner) passed(data []byte, i int) {
	switch {
	case i >= 2:
		s.prev = [2]byte(data[i-2 : i])
	case i == 1:
		s.prev = [2]byte{s.prev[1], data[0]}
	}
}

// skip finds the next place from i on where a pattern may begin, as far as three bytes tell.
func (r *Redactor) skip(data []byte, i int) int {
	last := len(data) - 1
	if i+2 <= last {
		three := uint32(data[i])<<8 | uint32(data[i+1])
		for j, b := range data[i+2:] {
			three = three<<8&0xffffff | uint32(b)
			if h := hash(three); r.begins[h>>6]>>(h&63)&1 != 0 {
				return i + j
			}
		}
		i = last - 1
	}
	for ; i < last; i++ {
		if r.paired(data[i], data[i+1]) {
			return i
		}
	}
	if r.firsts[data[last]] {
		return last
	}
	return len(data)
}

// paired reports whether a pattern begins with two bytes.
func (r *Redactor) paired(a, b byte) bool { return r.pairs[uint(a)<<2|uint(b)>>6]>>(b&63)&1 != 0 }

// at looks for the longest match at a place.
func (s *scanner) at(data []byte, i int, final bool) (best match, v verdict) {
	rest := data[i:]
	if len(rest) == 1 {
		if final || !s.r.firsts[rest[0]] {
			return match{}, no
		}
		return match{}, more
	}
	if !s.r.paired(rest[0], rest[1]) {
		return match{}, no
	}
	for _, k := range s.r.starts[uint16(rest[0])<<8|uint16(rest[1])] {
		p := &s.r.patterns[k]
		n, open, found := s.try(p, data, i, final)
		switch {
		case found == more:
			return match{}, more
		case found == yes && n > best.n:
			best, v = match{p, n, open}, yes
		}
	}
	return best, v
}

// try matches one pattern at a place.
func (s *scanner) try(p *pattern, data []byte, i int, final bool) (n int, open bool, v verdict) {
	rest := data[i:]
	switch p.kind {
	case ofValue:
		n, v = p.value(rest, final)
		return n, false, v
	case ofMark:
		n, v = matchLiteral(p.lit, rest, final)
		return n, false, v
	}
	if _, v = matchLiteral(p.lit, rest, final); v != yes {
		return 0, false, v
	}
	if p.shape.alone && !s.boundary(data, i) {
		return 0, false, no
	}
	return p.shape.match(rest, final)
}

func matchLiteral(lit, rest []byte, final bool) (int, verdict) {
	if len(rest) >= len(lit) {
		if bytes.HasPrefix(rest, lit) {
			return len(lit), yes
		}
		return 0, no
	}
	if final || !bytes.HasPrefix(lit, rest) {
		return 0, no
	}
	return 0, more
}

// minCut is how much of a value has to be there before an ellipsis, or before the end of the
// text, to count as a value that was cut.
const minCut = 8

// maxBlank bounds the white space that may stand for a line end, in bytes.
const maxBlank = 256

// value matches a value, whose line ends may have become any white space, written out or
// escaped. What is cut off with an ellipsis or by the end of the text counts from minCut bytes
// on.
func (p *pattern) value(rest []byte, final bool) (int, verdict) {
	at, line := 0, p.lit
	for k := 0; ; k++ {
		same := commonPrefix(rest[at:], line)
		at += same
		if same < len(line) {
			return matchPartial(rest, at, final)
		}
		if k == len(p.breaks) {
			return at, yes
		}
		blank, whole := countBlanks(rest[at:], final)
		if !whole {
			return 0, more
		}
		if blank == 0 {
			return matchPartial(rest, at, final)
		}
		if at += blank; at == len(rest) && final {
			return matchPartial(rest[:at-blank], at-blank, final)
		}
		line = p.breaks[k]
	}
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// matchPartial is for a value of which only the first at bytes are there.
func matchPartial(rest []byte, at int, final bool) (int, verdict) {
	after := rest[at:]
	if len(after) == 0 && !final {
		return 0, more
	}
	if at < minCut {
		return 0, no
	}
	if len(after) == 0 {
		return at, yes
	}
	for _, dots := range [...]string{"...", "…", `\u2026`} {
		n := min(len(after), len(dots))
		if string(after[:n]) != dots[:n] {
			continue
		}
		if n == len(dots) {
			return at, yes
		}
		if !final {
			return 0, more
		}
	}
	return 0, no
}

// countBlanks counts the white space that b begins with, escapes of it included; whole is false when
// it may go on beyond b.
func countBlanks(b []byte, final bool) (n int, whole bool) {
	for n < len(b) && n < maxBlank {
		switch {
		case b[n] == ' ' || b[n] == '\n' || b[n] == '\r' || b[n] == '\t':
			n++
			continue
		case b[n] != '\\':
			return n, true
		}
		k := n
		for k < len(b) && b[k] == '\\' && k-n < 8 {
			k++
		}
		if k == len(b) {
			return n, final
		}
		if c := b[k]; c != 'n' && c != 'r' && c != 't' {
			return n, true
		}
		n = k + 1
	}
	return n, final || n < len(b) || n >= maxBlank
}

// boundary reports whether no word goes on at data[i]. The letter of an escape is none of a
// word, and neither is the end of a terminal's colour.
func (s *scanner) boundary(data []byte, i int) bool {
	if s.edge {
		return true
	}
	p := s.prev
	switch {
	case i >= 2:
		p = [2]byte(data[i-2 : i])
	case i == 1:
		p = [2]byte{p[1], data[0]}
	}
	switch {
	case classes[p[1]]&word == 0:
		return true
	case p[0] == '\\':
		return bytes.IndexByte([]byte("nrtbf0"), p[1]) >= 0
	}
	return p[1] == 'm' && (p[0] >= '0' && p[0] <= '9' || p[0] == '[')
}
