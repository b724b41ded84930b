package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/templates"
)

// brief renders what an agent is told: the task's texts, what its blockers
// landed, how it will be judged, and what became of the attempts before.
func (x *Effects) brief(s epic.State, t *epic.Task, d epic.Decision) (string, error) {
	issue := x.issue(t.ID)
	names := x.Store.Name(string(t.ID), d.Attempt)
	data := templates.BriefData{
		Epic: string(s.Epic), Task: string(t.ID), Title: cmp.Or(issue.Title, t.Title), Role: x.role(t).Text,
		Description: issue.Description, Design: issue.Design, Acceptance: issue.AcceptanceCriteria, Notes: issue.Notes,
		Tracker: x.Tasks, Landed: x.landedFor(s, t), Gate: x.gateCommands(), Hints: t.Hints,
		Attempt: d.Attempt, Iteration: d.Turn().Iteration, Branch: shortBranch(names.Branch), Base: string(d.Turn().Base),
	}
	for _, a := range t.Attempts {
		if a.Feedback != "" {
			data.Feedback = append(data.Feedback, templates.Feedback{Attempt: a.Number, Kind: string(a.Failure), Text: a.Feedback})
		}
		if a.Number < d.Attempt && a.Head != "" && a.Head != a.Base {
			data.Previous = x.Store.Name(string(t.ID), a.Number).Attic
		}
	}
	if a := t.Last(); len(a.Files) > 0 && a.Open() {
		data.ConflictFiles, data.ConflictWith = a.Files, string(a.Conflict)
	}
	return templates.Brief(data)
}

// landedFor tells what the blockers of a task put on the epic branch.
func (x *Effects) landedFor(s epic.State, t *epic.Task) (out []templates.LandedTask) {
	var ids []epic.TaskID
	for _, row := range t.Needs {
		for _, id := range row {
			if b := s.Task(id); b != nil && b.State == epic.Landed && !slices.Contains(ids, id) {
				ids = append(ids, id)
				out = append(out, templates.LandedTask{Task: string(id), Title: b.Title, Commit: string(b.Commit)})
			}
		}
	}
	return out
}

func (x *Effects) gateCommands() (out []string) {
	for _, r := range x.Gate {
		if r.Off {
			continue
		}
		if r.Command != "" {
			command := r.Command
			if r.Dir != "" {
				command = "cd " + r.Dir + " && " + command
			}
			out = append(out, command)
			continue
		}
		out = append(out, fmt.Sprintf("%s (%s)", r.Name, r.Type))
	}
	return out
}

// lastLines is the end of what an agent said besides its promise, for a question
// that it did not put into words of its own.
func lastLines(text string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool {
		return strings.TrimSpace(line) == "" || strings.Contains(line, "<promise>")
	})
	if len(lines) > 5 {
		lines = lines[len(lines)-5:]
	}
	return strings.Join(lines, "\n")
}
