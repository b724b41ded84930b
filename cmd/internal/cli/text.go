package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/text"
)

// Plural is the word for n of something.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// FormatDuration is a duration as a person writes it: 9s, 41m, 1h02m.
func FormatDuration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Quote is an id or a path as an argument of a command that a person types into a shell.
func Quote[T ~string](id T) string {
	word := text.Shell(string(id))
	if strings.HasPrefix(string(id), "-") {
		word = "-- " + word
	}
	return word
}
