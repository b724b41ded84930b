package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
)

// checkBase has the gate judge the epic branch as it is.
func (x *dispatch) checkBase(ctx context.Context, d epic.Decision) epic.Event {
	c := d.Land.Commits[0]
	j, err := x.Lander.Judge(ctx, land.Stack{Tip: c})
	var starved *land.StarvedError
	if errors.As(err, &starved) {
		return epic.Event{Kind: epic.MachineFailed, Code: epic.Machine, Reason: err.Error()}
	}
	e := epic.Event{Kind: epic.BaseChecked, Land: &epic.Land{Commits: []epic.Commit{c}}}
	if err != nil {
		e.Text, e.Reason = err.Error(), "the gate does not run: "+err.Error()
		return e
	}
	e.Land.Tree, e.Land.Passed, e.Land.Score, e.Land.Rules = j.Tree, j.Passed, j.Score, j.Rules
	e.Reason, e.Text = j.Why, j.Feedback
	return e
}

// judge has the candidates of a landing stacked on the epic branch and the last one's tree judged.
func (x *dispatch) judge(ctx context.Context, s epic.State, d epic.Decision) (events []epic.Event) {
	if e := x.tip.look(ctx, s); e.Kind != epic.TipSeen || e.Reason != "" {
		return notLanded(e)
	}
	j, err := x.Lander.Judge(ctx, x.stack(s, d.Land))
	for _, c := range j.Conflicts {
		events = append(events, epic.Event{Kind: epic.LandingConflicted, Task: c.Task.ID, Attempt: c.Task.Attempt, Files: c.Files,
			Reason: "conflict in " + epic.FirstOf(c.Files), Text: conflictText(c.Files, s.Tip), Land: &epic.Land{Old: s.Tip}})
	}
	for _, r := range j.Refused {
		events = append(events, epic.Event{Kind: epic.LandingRefused, Task: r.Task.ID, Attempt: r.Task.Attempt, Code: epic.Protected, Land: &epic.Land{Old: s.Tip}, Files: r.Files,
			Reason: "it changes " + epic.FirstOf(r.Files) + ", which settles how work is judged or what runs",
			Text:   "Your work changes paths that no task may change by itself: " + strings.Join(r.Files, ", ") + ".\nLeave them as they are."})
	}
	if err != nil {
		return append(events, epic.Event{Kind: epic.LandingLost, Reason: err.Error()})
	}
	if len(j.Built) == 0 {
		return events
	}
	l := &epic.Land{Old: s.Tip, Tree: j.Tree, Passed: j.Passed, Score: j.Score, Rules: j.Rules, Took: j.Took, Log: j.Log,
		Files: j.Files, Added: j.Added, Deleted: j.Deleted}
	for _, b := range j.Built {
		l.Tasks, l.Commits = append(l.Tasks, b.Task), append(l.Commits, b.Candidate)
	}
	return append(events, epic.Event{Kind: epic.CandidateJudged, Land: l, Reason: j.Why, Text: j.Feedback})
}

func conflictText(files []string, tip epic.Commit) string {
	return fmt.Sprintf("Your work conflicts with what has landed since you began, in: %s.\n"+
		"Run `git merge %s`, resolve these files so that both changes are kept, and commit the merge.", strings.Join(files, ", "), tip)
}

// stack is what the lander is told of work that is to land.
func (x *dispatch) stack(s epic.State, l *epic.Land) land.Stack {
	st := land.Stack{Tip: s.Tip, Lease: x.lease, Candidates: l.Commits}
	for _, id := range l.Tasks {
		t := s.Task(id)
		a := t.Last()
		st.Tasks = append(st.Tasks, land.Task{ID: id, Attempt: a.Number, Title: t.Title, Head: a.Head, Accepted: a.Accepted != "" && a.Accepted == a.Head})
	}
	return st
}

// move has a judged stack put onto the epic branch.
func (x *dispatch) move(ctx context.Context, s epic.State, d epic.Decision) []epic.Event {
	if e := x.tip.look(ctx, s); e.Kind != epic.TipSeen || e.Reason != "" {
		return notLanded(e)
	}
	l := d.Land
	st := x.stack(s, l)
	st.Tip = l.Old
	m, err := x.Lander.Move(ctx, st)
	if err == nil {
		return []epic.Event{{Kind: epic.TaskLanded, Reason: m.Note, Land: &epic.Land{Tasks: l.Tasks, Commits: l.Commits, Old: l.Old,
			Files: m.Files, Added: m.Added, Deleted: m.Deleted, Secrets: m.Secrets}}}
	}
	lost := epic.Event{Kind: epic.LandingLost, Reason: err.Error()}
	if !errors.Is(err, git.ErrRefMoved) || x.Repo == nil {
		return []epic.Event{lost}
	}
	return x.leaseLost(ctx, lost)
}

// leaseLost answers for a move that another's branch or lease did not allow.
func (x *dispatch) leaseLost(ctx context.Context, lost epic.Event) []epic.Event {
	switch now, err := x.branch().at(ctx, x.lease.Name); {
	case err != nil || now == x.lease.Commit:
		return []epic.Event{lost}
	case now == "": // deleted, and taken by nobody: the lock is still ours
		if err := land.Renew(ctx, x.Repo, x.lease); err != nil {
			return []epic.Event{lost, machineFailed("taking the lease again", err)}
		}
		lost.Reason = "the reference of the lease was deleted, and is there again"
		return []epic.Event{lost}
	}
	why := "another orch has taken this epic over"
	return []epic.Event{lost, {Kind: epic.DrainStarted, Code: epic.Orphaned, Reason: why}, {Kind: epic.KillStarted, Reason: why}}
}

// notLanded answers for a landing that the epic branch does not allow now.
func notLanded(e epic.Event) []epic.Event {
	if e.Kind == epic.TipSeen {
		return []epic.Event{{Kind: epic.BranchHeld, Code: epic.CheckedOut, Reason: e.Reason}}
	}
	return []epic.Event{{Kind: epic.LandingLost, Reason: e.Reason}, e}
}

// mergeInto lands the finished epic on the branch that was asked for.
func (x *dispatch) mergeInto(ctx context.Context, s epic.State, d epic.Decision) epic.Event {
	branch, tip, title := s.Run.Limits.Into, d.Land.Commits[0], ""
	if t := s.Task(s.Epic); t != nil {
		title = t.Title
	}
	c, err := x.Lander.MergeInto(ctx, branch, tip, title)
	if err != nil {
		return epic.Event{Kind: epic.EpicNotLanded, Reason: err.Error()}
	}
	return epic.Event{Kind: epic.EpicLandedInto, Reason: branch, Land: &epic.Land{Commits: []epic.Commit{tip}, Old: c}}
}
