package templates

import (
	"fmt"
	"strings"
	"unicode"
)

// maxTicks is the longest run of backticks that is passed on; a longer one means nothing
// to anyone, and would make its fence as long.
const maxTicks = 40

// cleanText makes text from outside harmless to read: valid UTF-8, lines ended by "\n",
// without control characters and without what a reader does not see (bidirectional
// controls, tag characters, byte order marks).
func cleanText(s string) string {
	var b strings.Builder
	ticks := 0
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\r\n", "\n")
	for _, r := range s {
		switch {
		case r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			r = '\n'
		case r == '\n', r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufeff', r >= 0xe0000 && r <= 0xe007f:
			continue
		}
		if r != '`' {
			ticks = 0
		} else if ticks++; ticks > maxTicks {
			continue
		}
		b.WriteRune(r)
	}
	return strings.Trim(b.String(), "\n")
}

// oneLine is clean text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(cleanText(s)), " ") }

// nameLine is something short on one line.
func nameLine(s string) string {
	if len(s) > 4*maxName {
		s = s[:4*maxName]
	}
	return firstBytes(oneLine(s), maxName)
}

// firstBytes is the beginning of a clean text, at most n bytes and a note of what is gone.
func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	kept := strings.ToValidUTF8(s[:n], "")
	return kept + fmt.Sprintf(" […%d bytes are cut here]", len(s)-len(kept))
}

// lastBytes is the end of a clean text, at most n bytes and a note of what is gone.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	kept := strings.ToValidUTF8(s[len(s)-n:], "")
	return fmt.Sprintf("[%d bytes are cut here…] ", len(s)-len(kept)) + kept
}

// fenceFor puts clean text between fences that are longer than any run of backticks in it.
func fenceFor(s string) string {
	mark := strings.Repeat("`", max(3, longestRun(s)+1))
	return mark + "text\n" + s + "\n" + mark
}

// inlineCode is a name from outside as inline code on one line, at most a few hundred bytes.
func inlineCode(s string) string {
	s = nameLine(s)
	mark := strings.Repeat("`", longestRun(s)+1)
	if s == "" || strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
