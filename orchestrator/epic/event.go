package epic

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// Event is something that happened: one record of the journal. What it says, what it may
// follow and what it changes is its Fact's.
type Event struct {
	At      time.Time   // when, UTC
	Task    TaskID      // to which task; "" to none
	Attempt int         // in which attempt, from 1; 0 none
	Code    reason.Code // why, as a code
	Reason  string      // one clause, shown to a person as it is
	Request string      // the id of the request that this takes, refuses, serves or answers; "" none
	Fact    Fact        // what happened

	// Kept are the hashes of long texts that are in files, by the names that EditTexts gives
	// them; only an event as the journal has it has any.
	Kept map[string]string
}

// Fact is one kind of event, whole in one place: its fields, what it may follow, what it
// changes. Which kinds there are, and who may ask for one, is in the table of facts.
type Fact interface {
	// check says whether e, whose fact this is, may follow s. Its errors are made by forbid.
	check(s State, e Event) error
	// apply gives the state after e, which has passed check. It changes nothing of s.
	apply(s State, e Event) State
}

// Kind is the name of a kind of event in the journal, in the past tense.
type Kind string

// How a kind of event is treated.
const (
	journaled   = 1 << iota // it is written into the journal; the others a new run finds out again
	requestable             // a person or a session may ask for it
	awaited                 // who asks for it waits for the answer
)

// factRow is a row of the table of facts.
type factRow struct {
	kind  Kind
	fact  Fact // the zero value of its type
	flags int
}

// facts is the table of all kinds of event.
func facts() []factRow {
	return []factRow{
		{"run_started", RunStarted{}, journaled},
		{"run_ended", RunEnded{}, journaled},
		{"drain_started", DrainStarted{}, journaled | requestable},
		{"kill_started", InterruptStarted{}, journaled | requestable},
		{"run_paused", RunPaused{}, journaled | requestable},
		{"run_continued", RunContinued{}, journaled | requestable},
		{"request_refused", RequestRefused{}, journaled},
		{"land_requested", LandRequested{}, journaled | requestable | awaited},
		{"next_requested", NextRequested{}, journaled | requestable | awaited},
		{"next_withdrawn", NextWithdrawn{}, journaled | requestable},
		{"next_dropped", NextDropped{}, journaled},
		{"answer_started", AnswerStarted{}, 0},
		{"request_answered", RequestAnswered{}, journaled},
		{"breaker_opened", BreakerOpened{}, journaled},
		{"meta_issue_wanted", MetaWanted{}, journaled},
		{"meta_issue_filed", MetaFiled{}, journaled},
		{"worker_panicked", WorkerPanicked{}, journaled},
		{"leftover_found", LeftoverFound{}, journaled},
		{"tampering_found", TamperingFound{}, journaled},
		{"settings_changed", SettingsChanged{}, journaled},
		{"machine_failed", MachineFailed{}, journaled},

		{"tracker_busy", TrackerBusy{}, 0},
		{"tracker_failed", TrackerFailed{}, 0},
		{"tracker_read", TrackerRead{}, journaled},
		{"tracker_written", TrackerWritten{}, journaled},
		{"tracker_outdated", TrackerOutdated{}, journaled},

		{"task_found", TaskFound{}, journaled},
		{"task_parked", TaskParked{}, journaled},
		{"task_retried", TaskRetried{}, journaled | requestable},
		{"task_skipped", TaskSkipped{}, journaled | requestable},
		{"task_accepted", TaskAccepted{}, journaled | requestable | awaited},
		{"task_limited", TaskLimited{}, journaled | requestable},

		{"attempt_started", AttemptStarted{}, journaled},
		{"iteration_started", IterationStarted{}, journaled},
		{"attempt_handed", AttemptHanded{}, journaled},
		{"attempt_stopped", AttemptStopped{}, journaled},
		{"agent_started", AgentStarted{}, 0},
		{"agent_exited", AgentExited{}, 0},
		{"collect_started", CollectStarted{}, 0},
		{"agent_ended", AgentEnded{}, journaled},
		{"session_look_started", SessionLookStarted{}, 0},
		{"session_look_ended", SessionLookEnded{}, 0},
		{"loop_stepped", LoopStepped{}, journaled | requestable},
		{"attempt_lost", AttemptLost{}, journaled},
		{"clean_started", CleanStarted{}, 0},
		{"attempt_cleaned", AttemptCleaned{}, journaled},

		{"base_check_started", BaseCheckStarted{}, journaled},
		{"base_checked", BaseChecked{}, journaled},
		{"landing_started", LandingStarted{}, journaled},
		{"landing_conflicted", LandingConflicted{}, journaled},
		{"landing_refused", LandingRefused{}, journaled},
		{"candidate_judged", CandidateJudged{}, journaled},
		{"move_started", MoveStarted{}, journaled},
		{"task_landed", TaskLanded{}, journaled},
		{"landing_lost", LandingLost{}, journaled},
		{"into_started", IntoStarted{}, journaled},
		{"epic_landed_into", EpicLandedInto{}, journaled},
		{"epic_not_landed", EpicNotLanded{}, journaled},

		{"tip_look_started", TipLookStarted{}, 0},
		{"tip_look_ended", TipLookEnded{}, 0},
		{"tip_seen", TipSeen{}, 0},
		{"landing_seek_started", LandingSeekStarted{}, 0},
		{"landing_seek_ended", LandingSeekEnded{}, 0},
		{"restore_started", RestoreStarted{}, 0},
		{"epic_moved", BranchMoved{}, journaled},
		{"epic_accepted", BranchAccepted{}, journaled},
		{"epic_restored", BranchRestored{}, journaled},
		{"epic_held", BranchHeld{}, journaled},
	}
}

// Facts gives the zero value of each kind's fact, by kind.
func Facts() map[Kind]Fact {
	out := map[Kind]Fact{}
	for _, r := range facts() {
		out[r.kind] = r.fact
	}
	return out
}

// row is the row of the event's fact in the table; the zero row where it has none.
func (e Event) row() factRow {
	if e.Fact == nil {
		return factRow{}
	}
	t := reflect.TypeOf(e.Fact)
	for _, r := range facts() {
		if reflect.TypeOf(r.fact) == t {
			return r
		}
	}
	return factRow{}
}

// Kind is the name of what happened; "" where the event has no fact.
func (e Event) Kind() Kind { return e.row().kind }

// Journaled reports whether the event is written into the journal.
func (e Event) Journaled() bool { return e.row().flags&journaled != 0 }

// Requestable reports whether a person or a session may ask for the event.
func (e Event) Requestable() bool { return e.row().flags&requestable != 0 }

// NewState is the state before the first event.
func NewState() State { return State{Window: 1, index: map[TaskID]int{}} }

// ErrForbidden is what Check's errors wrap: an event that the state does not
// allow. In a journal it means that the journal was edited or belongs to another
// epic; from the loop itself it is a bug.
var ErrForbidden = errors.New("event not allowed here")

// forbidden is an event that the state does not allow.
type forbidden struct {
	kind Kind
	why  string // in a clause
}

func (f *forbidden) Error() string { return fmt.Sprintf("%s: %s: %s", f.kind, f.why, ErrForbidden) }
func (*forbidden) Unwrap() error   { return ErrForbidden }

func forbid(e Event, format string, args ...any) error {
	return &forbidden{e.Kind(), fmt.Sprintf(format, args...)}
}

// Refusal says in a clause, for who has asked for an event, why Check does not allow it.
func Refusal(err error) string {
	var f *forbidden
	if errors.As(err, &f) {
		return f.why
	}
	return err.Error()
}

// Check says whether e may follow s. Its errors wrap ErrForbidden.
func Check(s State, e Event) error {
	if e.Fact == nil {
		return forbid(e, "it says nothing")
	}
	if _, first := e.Fact.(RunStarted); !first && !s.Driven() {
		return forbid(e, "no run has started")
	}
	if e.Task != "" && s.Task(e.Task) == nil {
		return forbid(e, "task %s is not known", e.Task)
	}
	return e.Fact.check(s, e)
}

// Apply gives the state after e. It changes nothing of s: what is shared with
// the result is never written again. e must have passed Check.
func Apply(s State, e Event) State {
	if e.Request != "" {
		s = s.take(e)
	}
	return e.Fact.apply(s, e)
}

// anyTime is embedded by facts that any state allows.
type anyTime struct{}

func (anyTime) check(State, Event) error { return nil }

// ofTask is embedded by facts that are about a task.
type ofTask struct{}

func (ofTask) check(_ State, e Event) error {
	if e.Task == "" {
		return forbid(e, "it names no task")
	}
	return nil
}

// ofAttempt is embedded by facts that are about the open attempt of a task.
type ofAttempt struct{}

func (ofAttempt) check(s State, e Event) error {
	if err := (ofTask{}).check(s, e); err != nil {
		return err
	}
	if last := s.Task(e.Task).Last(); !last.Open() || e.Attempt != last.Number {
		return forbid(e, "attempt %d of %s is not open", e.Attempt, e.Task)
	}
	return nil
}

// noChange is embedded by facts that are shown to a person and change nothing.
type noChange struct{}

func (noChange) apply(s State, _ Event) State { return s }
