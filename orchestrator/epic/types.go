package epic

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/object"
	"github.com/beadsorch/orch/orchestrator/text"
)

// TaskID is the tracker's id of an issue: a task, or an epic.
type TaskID string

// String is the id as a person is shown it: one line, nothing in it that drives
// a terminal, not too long.
func (id TaskID) String() string { return text.Clause(string(id), 64) }

// TaskState says where a task is on its way. The strings are kept in files.
type TaskState string

// The states, and who moves a task on from each.
const (
	Waiting    TaskState = "waiting"    // its blockers, or a free place: Decide
	Running    TaskState = "running"    // its agent
	Queued     TaskState = "queued"     // the landing queue
	Validating TaskState = "validating" // the gate
	Landed     TaskState = "landed"     // nobody; a person who reopens it
	Parked     TaskState = "parked"     // a person
	Skipped    TaskState = "skipped"    // a person
)

// Ready is how a waiting task is shown when nothing but a free place is missing.
const Ready TaskState = "ready"

// Node is what the tracker says of one issue, as far as scheduling needs it.
type Node struct {
	ID        TaskID     `json:"id"`                   // in the tracker
	Title     string     `json:"title,omitempty"`      // one line
	Epic      bool       `json:"epic,omitempty"`       // an epic: never dispatched, closed when all below it is done
	Outside   bool       `json:"outside,omitempty"`    // not below this epic; known because something in it waits for it
	Held      bool       `json:"held,omitempty"`       // of a type that no agent works on (a gate, a message), or pinned
	Parent    TaskID     `json:"parent,omitempty"`     // the epic that it is directly below
	Status    string     `json:"status"`               // the tracker's own word
	Assignee  string     `json:"assignee,omitempty"`   // who has it there; "" nobody
	Agent     string     `json:"agent,omitempty"`      // from the label agent:<name>
	Priority  int        `json:"priority"`             // 0 is most urgent
	CreatedAt time.Time  `json:"created_at"`           // UTC
	Estimate  Minutes    `json:"estimate,omitempty"`   // the tracker's, 0 for none
	DeferTill time.Time  `json:"defer_until,omitzero"` // not ready before
	ClosedAt  time.Time  `json:"closed_at,omitzero"`   // zero while it is not closed
	ClosedBy  string     `json:"closed_by,omitempty"`  // "" when the tracker does not tell
	Needs     [][]TaskID `json:"needs,omitempty"`      // one of each row must be done first; inherited rows included
}

// Minutes is a whole number of minutes, the tracker's unit of an estimate.
type Minutes int

// Task is a node with what orch did about it.
type Task struct {
	Node
	State     TaskState `json:"state"`              // where it is on its way
	Attempts  []Attempt `json:"attempts,omitempty"` // oldest first; only the last can be open
	Charged   int       `json:"charged,omitempty"`  // attempts that count against the limit
	Usage               // since a person last released it
	NotBefore time.Time `json:"not_before,omitzero"` // back-off
	Code      Code      `json:"code,omitempty"`      // why it is parked
	Why       string    `json:"why,omitempty"`       // the same, in one clause
	Since     time.Time `json:"since,omitzero"`      // when State last changed
	Commit    Commit    `json:"commit,omitempty"`    // what landed it
	Told      string    `json:"told,omitempty"`      // the status that the tracker is known to have from us
	Deleted   bool      `json:"deleted,omitempty"`   // no longer in the tracker
	Limit     int       `json:"limit,omitempty"`     // iterations of an attempt, as a person has set it; 0: as its agent has it
	Doubted   bool      `json:"doubted,omitempty"`   // closed in the tracker by an agent, which is only its word
	Hints     []string  `json:"hints,omitempty"`     // answers and advice of a person, oldest first
	Give      string    `json:"give,omitempty"`      // what a person who skipped it wants in the tracker
}

// Commit is the full id of a commit of git.
type Commit = object.Commit

// Attempt is one try at a task, in one worktree, on one branch.
type Attempt struct {
	Number    int                     `json:"number"`               // from 1
	Iteration int                     `json:"iteration"`            // from 1
	Base      Commit                  `json:"base"`                 // what it began from
	Head      Commit                  `json:"head,omitempty"`       // "" until its agent has ended with something to land
	Started   time.Time               `json:"started"`              // UTC
	Ended     time.Time               `json:"ended,omitzero"`       // zero while it is open
	Agent     bool                    `json:"agent,omitempty"`      // its agent runs now
	Failure   Code                    `json:"failure,omitempty"`    // "" while it has not failed
	Feedback  string                  `json:"feedback,omitempty"`   // what the next iteration or attempt is told
	Why       string                  `json:"why,omitempty"`        // of the failure, in one clause
	Files     []string                `json:"files,omitempty"`      // in conflict
	Conflict  Commit                  `json:"conflict,omitempty"`   // the tip that it conflicts with
	Accepted  Commit                  `json:"accepted,omitempty"`   // the Head whose protected paths a person has accepted
	Session   string                  `json:"session,omitempty"`    // the client's id of the conversation
	Counted   int64                   `json:"counted,omitempty"`    // tokens that this attempt has counted of Session
	InSession bool                    `json:"in_session,omitempty"` // a session's model works on it, no process of orch's
	Holder    SessionHolder           `json:"holder,omitzero"`      // that session
	Handed    bool                    `json:"handed,omitempty"`     // its worktree and brief are there for the session
	Stopping  bool                    `json:"stopping,omitempty"`   // its agent is being interrupted
	Cleaned   bool                    `json:"cleaned,omitempty"`    // its worktree and branch are gone
	Worked    time.Duration           `json:"worked,omitempty"`     // time that its agents took, together
	Rounds    []iteration.Entry       `json:"rounds,omitempty"`     // what its agent's rules said after each turn
	Gate      []iteration.RuleOutcome `json:"gate,omitempty"`       // what the gate said last of its work, alone or in a green stack
	Usage                             // of its agents
}

// Usage is what agents used.
type Usage struct {
	Tokens  int64   `json:"tokens,omitempty"`   // in and out
	CostUSD float64 `json:"cost_usd,omitempty"` // as their client estimates it
}

// add counts what one more agent used.
func (u *Usage) add(more Usage) {
	u.Tokens += more.Tokens
	u.CostUSD += more.CostUSD
}

// over says in a clause what of a budget is used up; "" while nothing is. A part that is 0
// has no limit.
func (u Usage) over(budget Usage) string {
	switch {
	case budget.CostUSD > 0 && u.CostUSD >= budget.CostUSD:
		return fmt.Sprintf("used $%.2f of $%.2f", u.CostUSD, budget.CostUSD)
	case budget.Tokens > 0 && u.Tokens >= budget.Tokens:
		return fmt.Sprintf("used %d of %d tokens", u.Tokens, budget.Tokens)
	}
	return ""
}

// Open reports whether the attempt has not ended.
func (a Attempt) Open() bool { return a.Number > 0 && a.Ended.IsZero() }

// Last returns the newest attempt; its Number is 0 when there was none.
func (t *Task) Last() Attempt {
	if len(t.Attempts) == 0 {
		return Attempt{}
	}
	return t.Attempts[len(t.Attempts)-1]
}

// Done reports whether what waits for the task may go on: it landed, or the
// tracker counts it as done (bd: closed or pinned).
func (t *Task) Done() bool {
	return t.State == Landed || t.closed() || t.Status == statusPinned
}

// closed reports whether the tracker says so and it is believed.
func (t *Task) closed() bool { return t.Status == statusClosed && !t.Doubted }

// Dispatchable reports whether the issue is one that agents are given at all.
func (t *Task) Dispatchable() bool { return !t.Epic && !t.Outside && !t.Held }

// The tracker's statuses that the rules here speak of (bd's own words).
const (
	statusOpen       = "open"
	statusInProgress = "in_progress"
	statusBlocked    = "blocked"
	statusClosed     = "closed"
	statusPinned     = "pinned"
)

// Limits are the settings that Decide reads. They are written into the journal
// at each start, so that a replay decides as the run did.
type Limits struct {
	MaxParallel    int            `json:"max_parallel"`         // agents at a time
	Attempts       int            `json:"attempts"`             // charged attempts before a task is parked
	Iterations     int            `json:"iterations"`           // of one attempt, before it is parked
	ByAgent        map[string]int `json:"by_agent,omitempty"`   // Iterations of tasks whose label names an agent
	MaxIterations  int            `json:"max_iterations"`       // agents started in one run; 0: 100, or what all attempts may come to where that is more
	MaxDuration    time.Duration  `json:"max_duration"`         // of one run; 0: none
	MaxFailures    int            `json:"max_failures"`         // tasks parked in a row before the run stops; 0: none
	Budget         Usage          `json:"budget,omitzero"`      // of one run; 0: none
	TaskBudget     Usage          `json:"task_budget,omitzero"` // of all attempts at one task; 0: none
	SurveyEvery    time.Duration  `json:"survey_every"`         // how often the tracker is read
	Resumes        bool           `json:"resumes"`              // the harness can go on with a conversation
	AllowRedBase   bool           `json:"allow_red_base"`       // go on although the gate is red on the untouched base
	TakeOver       bool           `json:"take_over,omitempty"`  // although another clone has claimed the epic
	Into           string         `json:"into,omitempty"`       // branch that the finished epic is landed on
	Actor          string         `json:"actor"`                // who claims, in the tracker
	PoolBackOff    time.Duration  `json:"pool_back_off"`        // cool-down when a rate limit names no time
	CrashBackOff   time.Duration  `json:"crash_back_off"`       // first wait after a crash; doubles
	BreakerBackOff time.Duration  `json:"breaker_back_off"`     // wait before the probe of an agent that could not start
}

// iterations is how many one attempt at a task may have.
func (l Limits) iterations(t *Task) int {
	if t.Limit > 0 {
		return t.Limit
	}
	if n, ok := l.ByAgent[t.Agent]; ok {
		return n
	}
	return l.Iterations
}

// Run is one life of the orchestrator.
type Run struct {
	Number     int           `json:"number"`               // from 1, over the whole journal
	Mode       Mode          `json:"mode"`                 // what it is for
	Holder     SessionHolder `json:"holder,omitzero"`      // the session that it was started from
	Started    time.Time     `json:"started"`              // UTC
	Ended      time.Time     `json:"ended,omitzero"`       // zero while it goes on
	Limits     Limits        `json:"limits"`               // the settings that it goes by
	Paused     bool          `json:"paused,omitempty"`     // no agent starts, until a person says go on
	Drain      Code          `json:"drain,omitempty"`      // why no new work is taken: a limit, or INTERRUPTED
	DrainWhy   string        `json:"drain_why,omitempty"`  // in a clause
	Kill       bool          `json:"kill,omitempty"`       // agents are interrupted too
	Iterations int           `json:"iterations,omitempty"` // agents started, each iteration of an attempt being one
	GoodEnds   int           `json:"good_ends,omitempty"`  // agents that ended by themselves
	Usage                    // of all agents
	Failures   int           `json:"failures,omitempty"`   // tasks parked since the last landing
	Faults     int           `json:"faults,omitempty"`     // of the machine, in a row
	FaultWhy   string        `json:"fault_why,omitempty"`  // the newest of them
	FaultUntil time.Time     `json:"fault_until,omitzero"` // nothing that failed for it is tried before
	FastExits  []FastExit    `json:"fast_exits,omitempty"` // since an agent last ended well
	Probing    bool          `json:"probing,omitempty"`    // the breaker has opened once: one agent at a time
	Promise    string        `json:"promise,omitempty"`    // how it ended

	Settings map[string]string `json:"settings,omitempty"` // all that it goes by, by key
}

// ReadAt is when the tracker's newest reading that differed from what was known
// came in; zero when it was never read.
func (s State) ReadAt() time.Time { return s.tracker.read }

// FastExit is an agent that ended at once and badly.
type FastExit struct {
	Task TaskID    `json:"task"` // whose agent it was
	At   time.Time `json:"at"`   // UTC
	Why  string    `json:"why"`  // in a clause
}

// Mode says what a run is for.
type Mode string

// The modes of a run.
const (
	Headless Mode = "run"  // orch starts the agents
	Hand     Mode = "next" // a session's model starts them: only claim, and make worktrees
	LandOne  Mode = "land" // land what is queued, and start nothing
)

// State is what replaying the journal gives. Its tasks are immutable: Apply
// replaces the one that it changes, so a copy of a State stays as it is.
type State struct {
	Epic     TaskID    `json:"epic"`              // whose run it is
	Tasks    []*Task   `json:"tasks"`             // by id
	Base     Commit    `json:"base"`              // the epic branch's first commit that is not ours
	Tip      Commit    `json:"tip"`               // where the last landing, or a person's word, left the epic branch
	Moved    Moved     `json:"moved,omitzero"`    // where it was found instead, while that is not settled
	Done     Commit    `json:"done,omitempty"`    // the tip with which a run last ended with all tasks closed
	Run      Run       `json:"run"`               // the newest one
	Queue    []TaskID  `json:"queue,omitempty"`   // next to land first
	Landing  Landing   `json:"landing,omitzero"`  // what is being landed now
	Window   int       `json:"window"`            // candidates that are gated together at most
	Gate     GateState `json:"gate,omitempty"`    // of the untouched base
	Cooldown time.Time `json:"cooldown,omitzero"` // no agent starts before
	Cooling  string    `json:"cooling,omitempty"` // why
	Cooled   int       `json:"cooled,omitempty"`  // cool-downs in a row
	Meta     string    `json:"meta,omitempty"`    // wanted, or the id of the issue that tells of repeated failures
	Taken    []string  `json:"taken,omitempty"`   // ids of requests that were taken, the newest last
	Wishes   []Wish    `json:"wishes,omitempty"`  // requests that somebody waits for
	Into     IntoState `json:"into,omitzero"`     // the branch that the epic is landed on at the end

	index   map[TaskID]int // of Tasks
	tip     tipState
	tracker trackerState
	cleans  map[TaskID]bool // worktrees that are being removed
	unclean map[TaskID]bool // and that could not be, in this run
	exited  map[TaskID]bool // agents whose process has ended, and whose work is being looked at

	answering  string          // the request that is being answered
	collecting map[TaskID]bool // what a session has done for them is being looked at
	looking    bool            // sessions are being looked for
	looked     time.Time       // when they were
}

// Landing is a stack of candidates between the gate and the epic branch.
type Landing struct {
	Tasks   []TaskID `json:"tasks,omitempty"`   // in the order in which they land
	Commits []Commit `json:"commits,omitempty"` // one a task, each on top of the one before; set once judged green
	Old     Commit   `json:"old,omitempty"`     // the tip that they were built on
	Moving  bool     `json:"moving,omitempty"`  // the branch is being moved

	Lost      int       `json:"lost,omitempty"`      // landings in a row that failed though the work did not
	NotBefore time.Time `json:"not_before,omitzero"` // back-off
	Why       string    `json:"why,omitempty"`       // the newest loss, in a clause
}

// IntoState is how far the finished epic has come on the branch that was asked for.
type IntoState struct {
	Busy   bool   `json:"busy,omitempty"`   // it is under way
	Done   Commit `json:"done,omitempty"`   // the tip of the epic branch that is on Branch
	Branch string `json:"branch,omitempty"` // that Done is on
	Why    string `json:"why,omitempty"`    // why it is not
}

// GateState is what is known of the gate on the untouched base.
type GateState string

// What the gate said of the untouched base.
const (
	GateUnknown  GateState = ""
	GateChecking GateState = "checking"
	GateGreen    GateState = "green"
	GateRed      GateState = "red"
)

// trackerState is what a run knows of the tracker; it is not journaled, since a
// new run reads the tracker anew.
type trackerState struct {
	busy     bool          // one call at a time
	read     time.Time     // the newest survey of this run
	wrote    time.Time     // the newest answer to a write
	cost     time.Duration // of the newest survey
	stale    bool          // something was written, landed or ended since
	failures int           // in a row
	notYet   time.Time
	code     Code // of the newest failure, where it is known
	claimed  bool // the epic was ours in this run
	why      string
	refused  map[refusal]string // writes that the tracker refuses, with its words: not tried again until it changes
}

// refusal is a kind of change to an issue that the tracker did not make.
type refusal struct {
	id   TaskID
	kind string
}

// Task returns the task with the id, nil when there is none.
func (s State) Task(id TaskID) *Task {
	if i, ok := s.index[id]; ok {
		return s.Tasks[i]
	}
	return nil
}
