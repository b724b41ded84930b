package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside safe to show: terminal escape sequences, control and
// bidirectional override characters are gone, line ends are "\n", bytes that are no
// UTF-8 become U+FFFD. Newlines and tabs stay.
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

// Clause makes s one line without control characters and at most limit runes long; a line
// that was cut ends in "…".
func Clause(s string, limit int) string {
	// Cutting first keeps the work small; a rune has at most four bytes, and escapes are short.
	if most := 16 * limit; len(s) > most {
		s = s[:most]
	}
	words := []rune(strings.Join(strings.Fields(Clean(s)), " "))
	if len(words) > limit {
		words = append(words[:limit-1:limit-1], '…')
	}
	return string(words)
}

// FirstLine is the first line of text that says something, at most 120 characters
// of it; otherwise when there is none.
func FirstLine(text, otherwise string) string {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			return Clause(line, 120)
		}
	}
	return otherwise
}

func shownRune(r rune, rest string) (rune, bool) {
	switch {
	case r == '\r':
		return '\n', !strings.HasPrefix(rest, "\n")
	case r == '\u2028', r == '\u2029', r == '\u0085':
		return '\n', true
	case r == '\n', r == '\t':
		return r, true
	case unicode.IsControl(r), r == '\ufeff', unicode.Is(unicode.Bidi_Control, r):
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
