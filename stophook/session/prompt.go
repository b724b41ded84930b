package session

import (
	"regexp"
	"strings"
	"sync"
)

// runTasks is the command that a person types: with the client's own sign before it, and
// with the name of a plugin where it comes from one.
var runTasks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A\s*[/$](?:orch:)?run-tasks[ \t]+(\S+)`) })

// EpicInPrompt is the epic that a prompt asks to be run, as in "/run-tasks EPIC" or "$run-tasks
// EPIC"; ok is false when it begins with anything else. What a hook put before it does not
// count: Gemini CLI shows that in a hook_context.
func EpicInPrompt(prompt string) (epic string, ok bool) {
	if _, rest, found := strings.Cut(prompt, "</hook_context>"); found && strings.HasPrefix(prompt, "<hook_context>") {
		prompt = rest
	}
	found := runTasks().FindStringSubmatch(prompt)
	if found == nil {
		return "", false
	}
	return found[1], true
}
