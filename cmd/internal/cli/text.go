package cli

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Clip cuts text to a width in characters.
func Clip(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:max(0, width-1)]) + "…"
}

// Plural is the word for n of something.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// FirstLine is the first line that is not blank.
func FirstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// Span is a duration as a person writes it: 9s, 41m, 1h02m.
func Span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Quote is an id or a path as a shell takes it in a command.
func Quote[T ~string](id T) string {
	text := string(id)
	if !plainWord().MatchString(text) {
		text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	if strings.HasPrefix(string(id), "-") {
		text = "-- " + text
	}
	return text
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`) })
