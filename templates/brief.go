// Package templates holds the texts that orch gives to agents.
//
// What comes from outside (a task's description, a program's output, a file's name) is
// only ever data in them: fenced so that it cannot end its fence, cleaned of what a reader
// does not see, cut to a size, and never rendered as a template itself.
package templates

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed brief.md.tmpl run-tasks.md.tmpl agent.md.tmpl
var files embed.FS

// BriefData is the content of the prompt of one iteration of one attempt. Only Epic, Task, Title, Branch,
// Attempt and Iteration are always there.
type BriefData struct {
	// Epic is the epic's id.
	Epic string
	// Task is the task's id.
	Task string
	// Title is the task's title.
	Title string
	// Role is what the people of the repository say of agents like this one.
	Role string
	// Description is the task's own text.
	Description string
	// Design is how it is meant to be done.
	Design string
	// Acceptance is when it counts as done.
	Acceptance string
	// Notes are the task's notes; of long ones the end is kept, which is the newest.
	Notes string
	// Tracker is the command that shows tasks, like "bd".
	Tracker string
	// Bounded says that the agent works in a sandbox.
	Bounded bool
	// Landed is what the task's blockers put on the epic branch.
	Landed []LandedTask
	// Gate are the commands, or names of rules, that the work has to pass.
	Gate []string
	// Hints are a person's answers and advice, oldest first.
	Hints []string
	// Feedback is what became of earlier iterations and attempts, oldest first.
	Feedback []Feedback
	// ConflictFiles are the files that conflict with ConflictWith; with them the agent is
	// told to merge first.
	ConflictFiles []string
	// ConflictWith is the commit to merge.
	ConflictWith string
	// Previous is the ref that keeps the work of the attempt before.
	Previous string
	// Promise is what the agent ends with when the task is done; "" is COMPLETE.
	Promise string
	// Attempt is the number of this attempt, from 1.
	Attempt int
	// Iteration is the number of this iteration within the attempt, from 1.
	Iteration int
	// Branch is the branch that the agent works on.
	Branch string
	// Base is the commit that Branch began at.
	Base string
}

// LandedTask is one task that has landed.
type LandedTask struct {
	// Task is its id.
	Task string
	// Title is its title.
	Title string
	// Commit is what landed.
	Commit string
	// Files are the files that it changed.
	Files []string
}

// Feedback is why one iteration or attempt did not do.
type Feedback struct {
	// Attempt is its number.
	Attempt int
	// Kind is the reason's code, like GATE_FAILED; it may be empty.
	Kind string
	// Text is what there is to know.
	Text string
}

// page is a BriefData made ready: clean, cut, lists joined.
type page struct {
	BriefData
	Landed   string
	Gate     string
	Conflict string
}

// The limits, in bytes or in how many. Together with the template they stay below
// 256 KiB, the most that a brief has.
const (
	maxName        = 300
	maxItems       = 50
	maxTitle       = 500
	maxDescription = 64 << 10
	maxSection     = 24 << 10
	maxNotes       = 16 << 10
	maxRole        = 12 << 10
	maxHint        = 6 << 10
	maxHints       = 4
	maxFeedback    = 10 << 10
	maxFeedbacks   = 3
	maxList        = 14 << 10
)

// Brief renders the prompt of an agent: the same text for the same data, at most
// 256 KiB. It fails only when the template is broken.
func Brief(d BriefData) (string, error) {
	t, err := template.New("brief.md.tmpl").Funcs(template.FuncMap{"fence": fenceFor, "code": inlineCode}).ParseFS(files, "brief.md.tmpl")
	if err != nil {
		return "", fmt.Errorf("reading the brief's template: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, newPage(d)); err != nil {
		return "", fmt.Errorf("rendering the brief of %s: %w", d.Task, err)
	}
	return b.String(), nil
}

func newPage(d BriefData) page {
	p := page{BriefData: d}
	p.Promise = cmp.Or(oneLine(d.Promise), "COMPLETE")
	p.Title = firstBytes(oneLine(d.Title), maxTitle)
	p.Role = firstBytes(cleanText(d.Role), maxRole)
	p.Description = firstBytes(cleanText(d.Description), maxDescription)
	p.Design = firstBytes(cleanText(d.Design), maxSection)
	p.Acceptance = firstBytes(cleanText(d.Acceptance), maxSection)
	p.Notes = lastBytes(cleanText(d.Notes), maxNotes)
	p.Gate = lines(d.Gate)
	p.Landed = landedLines(d.Landed)
	if len(d.ConflictFiles) > 0 && d.ConflictWith != "" {
		p.Conflict = lines(d.ConflictFiles)
	}
	p.Hints = nil
	for _, hint := range newest(d.Hints, maxHints) {
		if hint = firstBytes(cleanText(hint), maxHint); hint != "" {
			p.Hints = append(p.Hints, hint)
		}
	}
	p.Feedback = nil
	for _, f := range newest(d.Feedback, maxFeedbacks) {
		if f.Text = firstBytes(cleanText(f.Text), maxFeedback); f.Text != "" {
			p.Feedback = append(p.Feedback, f)
		}
	}
	return p
}

func newest[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// lines is a list, an item a line, the first maxItems of them.
func lines(items []string) string {
	var out []string
	for _, item := range items[:min(len(items), maxItems)] {
		if item = nameLine(item); item != "" {
			out = append(out, item)
		}
	}
	if more := len(items) - maxItems; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return firstBytes(strings.Join(out, "\n"), maxList)
}

func landedLines(tasks []LandedTask) string {
	var out []string
	for _, t := range tasks {
		commit := t.Commit[:min(len(t.Commit), 12)]
		line := strings.Join(strings.Fields(nameLine(t.Task)+" "+nameLine(commit)+" "+nameLine(t.Title)), " ")
		if len(t.Files) > 0 {
			line += " (" + strings.ReplaceAll(lines(t.Files), "\n", ", ") + ")"
		}
		out = append(out, line)
	}
	return lines(out)
}
