package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// checkBase has the gate judge the epic branch as it is.
func (x *Effects) checkBase(ctx context.Context, s epic.State, d epic.Decision) []epic.Event {
	c := d.Land.Commits[0]
	v, tree, found, err := x.undisturbed(ctx, s, d, nil, func() (validation.Verdict, string, error) {
		return x.judge(ctx, c, validation.OfTree, nil)
	})
	return append(found, x.baseChecked(c, v, tree, err))
}

// baseChecked is the gate's word on the epic branch.
func (x *Effects) baseChecked(c epic.Commit, v validation.Verdict, tree string, err error) epic.Event {
	if why, ok := x.starved(v, err); ok {
		return epic.Event{Kind: epic.MachineFailed, Code: epic.Machine, Reason: "the gate: " + why}
	}
	if err != nil {
		return epic.Event{Kind: epic.BaseChecked, Land: &epic.Land{Commits: []epic.Commit{c}}, Text: err.Error(), Reason: "the gate does not run: " + err.Error()}
	}
	e := epic.Event{Kind: epic.BaseChecked, Land: &epic.Land{Commits: []epic.Commit{c}, Tree: tree, Passed: v.Passed, Score: v.Score, Rules: iteration.Outcomes(v)}, Text: v.Feedback()}
	e.Reason = why(v)
	return e
}

// judge runs the gate on exactly c, in the verify worktree, as far as the scope goes: what an
// agent says is no matter of a commit.
func (x *Effects) judge(ctx context.Context, c epic.Commit, scope validation.Scope, files []string) (validation.Verdict, string, error) {
	tree, err := x.Repo.Tree(ctx, c)
	if err != nil {
		return validation.Verdict{}, "", err
	}
	gate := validation.Within(x.Gate, scope)
	if len(gate) == 0 {
		return validation.Verdict{Passed: true, Score: 100}, tree, nil
	}
	if x.Withheld != nil {
		return validation.Verdict{}, "", x.Withheld
	}
	x.verify.Lock()
	defer x.verify.Unlock()
	dir, err := x.Store.Checkout(ctx, c)
	if err != nil {
		return validation.Verdict{}, "", err
	}
	run := func(ctx context.Context, c command.Cmd) (command.Result, error) {
		res, err := x.Proc.RunGuarded(ctx, c)
		x.left(res.Survivors)
		return res, err
	}
	v, err := validation.Judge(ctx, run, gate, validation.Input{Dir: dir, Env: x.GateEnv, Files: files})
	return v, tree, err
}

// left notes processes of the gate that could not be ended.
func (x *Effects) left(pids []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gateLeft = append(x.gateLeft, pids...)
}

// starved reports whether a verdict is the machine's rather than the gate's: the gate could not
// be run, or was red and the disk is full.
func (x *Effects) starved(v validation.Verdict, err error) (why string, ok bool) {
	if err != nil || v.Passed {
		return fault.Machine(err)
	}
	if why, ok := fault.Machine(v.Err()); ok {
		return why, true
	}
	return x.diskFull(x.Store.VerifyDir(), x.GateEnv)
}

// diskFull reports whether there is no room left where something works that was started in dir
// with env: there, in the repository, or in its folder for temporary files.
func (x *Effects) diskFull(dir string, env []string) (why string, ok bool) {
	dirs := []string{dir, x.Repo.CommonDir()}
	for _, e := range env {
		if tmp, is := strings.CutPrefix(e, "TMPDIR="); is && filepath.IsAbs(tmp) {
			dirs = append(dirs, tmp)
		}
	}
	for _, dir := range dirs {
		if why, ok := fault.DiskFull(dir); ok {
			return why, true
		}
	}
	return "", false
}

// why is the verdict in one clause: the first rule that did not pass, and the
// line of its output that says most.
func why(v validation.Verdict) string {
	for _, c := range v.Checks {
		if !c.Passed {
			return fmt.Sprintf("%s: %s", c.Rule, cmp.Or(telling(c.Output), text.FirstLine(c.Why, "failed")))
		}
	}
	return ""
}

// telling is the first line of a command's output that sounds like the reason
// of a failure, else its last line.
func telling(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		for _, word := range []string{"error", "fail", "panic", "want", "expect", "missing", "undefined"} {
			if strings.Contains(lower, word) {
				return text.FirstLine(line, "")
			}
		}
		if line != "" {
			last = line
		}
	}
	return text.FirstLine(last, "")
}

// gate stacks the candidates of a landing on the epic branch and has the last
// one's tree judged. A candidate that conflicts with the branch itself is told
// so; one that conflicts only with those before it in the stack waits its turn.
func (x *Effects) gate(ctx context.Context, s epic.State, d epic.Decision) (events []epic.Event) {
	began := x.Now()
	if e := x.look(ctx, s); e.Kind != epic.TipSeen || e.Reason != "" {
		return notLanded(e)
	}
	old := s.Tip
	l := &epic.Land{Old: old}
	top := old
	for _, id := range d.Land.Tasks {
		c, err := land.Build(ctx, x.Repo, top, s.Task(id).Last().Head, x.message(s, id))
		var conflict *land.ConflictError
		switch {
		case errors.As(err, &conflict) && top == old:
			events = append(events, epic.Event{Kind: epic.LandingConflicted, Task: id, Attempt: s.Task(id).Last().Number, Files: conflict.Files,
				Reason: "conflict in " + epic.FirstOf(conflict.Files), Text: conflictText(conflict, old), Land: &epic.Land{Old: old}})
		case errors.As(err, &conflict):
		case err != nil:
			return append(events, epic.Event{Kind: epic.LandingLost, Reason: err.Error()})
		default:
			refused, err := x.refuse(ctx, s.Task(id), top, c.Commit)
			if err != nil {
				return append(events, epic.Event{Kind: epic.LandingLost, Reason: err.Error()})
			}
			if refused != nil {
				events = append(events, *refused)
				continue
			}
			top = c.Commit
			l.Tasks, l.Commits = append(l.Tasks, id), append(l.Commits, c.Commit)
		}
	}
	if len(l.Tasks) == 0 {
		return events
	}
	files, own := x.measure(ctx, l, old, top), slices.Clone(l.Commits)
	for _, id := range l.Tasks {
		own = append(own, s.Task(id).Last().Head)
	}
	v, tree, found, err := x.undisturbed(ctx, s, d, own, func() (validation.Verdict, string, error) {
		return x.judge(ctx, top, validation.OfChange, files)
	})
	events = append(events, found...)
	if why, ok := x.starved(v, err); ok {
		return append(events, epic.Event{Kind: epic.LandingLost, Reason: "the gate: " + why})
	}
	if err != nil {
		return append(events, epic.Event{Kind: epic.LandingLost, Reason: err.Error()})
	}
	l.Tree, l.Passed, l.Score, l.Rules, l.Took = tree, v.Passed, v.Score, iteration.Outcomes(v), x.Now().Sub(began)
	l.Log = x.keepVerdict(s, l.Tasks, v)
	return append(events, epic.Event{Kind: epic.CandidateJudged, Land: l, Reason: why(v), Text: failedText(v)})
}

// measure fills in how much a stack changes, and lists the files.
func (x *Effects) measure(ctx context.Context, l *epic.Land, from, to epic.Commit) (files []string) {
	changes, err := x.Repo.ChangedFiles(ctx, from, to)
	if err != nil {
		return nil // a figure for people; nothing rests on it
	}
	for _, f := range changes {
		files = append(files, f.Path)
		l.Added, l.Deleted = l.Added+f.Added, l.Deleted+f.Deleted
	}
	l.Files = len(files)
	return files
}

func failedText(v validation.Verdict) string {
	if v.Passed {
		return ""
	}
	return v.Feedback()
}

// keepVerdict writes the gate's output beside each attempt's log, for people;
// the path of the first is returned, "" when it could not be written.
func (x *Effects) keepVerdict(s epic.State, tasks []epic.TaskID, v validation.Verdict) (first string) {
	var body strings.Builder
	for _, c := range v.Checks {
		fmt.Fprintf(&body, "== %s: %s (%s)\n%s\n", c.Rule, passedWord(c), c.Why, c.Output)
	}
	for i, id := range tasks {
		path := filepath.Join(x.attemptDir(id, s.Task(id).Last().Number), "gate.log")
		if err := x.files.WriteFile(path, []byte(x.Redact.String(body.String()))); err == nil && i == 0 {
			first = path
		}
	}
	return first
}

func passedWord(c validation.Check) string {
	switch {
	case c.Passed:
		return "passed"
	case c.Errored:
		return "did not run"
	}
	return "failed"
}

func conflictText(c *land.ConflictError, old epic.Commit) string {
	return fmt.Sprintf("Your work conflicts with what has landed since you began, in: %s.\n"+
		"Run `git merge %s`, resolve these files so that both changes are kept, and commit the merge.", strings.Join(c.Files, ", "), old)
}

func (x *Effects) message(s epic.State, id epic.TaskID) land.Message {
	t := s.Task(id)
	return land.Message{Epic: string(s.Epic), Task: string(id), Attempt: t.Last().Number, Title: t.Title}
}

// move puts a judged stack onto the epic branch, in one transaction that also
// verifies that the lease is still ours.
func (x *Effects) move(ctx context.Context, s epic.State, d epic.Decision) []epic.Event {
	l := d.Land
	top := l.Commits[len(l.Commits)-1]
	if e := x.look(ctx, s); e.Kind != epic.TipSeen || e.Reason != "" {
		return notLanded(e)
	}
	err := land.Move(ctx, x.Repo, land.Step{Branch: x.Store.EpicBranch(), From: l.Old, To: top, Lease: x.lease, Pin: land.TipRef(string(s.Epic))})
	if err == nil {
		done := &epic.Land{Tasks: l.Tasks, Commits: l.Commits, Old: l.Old}
		var looks sync.WaitGroup // what people are told of it; the dependants wait
		looks.Go(func() { x.measure(ctx, done, l.Old, top) })
		secrets := x.secretsIn(ctx, l.Old, top)
		looks.Wait()
		done.Secrets = secrets
		return []epic.Event{{Kind: epic.TaskLanded, Land: done, Reason: x.noted(l)}}
	}
	lost := epic.Event{Kind: epic.LandingLost, Reason: err.Error()}
	if !errors.Is(err, git.ErrRefMoved) {
		return []epic.Event{lost}
	}
	switch now, err := x.tip(ctx, x.lease.Name); {
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
