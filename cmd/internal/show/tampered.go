package show

import (
	"fmt"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
)

// tamperedShown is how many changes a person is shown; orch events has all.
const tamperedShown = 10

// TamperedText says what others changed of the repository, and what orch did about it, with the
// command that shows or undoes it; "" for nothing.
func TamperedText(events []epic.Event, s epic.State) string {
	changes, times, last := []string{}, map[string]int{}, map[string]epic.Event{}
	for _, e := range events {
		for _, change := range changesOf(e) {
			if times[change]++; times[change] == 1 {
				changes = append(changes, change)
			}
			last[change] = e
		}
	}
	n := len(changes)
	if n == 0 {
		return ""
	}
	var b strings.Builder
	for _, change := range changes[:min(n, tamperedShown)] {
		again := ""
		if m := times[change]; m > 1 {
			again = fmt.Sprintf(", the last of %d times", m)
		}
		fmt.Fprintf(&b, "  ! %s\n      %s%s\n", text.Clause(change, 1000), text.Clause(whenOf(last[change]), 200), again)
	}
	body := fmt.Sprintf("\nTampered with (%d)  [%s]\n%s", n, reason.Tampered, b.String())
	if n > tamperedShown {
		body += fmt.Sprintf("  and %d more\n", n-tamperedShown)
	}
	return body + fmt.Sprintf("      next  orch events %s | grep %s\n", cli.Quote(s.Epic), reason.Tampered)
}

// changesOf are the changes that an event tells, a line each.
func changesOf(e epic.Event) (lines []string) {
	changes, _ := e.Fact.(epic.TamperingFound)
	for line := range strings.Lines(changes.Changes) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		lines = []string{e.Reason}
	}
	return lines
}

// whenOf says when something was changed, and so who may have done it.
func whenOf(e epic.Event) string {
	when, _, _ := strings.Cut(e.Reason, ": ")
	return fmt.Sprintf("%s, found at %s", when, e.At.Local().Format("15:04:05"))
}

// TamperedDocument is the same for a program, with all of it.
func TamperedDocument(events []epic.Event) []document.Tampering {
	list := []document.Tampering{}
	for _, e := range events {
		f, _ := e.Fact.(epic.TamperingFound)
		when, _, _ := strings.Cut(e.Reason, ": ")
		list = append(list, document.Tampering{At: e.At, Code: e.Code, Task: e.Task, Attempt: e.Attempt, When: when, Files: f.Files, Changes: changesOf(e)})
	}
	return list
}
