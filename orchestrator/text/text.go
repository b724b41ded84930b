// Package text makes text from outside (agents, trackers, files, gates) safe to show and short:
// one way of cleaning, cutting and quoting for all that orch prints, stores or passes on.
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Clean makes text from outside safe to show: terminal escape sequences, control characters,
// bidirectional overrides and tag characters, which no reader sees, are gone, line ends are
// "\n", bytes that are no UTF-8 become U+FFFD. Newlines and tabs stay.
func Clean(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if n := escapeLen(s); n > 0 {
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if shown, keep := shownRune(r, s[n:]); keep {
			b.WriteRune(shown)
		}
		s = s[n:]
	}
	return b.String()
}

// OneLine is clean text on one line, its words a space apart.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Clause makes s one line without control characters and at most cells wide on a terminal; a
// line that was cut ends in "…".
func Clause(s string, cells int) string {
	// Cutting first keeps the work small; a cluster of several runes is rare, and escapes are short.
	if most := 16 * cells; len(s) > most {
		s = s[:most]
	}
	return Cut(OneLine(s), cells)
}

// FirstLine is the first line of text that says something, at most 120 cells of it; otherwise
// when there is none.
func FirstLine(text, otherwise string) string {
	for line := range strings.Lines(text) {
		if line = Clause(line, 120); line != "" {
			return line
		}
	}
	return otherwise
}

// Head is the first line of text that says something, clean and all of it; "" when there is none.
func Head(s string) string {
	for line := range strings.Lines(s) {
		if line = OneLine(line); line != "" {
			return line
		}
	}
	return ""
}

// Width is how many cells of a terminal clean text on one line takes.
func Width(s string) int { return uniseg.StringWidth(s) }

// Cut makes text at most cells wide; what was cut ends in "…". Characters that make one
// picture together are kept or cut together.
func Cut(s string, cells int) string {
	switch {
	case cells < 1:
		return ""
	case len(s) <= cells, Width(s) <= cells:
		return s
	}
	kept, width := 0, 0
	for rest, state := s, -1; rest != ""; {
		var cluster string
		var wide int
		cluster, rest, wide, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width+wide > cells-1 {
			break
		}
		kept, width = kept+len(cluster), width+wide
	}
	return s[:kept] + "…"
}

// CutBytes makes text valid UTF-8 of at most n bytes, n at least 3; what was cut ends in "…".
func CutBytes(s string, n int) string {
	const mark = "…"
	if s = strings.ToValidUTF8(s, "?"); len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}

// Quote is text from outside between double quotes, at most cells of it, with escapes for what
// cannot be shown.
func Quote(s string, cells int) string { return strconv.Quote(Cut(s, cells)) }

// Shell is a word as a POSIX shell takes it.
func Shell(s string) string {
	if s != "" && strings.Trim(s, shellPlain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellWords is a command line that a POSIX shell takes apart into exactly these words.
func ShellWords(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = Shell(word)
	}
	return strings.Join(words, " ")
}

const shellPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-"

func shownRune(r rune, rest string) (rune, bool) {
	switch {
	case r == '\r':
		return '\n', !strings.HasPrefix(rest, "\n")
	case r == '\u2028', r == '\u2029', r == '\u0085':
		return '\n', true
	case r == '\n', r == '\t':
		return r, true
	case unicode.IsControl(r), r == '\ufeff', unicode.Is(unicode.Bidi_Control, r), r >= 0xe0000 && r <= 0xe007f:
		return 0, false
	}
	return r, true
}

// escapeLen is the length of the escape sequence (ECMA-48) at the start of s, 0 for none.
// A sequence that does not end within s, or within its own line, is cut there.
func escapeLen(s string) int {
	introducer, n := escapeIntroducer(s)
	switch introducer {
	case 0:
		return 0
	case '[':
		return n + csiLen(s[n:])
	case ']', 'P', 'X', '^', '_':
		return n + stringLen(s[n:])
	}
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		n++
	}
	return n
}

// escapeIntroducer tells CSI, OSC and the like apart, in their 7 bit (ESC x) and their
// 8 bit form (U+0080 to U+009F). For any other sequence it gives the ESC itself.
func escapeIntroducer(s string) (kind byte, length int) {
	if s[0] == 0x1b {
		if len(s) > 1 && strings.IndexByte("[]PX^_", s[1]) >= 0 {
			return s[1], 2
		}
		return 0x1b, 1
	}
	if r, n := utf8.DecodeRuneInString(s); r == 0x9b || r == 0x9d || r == 0x90 || r == 0x98 || r == 0x9e || r == 0x9f {
		return byte(r - 0x40), n
	}
	return 0, 0
}

func csiLen(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x3f {
			return i
		}
	}
	return len(s)
}

// stringLen is the length of a control string up to BEL or ST.
func stringLen(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == 0x1b, s[i] == '\n':
			return i
		case strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		}
	}
	return len(s)
}
