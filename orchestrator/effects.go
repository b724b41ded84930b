package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/tamper"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/worktree"
)

// Deps is what an Orchestrator works with.
type Deps struct {
	Epic     epic.TaskID       // its id in the tracker
	Dir      string            // where the epic's journal, logs and lock are
	Tracker  Tracker           // where the tasks are
	Repo     *git.Repo         // where the work lands
	Store    *worktree.Store   // where agents work
	Proc     *proc.System      // starts processes
	Marker   string            // what the environment of every process of this epic carries
	Harness  harness.Harness   // the agent's client
	Gate     []validation.Rule // what has to pass before work lands
	Withheld error             // why the gate may not run; nil where it may

	Protect        []string                 // globs of paths that no task changes by itself, beside the defaults
	AllowProtected map[epic.TaskID][]string // globs of those that a task may change in this run
	Settings       map[string]string        // all that the run goes by, for its journal
	AgentEnv       []string                 // the whole environment of an agent, but for the ORCH_ variables
	GateEnv        []string                 // the whole environment of a gate's command
	Roles          map[string]Role          // by agent, as tasks' labels name them; "" for others
	Hooks          Hooks                    // of tasks; nil for none
	Limits         epic.Limits              // what Decide goes by
	SessionGone    SessionGone              // tells which sessions are gone; nil: none is
	Redact         *redact.Redactor         // takes secrets out of all that is kept; nil knows none
	Patience       Patience                 // how long an agent may take
	Tasks          string                   // the command that agents and people use for the tracker, for the brief
	Now            func() time.Time         // the clock
}

// Hooks has the hooks of a task decide on a turn of its agent: iteration n, what the rules
// said, what the agent said, and which files have changed. The zero Hook is of a task that
// has none. It fails when they cannot be asked.
type Hooks func(ctx context.Context, task string, n int, v validation.Verdict, said string, files []string) (iteration.Hook, error)

// Role is what an agent of one name is to be.
type Role struct {
	Text  string            // as the people of the repository describe it; "" for nothing
	Rules []validation.Rule // asked after each of its turns, before the gate is
}

// role is the one of a task's agent.
func (x *Effects) role(t *epic.Task) Role {
	if r, known := x.Roles[cmp.Or(t.Agent, epic.DefaultAgent)]; known {
		return r
	}
	return x.Roles[""]
}

// Patience is how long an agent may take.
type Patience struct {
	Task       time.Duration // one agent process; 0: no limit
	NoProgress time.Duration // without any sign of life; 0: no limit
}

// Effects is the Executor that really does it: git, processes, tracker.
type Effects struct {
	Deps
	files    *private.Dir // that Dir is below
	guard    *tamper.Guard
	lease    git.Ref
	verify   sync.Mutex // the one worktree that the gate runs in
	guarded  protection
	mu       sync.Mutex // guards what follows
	index    *tracker.Index
	found    map[epic.TaskID]epic.Commit // on the epic branch, by its trailers, when this run began
	activity map[epic.TaskID]func() string
	gating   int // gates that run
}

// Execute does what d asks for. The context's end gives it up.
func (x *Effects) Execute(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event)) []epic.Event {
	if !startsOthers(d.Act) {
		return x.execute(ctx, s, d, tell)
	}
	gate := d.Act == epic.Gate || d.Act == epic.CheckBase
	x.gates(gate, 1)
	events := x.execute(ctx, s, d, tell)
	found := x.inspect(ctx, d)
	x.gates(gate, -1)
	return append(found, events...)
}

func (x *Effects) execute(ctx context.Context, s epic.State, d epic.Decision, tell func(epic.Event)) []epic.Event {
	switch d.Act {
	case epic.Survey:
		return x.survey(ctx, s)
	case epic.Write:
		return x.write(ctx, s, d.Changes)
	case epic.CheckBase:
		return []epic.Event{x.checkBase(ctx, d.Land.Commits[0])}
	case epic.Start:
		return []epic.Event{x.start(ctx, s, d, tell)}
	case epic.Iterate:
		return []epic.Event{x.iterate(ctx, s, d, tell)}
	case epic.Gate:
		return x.gate(ctx, s, d)
	case epic.Move:
		return x.move(ctx, s, d)
	case epic.Clean:
		return []epic.Event{x.clean(ctx, s, d)}
	case epic.Into:
		return []epic.Event{x.into(ctx, s, d)}
	case epic.LookAtTip:
		return []epic.Event{x.look(ctx, s)}
	case epic.Collect:
		return []epic.Event{x.collect(ctx, s, d)}
	case epic.Reply:
		return []epic.Event{x.answer(s, d.Request)}
	case epic.LookAtSessions:
		return x.lookAtSessions(ctx, s)
	case epic.PinTip:
		return x.pin(ctx, s)
	case epic.RestoreTip:
		return []epic.Event{x.restore(ctx, s, *d.Tip, d.Code)}
	}
	panic("no such act: " + string(d.Act))
}

// survey reads the tracker, and answers with what is new.
func (x *Effects) survey(ctx context.Context, s epic.State) []epic.Event {
	began := x.Now()
	issues, err := x.Tracker.Survey(ctx)
	if err != nil {
		return []epic.Event{trackerFailed(err)}
	}
	if _, err := epic.FindEpic(issues, x.Epic); err != nil {
		return []epic.Event{{Kind: epic.TrackerFailed, Reason: err.Error()}}
	}
	index := tracker.NewIndex(issues)
	x.mu.Lock()
	x.index = index
	x.mu.Unlock()
	r := epic.Difference(s, index, x.Now().Sub(began))
	return append([]epic.Event{{Kind: epic.TrackerRead, Read: r}}, x.landedBefore(s, r.Nodes)...)
}

// landedBefore finds tasks whose commit is on the epic branch although the
// journal, being younger, knows nothing of them.
func (x *Effects) landedBefore(s epic.State, nodes []epic.Node) (events []epic.Event) {
	for _, n := range nodes {
		commit, landed := x.found[n.ID]
		believed := n.Status == string(tracker.StatusClosed) && !strings.HasPrefix(n.ClosedBy, epic.ActorPrefix)
		if landed && s.Task(n.ID) == nil && !n.Epic && !n.Outside && !believed {
			events = append(events, epic.Event{Kind: epic.TaskFound, Task: n.ID, Land: &epic.Land{Commits: []epic.Commit{commit}},
				Reason: "its commit is on the epic branch already"})
		}
	}
	return events
}

// issue is the tracker's newest word on a task, texts and all.
func (x *Effects) issue(id epic.TaskID) tracker.Issue {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.index == nil {
		return tracker.Issue{ID: string(id)}
	}
	issue, _ := x.index.Issue(string(id))
	return issue
}

// write tells the tracker, and answers with what it has now.
func (x *Effects) write(ctx context.Context, s epic.State, changes []tracker.Change) []epic.Event {
	if slices.ContainsFunc(changes, func(c tracker.Change) bool { return c.Kind == tracker.Close }) {
		switch e := x.look(ctx, s); e.Kind { // closed means landed, and still there
		case epic.TipSeen:
		case epic.MachineFailed:
			return []epic.Event{{Kind: epic.TrackerFailed, Code: epic.Machine, Reason: e.Reason}}
		default:
			return []epic.Event{{Kind: epic.TrackerWritten}, e}
		}
	}
	outcomes, err := x.Tracker.Apply(ctx, s.Run.Limits.Actor, changes)
	if err != nil {
		return []epic.Event{trackerFailed(err)}
	}
	e := epic.Event{Kind: epic.TrackerWritten}
	var filed []epic.Event
	for i, o := range outcomes {
		c := changes[i]
		if c.Kind == tracker.Create {
			filed = append(filed, metaFiled(o))
			continue
		}
		e.Wrote = append(e.Wrote, x.wrote(s, c, o.Err))
	}
	return append([]epic.Event{e}, filed...)
}

// trackerFailed is the answer when the tracker gave none.
func trackerFailed(err error) epic.Event {
	e := epic.Event{Kind: epic.TrackerFailed, Reason: err.Error()}
	if _, ok := fault.Machine(err); ok {
		e.Code = epic.Machine
	}
	return e
}

func metaFiled(o tracker.Outcome) epic.Event {
	if o.Err != nil {
		return epic.Event{Kind: epic.MetaFiled, Text: "not filed", Reason: "the tracker refused the issue: " + o.Err.Error()}
	}
	return epic.Event{Kind: epic.MetaFiled, Text: o.ID, Reason: "filed " + o.ID + " in the tracker"}
}

func (x *Effects) wrote(s epic.State, c tracker.Change, err error) epic.Wrote {
	w := epic.Wrote{ID: epic.TaskID(c.ID), Kind: string(c.Kind)}
	var claimed *tracker.ClaimedError
	switch {
	case errors.As(err, &claimed):
		w.Refused, w.By = err.Error(), claimed.By
	case err != nil:
		w.Refused = err.Error()
	case c.Kind == tracker.Claim:
		w.Status, w.By = string(tracker.StatusInProgress), s.Run.Limits.Actor
	case c.Kind == tracker.Close:
		w.Status, w.By = string(tracker.StatusClosed), s.Run.Limits.Actor
	default:
		w.Status = string(c.Status)
	}
	return w
}

// clean removes the worktree and the branch of an attempt whose work is reachable.
func (x *Effects) clean(ctx context.Context, s epic.State, d epic.Decision) epic.Event {
	t := s.Task(d.Task)
	e := epic.Event{Kind: epic.AttemptCleaned, Task: d.Task, Attempt: d.Attempt}
	for _, a := range t.Attempts {
		if err := x.Store.Remove(ctx, string(t.ID), a.Number, a.Head); err != nil {
			e.Reason = err.Error()
		}
		if err := checkpoint.Prune(BookDir(x.Dir, t.ID, a.Number)); err != nil {
			e.Reason = err.Error()
		}
	}
	return e
}

// into lands the finished epic on the branch that was asked for.
func (x *Effects) into(ctx context.Context, s epic.State, d epic.Decision) epic.Event {
	branch := s.Run.Limits.Into
	m := land.Message{Epic: string(s.Epic), Task: string(s.Epic), Title: "Epic " + string(s.Epic)}
	if t := s.Task(s.Epic); t != nil && t.Title != "" {
		m.Title = t.Title
	}
	c, err := land.Into(ctx, x.Repo, "refs/heads/"+branch, d.Land.Commits[0], m)
	if err != nil {
		return epic.Event{Kind: epic.EpicNotLanded, Reason: err.Error()}
	}
	return epic.Event{Kind: epic.EpicLandedInto, Reason: branch, Land: &epic.Land{Commits: []epic.Commit{d.Land.Commits[0]}, Old: c}}
}

// attemptDir is where an attempt's brief and logs are.
func (x *Effects) attemptDir(task epic.TaskID, n int) string {
	return AttemptDir(x.Dir, task, n)
}

// AttemptDir is where an attempt's brief and logs are, below the epic's folder.
func AttemptDir(dir string, task epic.TaskID, n int) string {
	return filepath.Join(dir, "attempts", slug.Of(string(task)), strconv.Itoa(n))
}

// BookDir is where the checkpoints of an attempt are, and its loop where its agent keeps one.
func BookDir(dir string, task epic.TaskID, n int) string {
	return filepath.Join(AttemptDir(dir, task, n), checkpoint.Folder)
}

// Activity says what the agent of a task does now, in a clause; "" unknown.
func (x *Effects) Activity(id epic.TaskID) string {
	x.mu.Lock()
	f := x.activity[id]
	x.mu.Unlock()
	if f == nil {
		return ""
	}
	return f()
}
