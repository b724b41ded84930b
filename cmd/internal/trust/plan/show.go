package plan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is how many characters of an item stand on one line.
const width = 96

// Show is the plan for a person: numbered, each item in full.
func (p Plan) Show() string {
	var b strings.Builder
	for n, i := range p {
		fmt.Fprintf(&b, "%4d. %s\n", n+1, i.head())
		i.body(&b, "      ")
	}
	return b.String()
}

// ShowDiff is changes for a person.
func ShowDiff(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		mark := "-"
		if c.Added {
			mark = "+"
		}
		fmt.Fprintf(&b, "  %s %s\n", mark, c.head())
		c.body(&b, "  "+mark+"   ")
	}
	return b.String()
}

func (i Item) head() string {
	head := i.Kind
	if i.Name != "" {
		head += " " + Visible(i.Name)
	}
	return head
}

func (i Item) body(b *strings.Builder, indent string) {
	for _, text := range []string{i.Text, i.Detail} {
		if text == "" {
			continue
		}
		for line := range strings.SplitSeq(text, "\n") {
			wrapLine(b, indent, Visible(line))
		}
	}
}

// wrapLine prints a line, as several where it is long; nothing of it is left out.
func wrapLine(b *strings.Builder, indent, line string) {
	runes := []rune(line)
	for first := true; first || len(runes) > 0; first = false {
		n := min(len(runes), width)
		more := ""
		if n < len(runes) {
			more = " \\"
		}
		fmt.Fprintf(b, "%s%s%s\n", indent, string(runes[:n]), more)
		runes = runes[n:]
	}
}

// Visible is text in which each character that drives a terminal, hides, or turns the
// direction of others is written as <U+XXXX>.
func Visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[0])
		case r == ' ', unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !isInvisible(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		s = s[n:]
	}
	return b.String()
}

// isInvisible reports whether a character that counts as graphic is shown as nothing.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}
