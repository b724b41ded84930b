package land

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/setup"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Options is what a Lander is made of.
type Options struct {
	// Epic is the epic that is landed on.
	Epic epic.TaskID
	// Dir is the epic's folder, for the gate's output.
	Dir string
	// Branch is the full name of the epic branch.
	Branch string
	// Repo is the repository.
	Repo *git.Repo
	// Checkouts has the files of a candidate.
	Checkouts Checkouts
	// Run runs the commands of the gate.
	Run command.Runner
	// SetUp makes the folder of a candidate ready to be judged, and gives what runs the commands of the gate there, and what removes
	// what it has made beside; nil has Run run them. It fails with a [*setup.Error] where a command of the setup does.
	SetUp func(ctx context.Context, dir string) (run command.Runner, done func() error, err error)
	// Bounded says that Run puts them into a sandbox.
	Bounded bool
	// Offline says that they have no network but a loopback of their own.
	Offline bool
	// Env is the whole environment of a command of the gate.
	Env []string
	// Gate is what has to hold before work lands.
	Gate []validation.Rule
	// Before are commands that run before the gate does: what they name is protected as what it names.
	Before []validation.Rule
	// Withheld is why the gate may not run; nil where it may.
	Withheld error
	// Protect are globs of paths that no task changes by itself, beside the defaults.
	Protect []string
	// AllowProtected are globs of those that a task may change.
	AllowProtected map[epic.TaskID][]string
	// Redact takes secrets out of all that is kept; nil knows none.
	Redact *redact.Redactor
	// Now is the clock.
	Now func() time.Time
}

// Lander judges stacks of work with the gate and moves the epic branch. It is safe for
// concurrent use; the gate runs once at a time.
type Lander struct {
	Options
	verify  sync.Mutex // the one worktree that the gate runs in
	guarded protection
	differs difference
}

// difference is the last that git was asked for.
type difference struct {
	mu       sync.Mutex
	from, to git.Commit
	files    []git.FileChange
}

// NewLander checks nothing and makes nothing.
func NewLander(o Options) *Lander { return &Lander{Options: o} }

// Judge builds the candidates of a stack on its tip, and has the gate judge the last one's tree.
// A stack without tasks is the tip itself. What was found before it fails is in the Judgement. It
// fails with a [*StarvedError] for faults of the machine, when the gate cannot be run, and as git does.
func (l *Lander) Judge(ctx context.Context, s Stack) (j Judgement, err error) {
	began := l.Now()
	top, scope := s.Tip, validation.OfTree
	if len(s.Tasks) > 0 {
		if top, err = l.build(ctx, s, &j); err != nil || len(j.Built) == 0 {
			return j, err
		}
		scope = validation.OfChange
	}
	var files []string
	if len(s.Tasks) > 0 {
		j.Size, files = l.measure(ctx, s.Tip, top)
	}
	v, tree, err := l.runRules(ctx, top, scope, files, &j)
	if failed := l.setupOfWork(ctx, s, err); failed != nil {
		v, err = *failed, nil
	}
	why, ok := l.starvedBy(v, err)
	if !ok && len(s.Tasks) == 0 { // no agent's work is in it
		why, ok = fault.Damaged(err)
	}
	if ok {
		return j, &StarvedError{Why: why}
	}
	if err != nil {
		return j, err
	}
	j.Tree, j.Passed, j.Score, j.Rules, j.Took = tree, v.Passed, v.Score, iteration.Outcomes(v), l.Now().Sub(began)
	if j.Why = v.Why(); !v.Passed {
		j.Feedback = v.Feedback()
	}
	if hint := validation.RefusalHint(j.Feedback); l.Bounded && !v.Passed && len(s.Tasks) > 0 && hint != "" {
		j.Why += "; " + hint
	}
	if !v.Passed && len(s.Tasks) == 0 { // no work of an agent's is in it
		j.Why += l.hint(j.Why + j.Feedback)
	}
	j.Log = l.keepVerdict(s, j.Built, v)
	return j, nil
}

// hint is what of the sandbox may be why the gate is red on a base, as clauses to add; "" where nothing looks so.
func (l *Lander) hint(said string) (more string) {
	network, bounds := validation.NetworkHint(said), validation.BoundsHint(said)
	if l.Offline && network != "" {
		return "; " + network
	}
	if l.Bounded && bounds != "" {
		return "; " + bounds
	}
	return ""
}

// build stacks the candidates on the tip. Work that conflicts with the tip itself is reported; work
// that conflicts only with what is below it in the stack waits its turn.
func (l *Lander) build(ctx context.Context, s Stack, j *Judgement) (top git.Commit, err error) {
	top = s.Tip
	for _, t := range s.Tasks {
		c, err := Build(ctx, l.Repo, top, t.Head, Message{Epic: string(l.Epic), Task: string(t.ID), Attempt: t.Attempt, Title: t.Title, Sandbox: t.Sandbox})
		var conflict *ConflictError
		switch {
		case errors.As(err, &conflict) && top == s.Tip:
			j.Conflicts = append(j.Conflicts, Conflict{Task: t, Files: conflict.Files})
			continue
		case errors.As(err, &conflict):
			continue
		case err != nil:
			return top, err
		}
		refused, err := l.refuse(ctx, t, top, c.Commit)
		if err != nil {
			return top, err
		}
		if len(refused) > 0 {
			j.Refused = append(j.Refused, Refusal{Task: t, Files: refused})
			continue
		}
		top = c.Commit
		j.Built = append(j.Built, Built{Task: t.ID, Candidate: c.Commit})
	}
	return top, nil
}

// runRules runs the gate on exactly c, in the verify worktree, as far as the scope goes: what an
// agent says is no matter of a commit.
func (l *Lander) runRules(ctx context.Context, c git.Commit, scope validation.Scope, files []string, j *Judgement) (validation.Verdict, string, error) {
	tree, err := l.Repo.Tree(ctx, c)
	if err != nil {
		return validation.Verdict{}, "", err
	}
	gate := validation.Within(l.Gate, scope)
	if len(gate) == 0 {
		return validation.Verdict{Passed: true, Score: 100}, tree, nil
	}
	if l.Withheld != nil {
		return validation.Verdict{}, "", l.Withheld
	}
	l.verify.Lock()
	defer l.verify.Unlock()
	dir, err := l.Checkouts.Checkout(ctx, c)
	if err != nil {
		return validation.Verdict{}, "", err
	}
	inner, done := l.Run, func() error { return nil }
	if l.SetUp != nil {
		if inner, done, err = l.SetUp(ctx, dir); err != nil {
			return validation.Verdict{}, tree, err
		}
	}
	var survivors sync.Mutex // rules may run at a time
	run := func(ctx context.Context, c command.Cmd) (command.Result, error) {
		res, err := inner(ctx, c)
		survivors.Lock()
		defer survivors.Unlock()
		j.Survivors = append(j.Survivors, res.Survivors...)
		return res, err
	}
	v, err := validation.Judge(ctx, run, gate, validation.Input{Dir: dir, Env: l.Env, Files: files})
	return v, tree, errors.Join(err, done())
}

// setupOfWork is the verdict on work with which the setup fails, where it does not fail without; nil where it is not the work that is to
// blame.
func (l *Lander) setupOfWork(ctx context.Context, s Stack, err error) *validation.Verdict {
	var failed *setup.Error
	if len(s.Tasks) == 0 || !errors.As(err, &failed) {
		return nil
	}
	l.verify.Lock()
	defer l.verify.Unlock()
	dir, err := l.Checkouts.Checkout(ctx, s.Tip)
	if err != nil {
		return nil
	}
	_, done, err := l.SetUp(ctx, dir)
	if err != nil || done() != nil {
		return nil
	}
	return &validation.Verdict{Checks: []validation.Check{failed.Check}}
}

// starvedBy reports whether a verdict is due to the machine rather than to the work: the gate could not
// be run, or was red and the disk is full, or one of its programs says that it could start no process, and few may
// be started.
func (l *Lander) starvedBy(v validation.Verdict, err error) (why string, ok bool) {
	if err != nil || v.Passed {
		return fault.Machine(err)
	}
	if why, ok := fault.Machine(v.Err()); ok {
		return why, true
	}
	for _, c := range v.Checks {
		if why, ok := fault.NoProcess(c.Why + "\n" + c.Output); ok && !c.Passed {
			return why, true
		}
	}
	return fault.NoRoom(l.Env, l.Checkouts.VerifyDir(), l.Repo.CommonDir())
}

// measure says how much changes between two commits, and lists the files.
func (l *Lander) measure(ctx context.Context, from, to git.Commit) (size Size, files []string) {
	changes, err := l.difference(ctx, from, to)
	if err != nil {
		return size, nil // a figure for people; nothing rests on it
	}
	for _, f := range changes {
		files = append(files, f.Path)
		size.Added, size.Deleted = size.Added+f.Added, size.Deleted+f.Deleted
	}
	size.Files = len(files)
	return size, files
}

// difference is what changes between two commits. It is asked for as a candidate is built, judged and landed, and git
// is asked once.
func (l *Lander) difference(ctx context.Context, from, to git.Commit) ([]git.FileChange, error) {
	l.differs.mu.Lock()
	defer l.differs.mu.Unlock()
	if d := &l.differs; d.from == from && d.to == to {
		return d.files, nil
	}
	files, err := l.Repo.ChangedFiles(ctx, from, to)
	if err == nil {
		l.differs.from, l.differs.to, l.differs.files = from, to, files
	}
	return files, err
}

// keepVerdict writes the gate's output beside each attempt's log, for people;
// the path of the first is returned, "" when it could not be written.
func (l *Lander) keepVerdict(s Stack, built []Built, v validation.Verdict) (first string) {
	if len(built) == 0 {
		return ""
	}
	files, err := epicdir.Open(l.Dir)
	if err != nil {
		return ""
	}
	defer files.Close()
	var body strings.Builder
	for _, c := range v.Checks {
		fmt.Fprintf(&body, "== %s: %s (%s)\n%s\n", c.Rule, passedWord(c), c.Why, c.Output)
	}
	text := []byte(l.Redact.String(body.String()))
	for i, b := range built {
		path := epicdir.Gate(epicdir.Attempt(l.Dir, b.Task, s.attempt(b.Task)))
		if err := files.WriteFile(path, text); err == nil && i == 0 {
			first = path
		}
	}
	return first
}

// attempt is the number of a task's attempt.
func (s Stack) attempt(id epic.TaskID) int {
	for _, t := range s.Tasks {
		if t.ID == id {
			return t.Attempt
		}
	}
	return 0
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

// Move puts a judged stack onto the epic branch, in one transaction that also verifies that the
// lease is still that of the stack. It fails as the package's Move does.
func (l *Lander) Move(ctx context.Context, s Stack) (m Moved, err error) {
	if len(s.Candidates) == 0 || len(s.Candidates) != len(s.Tasks) {
		return m, fmt.Errorf("a stack of %d tasks with %d candidates cannot land", len(s.Tasks), len(s.Candidates))
	}
	top := s.Candidates[len(s.Candidates)-1]
	if err := Move(ctx, l.Repo, Step{Branch: l.Branch, From: s.Tip, To: top, Lease: s.Lease, Pin: TipRef(string(l.Epic))}); err != nil {
		return m, err
	}
	var looks sync.WaitGroup // details for people, measured meanwhile; dependants wait
	looks.Go(func() { m.Size, _ = l.measure(ctx, s.Tip, top) })
	m.Secrets = l.secretsIn(ctx, s.Tip, top)
	looks.Wait()
	m.Note = l.notes(s)
	return m, nil
}

// MergeInto lands the tip of the finished epic on another branch, given by its short name, with
// the epic's title, and returns that branch's tip. It fails as [Into] does.
func (l *Lander) MergeInto(ctx context.Context, branch string, tip git.Commit, title string) (git.Commit, error) {
	m := Message{Epic: string(l.Epic), Task: string(l.Epic), Title: "Epic " + string(l.Epic)}
	if title != "" {
		m.Title = title
	}
	return Into(ctx, l.Repo, "refs/heads/"+branch, tip, m)
}
