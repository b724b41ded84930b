package promise

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

const (
	maxDetailBytes  = 2 << 10
	maxContextBytes = 16 << 10
)

// addDetails reads what follows a promise.
func (p *Promise) addDetails(rest string) {
	p.Context = contextOf(rest)
	p.Reason = detailOf(rest, "Reason", p.Context)
	p.Summary = detailOf(rest, "Summary", p.Context)
}

// detailOf is what follows "Name:" at the beginning of a line, to the end of the paragraph;
// else the context's entry of that name.
func detailOf(rest, name string, context map[string]any) string {
	at := regexp.MustCompile(`(?m)^[ \t>*_-]*` + name + `[*_]*:[*_]*[ \t]*`).FindStringIndex(rest)
	if at == nil {
		if value, ok := context[strings.ToLower(name)]; ok && value != nil {
			return clip(strings.TrimSpace(fmt.Sprint(value)))
		}
		return ""
	}
	var lines []string
	for line := range strings.Lines(rest[at[1]:]) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "<") || len(lines) > 0 && otherDetail().MatchString(line) {
			break
		}
		lines = append(lines, line)
	}
	return clip(strings.Join(lines, "\n"))
}

var otherDetail = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[*_-]*(?:Reason|Summary)[*_]*:`) })

func clip(s string) string {
	if len(s) > maxDetailBytes {
		s = s[:maxDetailBytes]
	}
	return strings.ToValidUTF8(s, "")
}

// contextOf reads the first <context> block. One that is no YAML mapping, or has something
// in it that JSON has not, is none.
func contextOf(rest string) map[string]any {
	_, rest, _ = strings.Cut(rest, "<context>")
	block, _, closed := strings.Cut(rest, "</context>")
	if !closed || len(block) > maxContextBytes {
		return nil
	}
	var m map[string]any
	if err := yaml.Unmarshal([]byte(block), &m); err != nil {
		return nil
	}
	if _, err := json.Marshal(m); err != nil {
		return nil
	}
	return m
}
