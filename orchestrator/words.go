package orchestrator

import (
	"fmt"
	"strings"
)

// firstLine is the first line of text that says something, at most 120
// characters of it; otherwise when there is none.
func firstLine(text, otherwise string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > 120 {
			return string(r[:119]) + "…"
		}
		return line
	}
	return otherwise
}

// firstOf names the first of the files, and how many more there are.
func firstOf(files []string) string {
	switch len(files) {
	case 0:
		return "no file"
	case 1:
		return files[0]
	}
	return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
}
