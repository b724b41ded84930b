package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/setup"
)

// checkBase has the gate judge the epic branch as it is.
func (x *dispatch) checkBase(ctx context.Context, s epic.State, d epic.Decision) []epic.Event {
	c := d.Fact.(epic.BaseCheckStarted).Commit
	j, found, err := x.judgeUndisturbed(ctx, s, d, land.Stack{Tip: c})
	if why, ok := setupFailed(err); ok {
		return append(found, epic.Event{Fact: epic.BaseChecked{Commit: c, Stopped: true}, Reason: why}, epic.Event{Fact: epic.DrainStarted{}, Code: reason.SetupFailed, Reason: why})
	}
	if err != nil && context.Cause(ctx) != nil {
		return append(found, epic.Event{Fact: epic.BaseChecked{Commit: c, Stopped: true}, Reason: err.Error()})
	}
	return append(found, baseChecked(c, j, err))
}

// baseChecked is the gate's word on the epic branch.
func baseChecked(c epic.Commit, j land.Judgement, err error) epic.Event {
	var starved *land.StarvedError
	if errors.As(err, &starved) {
		return epic.Event{Fact: epic.MachineFailed{}, Code: reason.Machine, Reason: err.Error()}
	}
	f := epic.BaseChecked{Commit: c}
	if err != nil {
		f.Output = err.Error()
		return epic.Event{Fact: f, Reason: "the gate does not run: " + err.Error()}
	}
	f.Verdict, f.Output = epic.Verdict{Tree: j.Tree, Passed: j.Passed, Score: j.Score, Rules: j.Rules}, j.Feedback
	return epic.Event{Fact: f, Reason: j.Why}
}

// judge has the candidates of a landing stacked on the epic branch and the last one's tree judged.
func (x *dispatch) judge(ctx context.Context, s epic.State, d epic.Decision) []epic.Event {
	if e := x.tip.look(ctx, s); !mayLand(e) {
		return notLanded(e)
	}
	j, events, err := x.judgeUndisturbed(ctx, s, d, x.stack(s, epic.Candidates{Tasks: d.Fact.(epic.LandingStarted).Tasks}))
	for _, c := range j.Conflicts {
		events = append(events, epic.Event{Task: c.Task.ID, Attempt: c.Task.Attempt, Reason: "conflict in " + epic.FirstOf(c.Files),
			Fact: epic.LandingConflicted{Old: s.Tip, Files: c.Files, Feedback: conflictText(c.Files, s.Tip)}})
	}
	for _, r := range j.Refused {
		events = append(events, epic.Event{Task: r.Task.ID, Attempt: r.Task.Attempt, Code: reason.Protected,
			Reason: "it changes " + epic.FirstOf(r.Files) + ", which settles how work is judged or what runs",
			Fact: epic.LandingRefused{Old: s.Tip, Files: r.Files,
				Feedback: "Your work changes paths that no task may change by itself: " + strings.Join(r.Files, ", ") + ".\nLeave them as they are."}})
	}
	if why, ok := setupFailed(err); ok {
		events = append(events, epic.Event{Fact: epic.DrainStarted{}, Code: reason.SetupFailed, Reason: why})
	}
	if err != nil {
		return append(events, epic.Event{Fact: epic.LandingLost{}, Reason: err.Error()})
	}
	if len(j.Built) == 0 {
		return events
	}
	f := epic.CandidateJudged{Candidates: epic.Candidates{Old: s.Tip}, Size: epic.Size(j.Size), Output: j.Feedback,
		Verdict: epic.Verdict{Tree: j.Tree, Passed: j.Passed, Score: j.Score, Rules: j.Rules, Log: j.Log, Took: j.Took}}
	for _, b := range j.Built {
		f.Tasks, f.Commits = append(f.Tasks, b.Task), append(f.Commits, b.Candidate)
	}
	return append(events, epic.Event{Fact: f, Reason: j.Why})
}

// setupFailed reports whether the gate did not run since its worktree could not be made ready, and says why.
func setupFailed(err error) (why string, ok bool) {
	var failed *setup.Error
	if !errors.As(err, &failed) {
		return "", false
	}
	return failed.Error(), true
}

func conflictText(files []string, tip epic.Commit) string {
	return fmt.Sprintf("Your work conflicts with what has landed since you began, in: %s.\n"+
		"Run `git merge %s`, resolve these files so that both changes are kept, and commit the merge.", strings.Join(files, ", "), tip)
}

// stack is the lander's order for work that is to land.
func (x *dispatch) stack(s epic.State, l epic.Candidates) land.Stack {
	st := land.Stack{Tip: s.Tip, Lease: x.lease, Candidates: l.Commits}
	for _, id := range l.Tasks {
		t := s.Task(id)
		a := t.Last()
		bounds := a.Sandbox
		if a.InSession {
			bounds = epic.NoSandbox // what its client started is in none of orch's
		}
		st.Tasks = append(st.Tasks, land.Task{ID: id, Attempt: a.Number, Sandbox: bounds, Title: t.Title, Head: a.Head, Accepted: a.Accepted != "" && a.Accepted == a.Head})
	}
	return st
}

// move has a judged stack put onto the epic branch.
func (x *dispatch) move(ctx context.Context, s epic.State, d epic.Decision) []epic.Event {
	if e := x.tip.look(ctx, s); !mayLand(e) {
		return notLanded(e)
	}
	l := d.Fact.(epic.MoveStarted).Candidates
	st := x.stack(s, l)
	st.Tip = l.Old
	m, err := x.Lander.Move(ctx, st)
	if err == nil || x.tip.landed(context.WithoutCancel(ctx), l.Commits[len(l.Commits)-1]) { // or only the answer was lost
		return []epic.Event{{Fact: epic.TaskLanded{Candidates: l, Size: epic.Size(m.Size), Secrets: m.Secrets}, Reason: joinClauses(append([]string{m.Note}, s.LeftOut(l.Tasks)...))}}
	}
	lost := epic.Event{Fact: epic.LandingLost{}, Reason: err.Error()}
	if !errors.Is(err, git.ErrRefMoved) || x.Repo == nil {
		return []epic.Event{lost}
	}
	return x.leaseLost(ctx, lost)
}

// joinClauses puts clauses behind each other, as far as they say something.
func joinClauses(clauses []string) string {
	return strings.Join(slices.DeleteFunc(clauses, func(c string) bool { return c == "" }), "; ")
}

// leaseLost answers for a move that another's branch or lease did not allow.
func (x *dispatch) leaseLost(ctx context.Context, lost epic.Event) []epic.Event {
	switch now, err := x.branch().at(ctx, x.lease.Name); {
	case err != nil || now == x.lease.Commit:
		return []epic.Event{lost}
	case now == "" || !land.IsLease(ctx, x.Repo, string(x.Epic), now): // no run has taken it: the lock is still ours
		if err := land.Renew(ctx, x.Repo, x.lease, now); err != nil {
			return []epic.Event{lost, machineFailed("taking the lease again", err)}
		}
		lost.Reason = "the reference of the lease was deleted or moved, and is back"
		return []epic.Event{lost}
	}
	why := "another orch has taken this epic over"
	return []epic.Event{lost, {Fact: epic.DrainStarted{}, Code: reason.Orphaned, Reason: why}, {Fact: epic.InterruptStarted{}, Reason: why}}
}

// mayLand reports whether a look at the epic branch found it where it belongs, and free.
func mayLand(e epic.Event) bool {
	f, seen := e.Fact.(epic.TipSeen)
	return seen && f.Held == ""
}

// notLanded answers for a landing that the epic branch does not allow now.
func notLanded(e epic.Event) []epic.Event {
	if f, ok := e.Fact.(epic.TipSeen); ok {
		return []epic.Event{{Fact: epic.BranchHeld{Dir: f.Held, Busy: f.Busy}, Code: reason.CheckedOut, Reason: f.Held}}
	}
	return []epic.Event{{Fact: epic.LandingLost{}, Reason: e.Reason}, e}
}

// mergeInto lands the finished epic on the branch that was asked for.
func (x *dispatch) mergeInto(ctx context.Context, s epic.State, d epic.Decision) epic.Event {
	branch, tip, title := s.Run.Limits.Into, d.Fact.(epic.IntoStarted).Tip, ""
	if t := s.Task(s.Epic); t != nil {
		title = t.Title
	}
	c, err := x.Lander.MergeInto(ctx, branch, tip, title)
	if err != nil {
		return epic.Event{Fact: epic.EpicNotLanded{}, Reason: err.Error()}
	}
	return epic.Event{Fact: epic.EpicLandedInto{Branch: branch, Tip: tip, Commit: c}}
}
