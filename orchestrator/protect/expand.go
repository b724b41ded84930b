package protect

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxTexts bounds what a word may be in loops.
const maxTexts = 200

// wordText is a word as far as it is known; what is not is left out.
func wordText(word *syntax.Word) string {
	var none walker
	return none.texts(word)[0]
}

// texts is all that a word may be, at least one; what is not known is left out.
func (w *walker) texts(word *syntax.Word) []string { return w.partTexts(word.Parts) }

func (w *walker) partTexts(parts []syntax.WordPart) []string {
	out := []string{""}
	for _, part := range parts {
		var next []string
		switch part := part.(type) {
		case *syntax.Lit:
			next = []string{unescape(part.Value)}
		case *syntax.SglQuoted:
			next = []string{part.Value}
		case *syntax.DblQuoted:
			next = w.partTexts(part.Parts)
		case *syntax.ParamExp:
			next = w.vars[part.Param.Value]
		}
		if len(next) == 0 {
			continue
		}
		var longer []string
		for _, begin := range out {
			for _, end := range next {
				if len(longer) < maxTexts {
					longer = append(longer, begin+end)
				}
			}
		}
		out = longer
	}
	return out
}

// braces is a word with its braces, as in {a,b}, taken apart.
func braces(word *syntax.Word) []*syntax.Word {
	if !strings.Contains(wordText(word), "{") {
		return []*syntax.Word{word}
	}
	split := *word
	split.Parts = slices.Clone(word.Parts)
	syntax.SplitBraces(&split)
	var out []*syntax.Word
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil || len(out) == maxTexts {
			return []*syntax.Word{word}
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return []*syntax.Word{word}
	}
	return out
}

func unescape(s string) string {
	var b strings.Builder
	for n := 0; n < len(s); n++ {
		if s[n] == '\\' && n+1 < len(s) {
			if n++; s[n] == '\n' {
				continue
			}
		}
		b.WriteByte(s[n])
	}
	return b.String()
}
