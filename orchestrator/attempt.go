package orchestrator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/promise"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/worktree"
)

// fastExit is how quickly an agent has to end badly to count as one that does
// not start.
const fastExit = 5 * time.Second

// start makes the worktree of a new attempt and runs its agent in it. What an
// earlier attempt left behind is made reachable and removed first.
func (x *Effects) start(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event) bool) epic.Event {
	t := s.Task(d.Task)
	for _, a := range t.Attempts[:len(t.Attempts)-1] {
		if err := x.Store.Remove(ctx, string(t.ID), a.Number, a.Head); err != nil {
			return x.noStart(d, "clearing attempt "+strconv.Itoa(a.Number), err)
		}
	}
	if err := x.Store.Add(ctx, string(t.ID), d.Attempt, d.Agent.Base); err != nil {
		return x.noStart(d, "making the worktree", err)
	}
	if d.Agent.InSession {
		return x.handOver(s, d)
	}
	return x.iterate(ctx, s, d, tell)
}

// noStart is the answer when the agent never ran.
func (x *Effects) noStart(d epic.Decision, what string, err error) epic.Event {
	e := epic.Event{Kind: epic.AgentEnded, Task: d.Task, Attempt: d.Attempt, Code: epic.AgentCrashed, Reason: what + ": " + err.Error(), Agent: &epic.Agent{End: epic.EndedNoStart, Fast: true}}
	return blameMachine(e, what, err)
}

// blameMachine makes the end of an agent the machine's, where err is a fault of it, or a
// reference of orch's own was not what orch had left it at: no attempt is charged for that.
func blameMachine(e epic.Event, what string, err error) epic.Event {
	why, ok := fault.Machine(err)
	if errors.Is(err, git.ErrRefMoved) {
		why, ok = err.Error(), true
	}
	if ok {
		e.Agent.End, e.Code, e.Reason, e.Agent.Fast = epic.EndedMachine, epic.Machine, what+": "+why, false
	}
	return unsavedSize(e, err)
}

// excuse makes the end of an agent the machine's where the disk is full: what it wrote may be cut
// short without its having noticed. Its work is kept.
func (x *Effects) excuse(e epic.Event, dir string, env []string) epic.Event {
	if e.Agent.End != epic.EndedCrash && e.Agent.End != epic.EndedItself {
		return e
	}
	why, full := x.diskFull(dir, env)
	if !full {
		return e
	}
	e.Agent.End, e.Code, e.Agent.Fast = epic.EndedMachine, epic.Machine, false
	e.Reason = strings.TrimPrefix(e.Reason+"; "+why, "; ")
	return e
}

// iterate writes the brief, runs the agent to its end and looks at its work.
func (x *Effects) iterate(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event) bool) epic.Event {
	spec, env, err := x.prepare(s, d)
	if err != nil {
		return x.noStart(d, "preparing the brief", err)
	}
	launch, err := x.Harness.Launch(spec)
	if err != nil {
		return x.noStart(d, "starting the agent", err)
	}
	reader := x.Harness.Reader()
	began, log := x.Now(), filepath.Join(filepath.Dir(spec.BriefPath), fmt.Sprintf("output-%d.log", d.Agent.Iteration))
	p, err := x.Proc.Start(ctx, proc.Spec{
		Cmd:     command.Cmd{Dir: spec.Dir, Argv: launch.Argv, Env: append(env, launch.Env...), Stdin: launch.Stdin},
		Log:     log,
		Filter:  func(w io.Writer) io.WriteCloser { return x.Redact.Writer(w) },
		Files:   x.files,
		Output:  func(b []byte) { reader.Write(b) }, // never fails, by its contract
		Timeout: x.Patience.Task,
		Idle:    x.Patience.NoProgress,
		Moved:   x.moved(context.WithoutCancel(ctx), string(d.Task), d.Attempt),
	})
	if err != nil {
		return x.noStart(d, "starting the agent", err)
	}
	x.watch(d.Task, reader.Activity)
	exit := x.wait(ctx, p)
	for _, e := range survived(exit.Survivors, fmt.Sprintf("attempt %d at %s", d.Attempt, d.Task)) {
		tell(e)
	}
	for _, found := range x.inspect(ctx, d, tell) { // before git is asked about its work
		tell(found)
	}
	x.watch(d.Task, nil)
	out := reader.Outcome(exit.Code)
	if out.Usage.Whole {
		out.Usage.InputTokens -= tokensBefore(s.Task(d.Task), out.Session)
	}
	e := x.classify(d, exit, out)
	if e.Agent.End == epic.EndedCrash {
		e.Reason = withLastWords(x.files, e.Reason, log)
	}
	e.Agent.Took = x.Now().Sub(began)
	e.Agent.Fast = e.Agent.End == epic.EndedCrash && e.Agent.Took < fastExit || exit.Code == 126 || exit.Code == 127
	if e.Agent.End == epic.EndedItself {
		tell(epic.Event{Kind: epic.AgentExited, Task: d.Task, Attempt: d.Attempt}) // its place is free
	}
	e = x.round(ctx, s, d, x.excuse(x.harvest(ctx, s, d, e), spec.Dir, env), out.Text)
	if err := x.mark(ctx, s.Task(d.Task), d, e); err != nil {
		e.Reason = strings.TrimPrefix(e.Reason+"; its checkpoint: "+err.Error(), "; ")
	}
	return e
}

// survived names, in one event, processes that could not be ended.
func survived(pids []int, of string) []epic.Event {
	if len(pids) == 0 {
		return nil
	}
	const most = 10
	body := strings.Trim(fmt.Sprint(pids[:min(len(pids), most)]), "[]")
	if more := len(pids) - most; more > 0 {
		body += fmt.Sprintf(" and %d more", more)
	}
	return []epic.Event{{Kind: epic.LeftoverFound, Code: epic.Orphaned, Reason: "processes of " + of + " do not end: " + body}}
}

// maxLastWords is how much of the end of a log is looked at, in bytes.
const maxLastWords = 4 << 10

// withLastWords adds to a reason the last line that a crashed agent printed, unless it is in
// there, or is an event for a program: a client that does not start says why on stderr.
func withLastWords(files *private.Dir, reason, log string) string {
	f, err := files.Open(log)
	if err != nil {
		return reason
	}
	defer f.Close()
	end := make([]byte, maxLastWords)
	info, err := f.Stat()
	if err != nil {
		return reason
	}
	n, err := f.ReadAt(end, max(0, info.Size()-maxLastWords))
	if err != nil && !errors.Is(err, io.EOF) {
		return reason
	}
	last := ""
	for line := range strings.Lines(string(end[:n])) {
		if line = text.Clause(line, 160); line != "" && line[0] != '{' {
			last = line
		}
	}
	if last == "" || strings.Contains(reason, last) {
		return reason
	}
	return reason + ": " + last
}

// tokensBefore counts what a conversation had used before its newest process.
func tokensBefore(t *epic.Task, session string) (n int64) {
	for _, a := range t.Attempts {
		if a.Session == session && session != "" {
			n += a.Counted
		}
	}
	return n
}

// moved reports signs of life in the worktree since it was last asked.
func (x *Effects) moved(ctx context.Context, task string, n int) func() bool {
	since := x.Now()
	return func() bool {
		was := since
		since = x.Now()
		return x.Store.Fresh(ctx, task, n, was)
	}
}

func (x *Effects) watch(id epic.TaskID, activity func() string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if activity == nil {
		delete(x.activity, id)
		return
	}
	x.activity[id] = activity
}

// wait returns when the agent's process tree is gone; a context that ends
// interrupts it.
func (x *Effects) wait(ctx context.Context, p *proc.Process) proc.Exit {
	done := make(chan proc.Exit, 1)
	go func() { done <- p.Wait() }()
	select {
	case exit := <-done:
		return exit
	case <-ctx.Done():
		p.Stop(proc.Interrupted)
		return <-done
	}
}

// prepare writes the brief and gathers what the agent's process is given.
func (x *Effects) prepare(s epic.State, d epic.Decision) (harness.Spec, []string, error) {
	t := s.Task(d.Task)
	dir := x.attemptDir(t.ID, d.Attempt)
	brief, err := x.brief(s, t, d)
	if err != nil {
		return harness.Spec{}, nil, err
	}
	brief = x.Redact.String(brief)
	path := filepath.Join(dir, fmt.Sprintf("brief-%d.md", d.Agent.Iteration))
	if err := x.files.WriteFile(path, []byte(brief)); err != nil {
		return harness.Spec{}, nil, err
	}
	names := x.Store.Name(string(t.ID), d.Attempt)
	session := d.Agent.Session
	if session == "" {
		session = x.sessionID(s, d)
	}
	env := append([]string{
		"ORCH_EPIC=" + string(s.Epic), "ORCH_TASK=" + string(t.ID), "ORCH_ATTEMPT=" + strconv.Itoa(d.Attempt),
		"ORCH_ITERATION=" + strconv.Itoa(d.Agent.Iteration), "ORCH_ATTEMPT_DIR=" + dir,
		"ORCH_WORKTREE=" + names.Dir, "ORCH_BRANCH=" + shortBranch(names.Branch), "ORCH_BRIEF=" + path,
		"BD_ACTOR=" + s.Run.Limits.Actor, "BEADS_ACTOR=" + s.Run.Limits.Actor,
	}, x.AgentEnv...)
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], "\x00", "") // which a variable can not hold
	}
	return harness.Spec{Brief: brief, BriefPath: path, Dir: names.Dir, Session: session, Resume: d.Agent.Resume}, env, nil
}

// sessionID is a UUID for the client's conversation, the same for the same attempt.
func (x *Effects) sessionID(s epic.State, d epic.Decision) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", s.Epic, d.Task, d.Attempt, d.Agent.Iteration, s.Run.Started))
	h[6], h[8] = h[6]&0x0f|0x40, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// handOver leaves the worktree and the brief to a session's model.
func (x *Effects) handOver(s epic.State, d epic.Decision) epic.Event {
	if _, _, err := x.prepare(s, d); err != nil {
		return x.noStart(d, "preparing the brief", err)
	}
	return epic.Event{Kind: epic.AttemptHanded, Task: d.Task, Attempt: d.Attempt}
}

// classify reads how the process ended, by what happened to it first, then by
// its harness.
func (x *Effects) classify(d epic.Decision, exit proc.Exit, out harness.Outcome) epic.Event {
	e := epic.Event{Kind: epic.AgentEnded, Task: d.Task, Attempt: d.Attempt, Reason: out.Detail, Agent: &epic.Agent{
		End: epic.EndedItself, Session: out.Session, Iteration: d.Agent.Iteration, RetryAfter: out.RetryAfter,
		Usage: epic.Usage{Tokens: max(0, out.Usage.InputTokens+out.Usage.OutputTokens), CostUSD: out.Usage.CostUSD},
	}}
	if end, code, why := endOf(exit, x.Patience); end != "" {
		e.Agent.End, e.Code, e.Reason = end, code, why
		return e
	}
	e.Agent.End, e.Code = endOfKind(out.Kind)
	if e.Agent.End != epic.EndedItself {
		return e
	}
	if out.Kind == harness.ContextFull {
		e.Agent.Signal = epic.SignalFresh
		return e
	}
	if p, ok := promise.Find(out.Text); ok {
		e.Agent.Signal, e.Text = string(p.Signal), p.Reason
		if e.Text == "" {
			e.Text = p.Summary
		}
		e.Reason = p.Text
	}
	if p := e.Agent.Signal; (p == epic.SignalBlocked || p == epic.SignalEscalate) && e.Text == "" {
		e.Text = lastLines(out.Text)
	}
	return e
}

func endOf(exit proc.Exit, p Patience) (epic.End, epic.Code, string) {
	switch exit.Cause {
	case proc.Timeout:
		return epic.EndedTime, epic.NoProgress, fmt.Sprintf("over the limit of %s for one agent", p.Task)
	case proc.Idle:
		return epic.EndedIdle, epic.NoProgress, fmt.Sprintf("no sign of life for %s", p.NoProgress)
	case proc.Halted:
		return epic.EndedCrash, epic.AgentCrashed, "it was stopped (SIGSTOP), or the guard that it runs below was, and did not go on; all that it had started was ended"
	case proc.Interrupted, proc.Killed:
		return epic.EndedStopped, "", "stopped"
	}
	return "", "", ""
}

func endOfKind(k harness.Kind) (epic.End, epic.Code) {
	switch k {
	case harness.Ended, harness.ContextFull:
		return epic.EndedItself, ""
	case harness.RateLimited, harness.Unavailable:
		return epic.EndedLimit, epic.UsageLimit
	case harness.UsageLimit:
		return epic.EndedUsage, epic.UsageLimit
	case harness.Auth:
		return epic.EndedAuth, epic.AgentAuth
	}
	return epic.EndedCrash, epic.AgentCrashed
}

// harvest looks at what the agent left in git, whatever it said, and makes all
// of it reachable.
func (x *Effects) harvest(ctx context.Context, s epic.State, d epic.Decision, e epic.Event) epic.Event {
	ctx = context.WithoutCancel(ctx) // an interrupted agent's work is looked at too
	t := s.Task(d.Task)
	base := t.Last().Base
	w, err := x.Store.Harvest(ctx, string(t.ID), d.Attempt, base, salvageMessage(t, d))
	if err != nil {
		e.Reason = "looking at its work: " + err.Error()
		e.Agent.End, e.Code = epic.EndedCrash, epic.AgentCrashed
		return blameMachine(e, "looking at its work", err)
	}
	e.Agent.Head, e.Agent.Base, e.Agent.Salvaged, e.Agent.Unmerged = w.Head, base, w.Salvaged, w.Unmerged
	if len(w.Blocking) > 0 {
		e.Reason = strings.TrimPrefix(e.Reason+"; ", "; ") + "taken away, since git would have waited for it: " + strings.Join(w.Blocking[:min(len(w.Blocking), 5)], ", ")
	}
	if why := unreadable(w, x.Store.Name(string(t.ID), d.Attempt).Branch); why != "" {
		e.Reason = strings.TrimPrefix(e.Reason+"; "+why, "; ")
	}
	if over, yes := x.tooLarge(ctx, t, d, e, w); yes {
		return over
	}
	changes, err := x.Repo.ChangedFiles(ctx, base, w.Head)
	if err != nil {
		e.Reason = "looking at its work: " + err.Error()
		e.Agent.End, e.Code = epic.EndedCrash, epic.AgentCrashed
		return blameMachine(e, "looking at its work", err)
	}
	e.Agent.Changed = len(changes) > 0
	for _, f := range changes {
		e.Files = append(e.Files, f.Path)
		e.Agent.Added, e.Agent.Deleted = e.Agent.Added+f.Added, e.Agent.Deleted+f.Deleted
	}
	many := len(e.Files)
	if many > maxFiles {
		e.Files = e.Files[:maxFiles]
	}
	if over, yes := x.tooMany(ctx, t, d, e, many); yes {
		return over
	}
	return x.keep(ctx, t, d, e)
}

// unreadable says in a clause what of an attempt's commits cannot be read; "" where all can.
func unreadable(w worktree.Work, branch string) string {
	if len(w.Lost) == 0 {
		return ""
	}
	return fmt.Sprintf("commit %s of %s cannot be read and is lost (git cat-file -t %s tells why); its files count as they are in the worktree", w.Lost[0], shortBranch(branch), w.Lost[0])
}

// maxFiles is how many changed files an event names.
const maxFiles = 50

// keep makes the work of an attempt that will not land reachable from the attic.
func (x *Effects) keep(ctx context.Context, t *epic.Task, d epic.Decision, e epic.Event) epic.Event {
	if e.Agent.Changed && e.Agent.End != epic.EndedItself {
		if err := x.Store.Attic(ctx, string(t.ID), d.Attempt, e.Agent.Head); err != nil {
			e.Reason += "; keeping its work: " + err.Error()
		}
	}
	if !e.Agent.Changed && e.Agent.End == epic.EndedItself && e.Text == "" && e.Agent.Signal != epic.SignalFresh {
		e.Text = "You ended without changing any file. The task is done only when its work is committed on your branch."
	}
	return e
}

func salvageMessage(t *epic.Task, d epic.Decision) string {
	return fmt.Sprintf("%s: uncommitted work of attempt %d\n\nCommitted by orch: the agent ended without doing so.", t.ID, d.Attempt)
}

func shortBranch(ref string) string {
	const heads = "refs/heads/"
	if len(ref) > len(heads) {
		return ref[len(heads):]
	}
	return ref
}
