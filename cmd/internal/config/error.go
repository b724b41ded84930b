package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Error is one thing in the settings that is not understood.
type Error struct {
	// File is where it stands; "" when it is in a variable.
	File string
	// Line is the line in File, from 1; 0 when it is about the whole.
	Line int
	// Column is the column in Line, in characters from 1; 0 when it is not known.
	Column int
	// Key is the path, like workflow.run.max_parallel, or the variable; it may be empty.
	Key string
	// What is what is wrong, one clause.
	What string
	// Fix is what to do; it may be empty.
	Fix string
	// Snippet is the line with a mark below the place; it may be empty.
	Snippet string
}

// Error says where and what, on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	for _, n := range []int{e.Line, e.Column} {
		if n > 0 {
			fmt.Fprintf(&b, ":%d", n)
		}
	}
	if e.File != "" {
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + " ")
	}
	return b.String() + e.What
}

// fault is what is wrong with a node, before it is known where the node comes from.
type fault struct {
	node *yaml.Node
	key  string
	what string
	fix  string
}

// inFile makes the error of a fault in a file.
func (f *fault) inFile(path string, data []byte) *Error {
	return &Error{
		File: path, Line: f.node.Line, Column: f.node.Column, Key: printable(f.key), What: printable(f.what), Fix: printable(f.fix),
		Snippet: excerpt(data, f.node.Line, f.node.Column),
	}
}

// inVariable makes the error of a fault in a variable.
func (f *fault) inVariable(name string) *Error {
	key := name
	if strings.HasPrefix(f.key, name) {
		key = f.key // with the place within it
	}
	return &Error{Key: printable(key), What: printable(f.what), Fix: printable(f.fix)}
}

// excerpt is a line with a mark below the column, at most 100 characters around it.
func excerpt(data []byte, line, column int) string {
	text := nthLine(data, line)
	if text == "" || column < 1 {
		return printable(text)
	}
	runes := []rune(text)
	at := min(column-1, len(runes))
	from := max(0, at-60)
	to := min(len(runes), from+100)
	return printable(string(runes[from:to])) + "\n" + strings.Repeat(" ", at-from) + "^"
}

func nthLine(data []byte, n int) string {
	for line := range bytes.Lines(data) {
		if n--; n == 0 {
			return strings.ToValidUTF8(string(bytes.TrimRight(line, "\r\n")), "?")
		}
	}
	return ""
}

// printable replaces what a terminal would act on.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// nearestWord is the word of known that a person may have meant, or "".
func nearestWord(word string, known []string) string {
	best, least := "", len(word)/3+2
	for _, k := range known {
		if d := Distance(normalize(word), normalize(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// normalize is a word without what people mix up: maxParallel, max-parallel, MAX_PARALLEL.
func normalize(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// Distance is how many letters a is from b (Levenshtein); of words over 64 bytes it is the length of the longer.
func Distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// suggest is the advice for a word that is not known.
func suggest(word string, known []string) string {
	if k := nearestWord(word, known); k != "" {
		return "did you mean " + k + "?"
	}
	return "known here: " + strings.Join(known, ", ")
}
