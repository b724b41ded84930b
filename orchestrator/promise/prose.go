package promise

import (
	"regexp"
	"strings"
	"sync"
)

// blank stands for each byte that is not prose. It is in no promise.
const blank = 0

// blankCode is a Markdown message, of the same length, in which code, block quotes and HTML
// comments are blank. What is not closed goes on to the end, but for inline code, which
// needs its end within the paragraph (CommonMark 0.31).
func blankCode(message string) string {
	s := scanner{text: message, out: []byte(message)}
	for s.at < len(s.text) {
		if !s.block() {
			s.inline()
		}
	}
	return string(s.out)
}

type scanner struct {
	text string
	out  []byte
	at   int
	// paragraph is where the paragraph around at ends; runs is where the last run of
	// so many backticks begins in it.
	paragraph int
	runs      map[int]int
	// items are the columns at which the contents of the open list items begin, the outermost
	// first; flowing says that the line before goes on with a paragraph.
	items   []int
	flowing bool
}

// skip blanks everything up to end.
func (s *scanner) skip(end int) {
	for ; s.at < end; s.at++ {
		if s.out[s.at] != '\n' {
			s.out[s.at] = blank
		}
	}
}

// block passes over a block quote's line, an indented line of code, or a fenced block that begins here.
func (s *scanner) block() bool {
	if s.at > 0 && s.text[s.at-1] != '\n' {
		return false
	}
	line := lineAt(s.text, s.at)
	flowed := s.flowing
	s.flowing = false
	if strings.TrimSpace(line) == "" {
		return false
	}
	if isQuote(line) || s.indented(line, flowed) {
		s.skip(s.at + len(line))
		return true
	}
	fence := fenceOf(line)
	if s.flowing = fence == ""; s.flowing {
		return false
	}
	end := s.at + len(line)
	for end < len(s.text) {
		line := lineAt(s.text, end)
		end += len(line)
		if closesFence(line, fence) {
			break
		}
	}
	s.skip(end)
	return true
}

// indented reports whether a line is code by its indent, four columns more than the list item that it
// is in; a paragraph that flows on has no such lines. It follows the lists.
func (s *scanner) indented(line string, flowed bool) bool {
	text := strings.TrimLeft(line, " \t")
	column := columns(0, line[:len(line)-len(text)])
	mark := listMark().FindString(text)
	if flowed && mark == "" {
		return false
	}
	for len(s.items) > 0 && column < s.items[len(s.items)-1] {
		s.items = s.items[:len(s.items)-1]
	}
	inner := 0
	if n := len(s.items); n > 0 {
		inner = s.items[n-1]
	}
	if column >= inner+4 {
		return !flowed
	}
	for mark != "" {
		column = columns(column, mark)
		s.items = append(s.items, column)
		text = text[len(mark):]
		mark = listMark().FindString(text)
	}
	return false
}

// columns is the column behind text that begins at one.
func columns(at int, text string) int {
	for _, r := range text {
		if at++; r == '\t' {
			at += (4 - at%4) % 4
		}
	}
	return at
}

// inline passes over a comment, inline code, or one byte.
func (s *scanner) inline() {
	if s.at >= s.paragraph {
		s.enterParagraph()
	}
	rest := s.text[s.at:]
	switch {
	case strings.HasPrefix(rest, "<!--"):
		n := strings.Index(rest, "-->")
		if n < 0 {
			n = len(rest) - len("-->")
		}
		s.skip(s.at + n + len("-->"))
	case rest[0] == '\\':
		s.at += min(2, len(rest))
	case rest[0] == '`':
		s.code(rest)
	default:
		s.at++
	}
}

// code passes over inline code, or over backticks that begin none.
func (s *scanner) code(rest string) {
	n := runLength(rest)
	if s.runs[n] <= s.at {
		s.at += n
		return
	}
	end := s.at + n
	for {
		end += strings.IndexByte(s.text[end:], '`')
		m := runLength(s.text[end:])
		end += m
		if m == n {
			s.skip(end)
			return
		}
	}
}

// enterParagraph finds the end of the paragraph from here, and the backticks in it.
func (s *scanner) enterParagraph() {
	s.paragraph = s.at + len(lineAt(s.text, s.at))
	for s.paragraph < len(s.text) {
		line := lineAt(s.text, s.paragraph)
		if strings.TrimSpace(line) == "" || isQuote(line) || fenceOf(line) != "" {
			break
		}
		s.paragraph += len(line)
	}
	s.runs = map[int]int{}
	for i := s.at; i < s.paragraph; {
		n := runLength(s.text[i:s.paragraph])
		if n > 0 {
			s.runs[n] = i
		}
		i += max(n, 1)
	}
}

// lineAt is the line that begins at i, with its newline.
func lineAt(text string, i int) string {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return text[i : i+n+1]
	}
	return text[i:]
}

func runLength(s string) int {
	return len(s) - len(strings.TrimLeft(s, "`"))
}

// lineContent is a line without its indent and the marks of lists.
func lineContent(line string) string {
	line = strings.TrimLeft(line, " \t")
	for {
		n := len(listMark().FindString(line))
		if n == 0 {
			return line
		}
		line = line[n:]
	}
}

var listMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?:[-*+]|[0-9]{1,9}[.)])[ \t]+`) })

func isQuote(line string) bool { return strings.HasPrefix(lineContent(line), ">") }

// fenceOf is the fence that a line opens, "" for none.
func fenceOf(line string) string {
	line = lineContent(line)
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && !(mark == "`" && strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

// closesFence reports whether a line ends a fenced block.
func closesFence(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// isQuoted reports whether message[from:to] is in quotation marks: directly, or somewhere
// in its line.
func isQuoted(message string, from, to int) bool {
	begin := strings.LastIndexByte(message[:from], '\n') + 1
	before, after := message[begin:from], strings.TrimSuffix(lineAt(message, to), "\n")
	if to == len(message) {
		after = ""
	}
	for _, mark := range []string{`"`, "'", "“", "”", "‘", "’", "«", "»", "„"} {
		if strings.HasSuffix(before, mark) {
			return true
		}
	}
	if strings.Count(before, `"`)%2 == 1 && strings.Contains(after, `"`) {
		return true
	}
	for _, pair := range [][2]string{{"“", "”"}, {"„", "“"}, {"«", "»"}} {
		if strings.LastIndex(before, pair[0]) > strings.LastIndex(before, pair[1]) && strings.Contains(after, pair[1]) {
			return true
		}
	}
	return false
}
