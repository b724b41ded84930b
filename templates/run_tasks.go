package templates

import (
	"fmt"
	"strings"
	"text/template"
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
