package epic

import (
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// Limits are the settings that Decide reads. They are written into the journal
// at each start, so that a replay decides as the run did.
type Limits struct {
	MaxParallel    int            `json:"max_parallel"`                // agents at a time
	Attempts       int            `json:"attempts"`                    // charged attempts before a task is parked
	Iterations     int            `json:"iterations"`                  // of one attempt, before it is parked
	ByAgent        map[string]int `json:"by_agent,omitempty"`          // Iterations of tasks whose label names an agent
	MaxIterations  int            `json:"max_iterations"`              // agents started in one run; 0: 100, or what all attempts at the tasks that it began with may come to where that is more
	MaxDuration    time.Duration  `json:"max_duration"`                // of one run; 0: none
	MaxFailures    int            `json:"max_failures"`                // tasks parked in a row before the run stops; 0: none
	Budget         Usage          `json:"budget,omitzero"`             // of one run; 0: none
	TaskBudget     Usage          `json:"task_budget,omitzero"`        // of all attempts at one task; 0: none
	SurveyEvery    time.Duration  `json:"survey_every"`                // how often the tracker is read
	Resumes        bool           `json:"resumes"`                     // the harness can go on with a conversation
	AllowRedBase   bool           `json:"allow_red_base"`              // go on although the gate is red on the untouched base
	TakeOver       bool           `json:"take_over,omitempty"`         // although another clone has claimed the epic
	Into           string         `json:"into,omitempty" text:"plain"` // branch that the finished epic is landed on
	Actor          string         `json:"actor" text:"plain"`          // who claims, in the tracker
	PoolBackOff    time.Duration  `json:"pool_back_off"`               // cool-down when a rate limit names no time
	CrashBackOff   time.Duration  `json:"crash_back_off"`              // first wait after a crash; doubles
	BreakerBackOff time.Duration  `json:"breaker_back_off"`            // wait before the probe of an agent that could not start
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
	Drain      reason.Code   `json:"drain,omitempty"`      // why no new work is taken: a limit, or INTERRUPTED
	DrainWhy   string        `json:"drain_why,omitempty"`  // in a clause
	Interrupt  bool          `json:"kill,omitempty"`       // agents are interrupted too
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
	Sandbox  string            `json:"sandbox,omitempty"`  // what bounds its agents and the gate; [NoSandbox] nothing, "" not known
}

// Mode says what a run is for.
type Mode string

// The modes of a run.
const (
	ModeRun    Mode = "run"  // orch starts the agents
	ModeNext   Mode = "next" // a session's model starts them: only claim, and make worktrees
	ModeLand   Mode = "land" // land what is queued, and start nothing
	ModeSettle Mode = "epic" // only what a person says of the epic branch: no run of its own, and it has no number
)

// starts reports whether a run in this mode takes up tasks.
func (m Mode) starts() bool { return m == ModeRun || m == ModeNext }

// CutOff reports whether the run was killed, where none goes on: one that ends has a promise.
func (r Run) CutOff() bool { return r.Number > 0 && r.Promise == "" }

// RunStarted is the beginning of a run, with all that it goes by.
type RunStarted struct {
	Epic     TaskID            `json:"epic"`                           // the epic that is run
	Number   int               `json:"number"`                         // from 1, over the whole journal
	Mode     Mode              `json:"mode"`                           // what it is for
	Holder   SessionHolder     `json:"holder,omitzero"`                // the session that it is started from
	Tip      Commit            `json:"tip,omitempty"`                  // where the epic branch is; "" is not known
	Held     string            `json:"held,omitempty"`                 // the work tree that has it checked out; "" none
	Busy     string            `json:"busy,omitempty"`                 // what goes on there; "" nothing
	Limits   Limits            `json:"limits"`                         // the settings that Decide reads
	Settings map[string]string `json:"settings,omitempty"`             // all settings, by key
	Guarded  string            `json:"guarded,omitempty" text:"plain"` // how the repository was, as a digest
	Sandbox  string            `json:"sandbox,omitempty"`              // what bounds agents and the gate; [NoSandbox] nothing, "" in older journals
}

func (f RunStarted) check(s State, e Event) error {
	switch {
	case f.Epic == "":
		return forbid(e, "it names no epic")
	case s.Epic != "" && s.Epic != f.Epic:
		return forbid(e, "the journal belongs to epic %s, not %s", s.Epic, f.Epic)
	case f.isShort(s):
	case f.Number != s.Run.Number+1:
		return forbid(e, "run %d follows run %d", f.Number, s.Run.Number)
	}
	return nil
}

func (f RunStarted) apply(s State, e Event) State {
	s.before = s.settles(f, e.At)
	s.Epic, s.Run = f.Epic, Run{Number: f.Number, Mode: f.Mode, Holder: f.Holder, Limits: f.Limits, Settings: f.Settings, Sandbox: f.Sandbox, Started: e.At}
	if f.Tip != "" {
		if s.Tip = f.Tip; s.taken.To != f.Tip {
			s.taken = TipMove{}
		}
		if s.Base == "" || len(s.Landings()) == 0 {
			s.Base = s.Tip
		}
	}
	s.Moved, s.tip = Moved{}, tipState{seen: e.At, since: e.At, held: f.Held, busy: f.Busy, barred: f.Held != ""}
	s.Landing.Lost, s.Landing.NotBefore, s.Landing.Why = 0, time.Time{}, ""
	if s.Gate == GateChecking || s.Gate == GateRed {
		s.Gate = GateUnknown
	}
	s.Into = IntoState{Done: s.Into.Done, Branch: s.Into.Branch}
	s.Cooldown, s.Cooled = time.Time{}, 0
	s.tracker, s.seeking = trackerState{}, seeking{}
	s.answering, s.looking, s.looked = "", false, time.Time{}
	s.Wishes = slices.DeleteFunc(slices.Clone(s.Wishes), func(w Wish) bool { return w.isFor(NextRequested{}) }) // who asked a run that is gone asks anew
	return s.forgetPhases().allThere()
}

// allThere is s in which every task that is known was there before the run started an agent.
func (s State) allThere() State {
	for _, t := range s.Tasks {
		if t.late {
			s = s.edit(t.ID, func(t *Task) { t.late = false })
		}
	}
	return s
}

// RunEnded is the end of a run, with why in the event's Code and Reason.
type RunEnded struct {
	anyTime
	Promise Promise `json:"promise,omitempty"` // the word that it ends with
}

func (f RunEnded) apply(s State, e Event) State {
	if s.before != nil {
		return s.Looked()
	}
	s.Run.Ended, s.Run.Promise = e.At, string(f.Promise)
	switch {
	case f.Promise == LoopDone:
		s.Done = s.Tip
	case f.Promise == LoopError:
		s.tracker.code, s.tracker.why = e.Code, e.Reason // as a replay, which has no more of it, knows it
	}
	return s
}

// isShort reports whether it is the beginning of a short command, which is no run: it has the number
// of the newest one. Those of older journals have one of their own.
func (f RunStarted) isShort(s State) bool {
	switch f.Mode {
	case ModeSettle:
		return f.Number == s.Run.Number && f.Number > 0
	case ModeNext, ModeLand:
		return f.Number == s.Run.Number
	}
	return false
}

// settles is the newest run, where a command is none; else nil.
func (s State) settles(f RunStarted, at time.Time) *Run {
	if f.Mode != ModeSettle && !f.isShort(s) {
		return nil
	}
	was := s.Run
	if s.before != nil {
		was = *s.before
	}
	if was.Ended.IsZero() {
		was.Ended = at // it was cut off, and has no promise
	}
	return &was
}

// withoutDrain is a run that no longer counts as having ended for a code.
func (r *Run) withoutDrain(code reason.Code) *Run {
	if r == nil || r.Drain != code {
		return r
	}
	run := *r
	run.Drain, run.DrainWhy = "", ""
	return &run
}

// Looked is the state for somebody who only looks: a short command, or one that was refused or killed,
// is no run; the newest is the one before it. What that said of the branch is over after a command
// that settles it. After next and land so is all that kept it from more work, but for a limit; what
// kept them counts, since the next one meets it too.
func (s State) Looked() State {
	if s.before == nil {
		return s
	}
	short := s.Run
	s.Run, s.before = *s.before, nil
	switch {
	case short.Mode == ModeSettle:
		if s.Run.Drain == reason.EpicMoved || s.Run.Drain == reason.CheckedOut {
			s.Run.Drain, s.Run.DrainWhy = "", ""
		}
		return s
	case s.Run.Number == 0:
		s.Run.Mode, s.Run.Started = short.Mode, short.Started
	}
	s.Run.Limits, s.Run.Settings = short.Limits, short.Settings
	switch {
	case short.Drain != "" && short.Drain != reason.HandBack && short.Drain != reason.Interrupted && !atLimit(short.Drain):
		s.Run.Drain, s.Run.DrainWhy = short.Drain, short.DrainWhy
	case !atLimit(s.Run.Drain):
		s.Run.Drain, s.Run.DrainWhy = "", ""
	}
	return s
}

// DrainStarted says that no new work is taken, for the event's Code.
type DrainStarted struct{ anyTime }

func (DrainStarted) apply(s State, e Event) State {
	if s.Run.Drain == "" {
		s.Run.Drain, s.Run.DrainWhy = e.Code, e.Reason
	}
	s.tracker.stale = true // it is read no more until the run ends
	return s
}

// InterruptStarted says that agents are interrupted.
type InterruptStarted struct{ anyTime }

func (InterruptStarted) apply(s State, _ Event) State {
	s.Run.Interrupt = true
	return s
}

// RunPaused says that no agent starts, until the run goes on.
type RunPaused struct{ anyTime }

func (RunPaused) apply(s State, _ Event) State {
	s.Run.Paused = true
	return s
}

// RunContinued ends a pause.
type RunContinued struct{ anyTime }

func (RunContinued) apply(s State, _ Event) State {
	s.Run.Paused, s.tip.doubted = false, true
	return s
}

// RequestRefused says that what a person or a session asked for is not possible now.
type RequestRefused struct {
	anyTime
	noChange
	Kind Kind `json:"kind,omitempty"` // of the event that was asked for
}

// BreakerOpened says that the agent does not start, and when it is tried again.
type BreakerOpened struct {
	anyTime
	Until time.Time `json:"until,omitzero"` // the next try
}

// apply charges nobody for an agent that does not start, and has one agent probe before all
// others.
func (f BreakerOpened) apply(s State, e Event) State {
	for _, fast := range s.Run.FastExits {
		s = s.edit(fast.Task, func(t *Task) {
			if t.State == Parked && t.Code == reason.AgentCrashed || t.State == Waiting {
				t.resetForRetry(e.At)
			}
		})
	}
	s.Run.Probing, s.Run.Failures = true, 0
	s.Cooldown, s.Cooling = f.Until, e.Reason
	return s
}

// MetaWanted says that too many tasks failed in a row: an issue shall tell of it.
type MetaWanted struct{ anyTime }

func (MetaWanted) apply(s State, _ Event) State {
	s.FailureReport = "wanted"
	return s
}

// MetaFiled is the tracker's answer to that.
type MetaFiled struct {
	anyTime
	Issue string `json:"issue" text:"plain"` // its id, or that it was not filed
}

func (f MetaFiled) apply(s State, _ Event) State {
	s.FailureReport = f.Issue
	return s
}

// WorkerPanicked tells of a bug in orch.
type WorkerPanicked struct {
	anyTime
	Trace string `json:"trace,omitempty" text:"long"` // where it was
}

func (WorkerPanicked) apply(s State, e Event) State {
	if e.Task == "" || !s.Task(e.Task).Last().Open() {
		return s
	}
	return s.edit(e.Task, func(t *Task) { t.end(reason.AgentCrashed, "", e.At) })
}

// LeftoverFound tells of something that a killed run left, with what was done about it.
type LeftoverFound struct {
	anyTime
	noChange
	Path string `json:"path,omitempty"` // where it is, or was, with the reference that is meant
}

// TamperingFound tells of something that only orch or a person may write, which was changed
// and put back.
type TamperingFound struct {
	anyTime
	noChange
	Files   []string `json:"files,omitempty"`               // the first few
	Changes string   `json:"changes,omitempty" text:"long"` // all of them, a line each
}

// SettingsChanged says that the settings are no longer those that the run goes by.
type SettingsChanged struct {
	anyTime
	noChange
	Difference string `json:"difference,omitempty" text:"long"` // line by line, or why they cannot be read
}

// FastExit is an agent that ended at once and badly.
type FastExit struct {
	Task TaskID    `json:"task"` // whose agent it was
	At   time.Time `json:"at"`   // UTC
	Why  string    `json:"why"`  // in a clause
}

// fastExitWindow is how long a fast exit counts for the breaker.
const fastExitWindow = 60 * time.Second

// fastExit notes an agent that ended at once and badly.
func (s State) fastExit(e Event) State {
	recent := slices.DeleteFunc(slices.Clone(s.Run.FastExits), func(f FastExit) bool { return e.At.Sub(f.At) > fastExitWindow })
	s.Run.FastExits = append(recent, FastExit{Task: e.Task, At: e.At, Why: e.Reason})
	return s
}
