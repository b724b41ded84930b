package templates

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"
)

// RunTasksData is what the prompt of a session that runs an epic names.
type RunTasksData struct {
	Epic    string
	Tracker string // the command for tasks: bd, or orch tasks
}

// RunTasks is the prompt with which a session runs an epic, and is sent back to work:
// always the same for the same epic, under 2 KB for an id of any usual length, and it
// begins with a tool call.
func RunTasks(data RunTasksData) (string, error) {
	t, err := template.ParseFS(files, "run-tasks.md.tmpl")
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("writing the prompt: %w", err)
	}
	return b.String(), nil
}

// MaxRunTasks is how long a team's own prompt may be, in bytes: it is sent at every stop.
const MaxRunTasks = 8 << 10

// ErrRunTasks says that a text is no prompt that a session can be sent.
var ErrRunTasks = errors.New("no prompt for sessions")

// FillRunTasks is a team's own prompt in place of [RunTasks], with the same data in the places of {epic_id} and
// {tracker}. It fails with ErrRunTasks where it is empty, no UTF-8 or, filled in, longer than [MaxRunTasks].
func FillRunTasks(text string, data RunTasksData) (string, error) {
	filled := strings.NewReplacer("{epic_id}", data.Epic, "{tracker}", data.Tracker).Replace(text)
	switch {
	case strings.TrimSpace(filled) == "":
		return "", fmt.Errorf("%w: it is empty", ErrRunTasks)
	case !utf8.ValidString(filled):
		return "", fmt.Errorf("%w: it is no UTF-8", ErrRunTasks)
	case len(filled) > MaxRunTasks:
		return "", fmt.Errorf("%w: it has %d bytes, and %d are the most", ErrRunTasks, len(filled), MaxRunTasks)
	}
	return filled, nil
}
