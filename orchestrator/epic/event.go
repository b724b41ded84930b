package epic

import (
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/iteration"
)

// EventKind names what happened, in the past tense.
type EventKind string

// The kinds of event. Those below the line are not journaled: a new run finds
// out again.
const (
	RunStarted        EventKind = "run_started"
	RunEnded          EventKind = "run_ended"
	DrainStarted      EventKind = "drain_started"      // no new work is taken
	KillStarted       EventKind = "kill_started"       // agents are interrupted
	RunPaused         EventKind = "run_paused"         // no agent starts, until it goes on
	RunContinued      EventKind = "run_continued"      //
	TrackerRead       EventKind = "tracker_read"       // what changed since the last reading
	TrackerWritten    EventKind = "tracker_written"    // the tracker has these statuses from us
	BaseCheckStarted  EventKind = "base_check_started" //
	BaseChecked       EventKind = "base_checked"       // the gate's word on the untouched base
	AttemptStarted    EventKind = "attempt_started"    // the intent: worktree, branch, agent
	IterationStarted  EventKind = "iteration_started"  // the same attempt, its agent once more
	AttemptHanded     EventKind = "attempt_handed"     // worktree and brief are there; a session works on it
	AgentEnded        EventKind = "agent_ended"        // with what git shows of its work
	AttemptStopped    EventKind = "attempt_stopped"    // the intent to interrupt
	AttemptLost       EventKind = "attempt_lost"       // orch died meanwhile
	AttemptCleaned    EventKind = "attempt_cleaned"    // worktree and branch are gone; with a Reason: they could not be removed
	LandingStarted    EventKind = "landing_started"    // the intent: candidates, gate
	LandingConflicted EventKind = "landing_conflicted" //
	LandingRefused    EventKind = "landing_refused"    // the gate is not asked, for Code; Files are why
	CandidateJudged   EventKind = "candidate_judged"   // the gate's word on a tree
	MoveStarted       EventKind = "move_started"       // the intent: the epic branch moves
	TaskLanded        EventKind = "task_landed"        // the epic branch has it, durably
	LandingLost       EventKind = "landing_lost"       // somebody moved the branch, or git failed
	TaskFound         EventKind = "task_found"         // on the epic branch, although the journal did not know
	TaskParked        EventKind = "task_parked"        // not without a person
	TaskRetried       EventKind = "task_retried"       // a person
	TaskSkipped       EventKind = "task_skipped"       // a person
	TaskAccepted      EventKind = "task_accepted"      // a person: what a parked attempt has done lands, if the gate passes it
	TaskLimited       EventKind = "task_limited"       // a person: its attempts may have Agent.Iteration iterations
	RequestRefused    EventKind = "request_refused"    // what a person asked for is not possible now
	LandRequested     EventKind = "land_requested"     // a session: what it has done for a task is to land
	NextRequested     EventKind = "next_requested"     // a session: it wants a task
	RequestAnswered   EventKind = "request_answered"   // who asked has been told how it went
	BreakerOpened     EventKind = "breaker_opened"     // the agent does not start
	MetaWanted        EventKind = "meta_issue_wanted"  // too many tasks failed in a row
	MetaFiled         EventKind = "meta_issue_filed"   //
	IntoStarted       EventKind = "into_started"       //
	EpicLandedInto    EventKind = "epic_landed_into"   //
	EpicNotLanded     EventKind = "epic_not_landed"    // --into was not possible
	WorkerPanicked    EventKind = "worker_panicked"    // a bug of ours
	LeftoverFound     EventKind = "leftover_found"     // of a run that was killed, with what was done about it
	TamperingFound    EventKind = "tampering_found"    // something that only orch or a person may write was changed, and put back
	SettingsChanged   EventKind = "settings_changed"   // while the run goes by those it began with
	BranchMoved       EventKind = "epic_moved"         // the epic branch is not where it was left
	BranchAccepted    EventKind = "epic_accepted"      // it is taken as it is
	BranchRestored    EventKind = "epic_restored"      // it is where it was left again
	BranchHeld        EventKind = "epic_held"          // a work tree has it checked out: nothing lands
	MachineFailed     EventKind = "machine_failed"     // what was to be done is tried again later

	TrackerBusy   EventKind = "tracker_busy"   // a call is under way
	TrackerFailed EventKind = "tracker_failed" // it did not answer
	CleanStarted  EventKind = "clean_started"
	AgentExited   EventKind = "agent_exited" // its process; what it left is being looked at

	TipLookStarted EventKind = "tip_look_started" // the epic branch is being looked at
	TipLookEnded   EventKind = "tip_look_ended"   // with nothing that was not known
	TipSeen        EventKind = "tip_seen"         // it is where it belongs; Reason names who has it checked out, Code says that there is none and none is needed
	RestoreStarted EventKind = "restore_started"  // it is being put back

	AnswerStarted      EventKind = "answer_started"       // a request is being answered
	CollectStarted     EventKind = "collect_started"      // what a session has done is being looked at
	SessionLookStarted EventKind = "session_look_started" // the sessions that work on tasks are being looked for
	SessionLookEnded   EventKind = "session_look_ended"   // those that are gone have lost their attempts
)

// Journaled reports whether the kind is written into the journal.
func (k EventKind) Journaled() bool {
	switch k {
	case TrackerBusy, TrackerFailed, CleanStarted, AgentExited, TipLookStarted, TipLookEnded, TipSeen, RestoreStarted, AnswerStarted, CollectStarted, SessionLookStarted, SessionLookEnded:
		return false
	}
	return true
}

// Personal reports whether a person may ask for the event.
func (k EventKind) Personal() bool {
	switch k {
	case TaskRetried, TaskSkipped, TaskLimited, TaskAccepted, DrainStarted, KillStarted, RunPaused, RunContinued, LandRequested, NextRequested:
		return true
	}
	return false
}

// Event is something that happened. Which fields are set depends on Kind.
type Event struct {
	Kind    EventKind `json:"kind"`              // what happened
	At      time.Time `json:"at"`                // when, UTC
	Task    TaskID    `json:"task,omitempty"`    // to which task; "" to none
	Attempt int       `json:"attempt,omitempty"` // in which attempt, from 1; 0 none
	Code    Code      `json:"code,omitempty"`    // why, as a code
	Reason  string    `json:"reason,omitempty"`  // one clause, shown to a person as it is
	Run     *Run      `json:"run,omitempty"`     // run_started
	Epic    TaskID    `json:"epic,omitempty"`    // run_started
	Read    *Reading  `json:"read,omitempty"`    // tracker_read
	Wrote   []Wrote   `json:"wrote,omitempty"`   // tracker_written
	Land    *Land     `json:"land,omitempty"`    // base_checked, landing_*, candidate_judged, task_landed
	Agent   *Agent    `json:"agent,omitempty"`   // attempt_started, agent_ended
	Round   *Round    `json:"round,omitempty"`   // agent_ended, where its agent's rules were asked
	Tip     *TipMove  `json:"tip,omitempty"`     // epic_moved, epic_accepted, epic_restored
	Until   time.Time `json:"until,omitzero"`    // breaker_opened
	Text    string    `json:"text,omitempty"`    // a person's hint or answer; an agent's feedback; output for a person
	Files   []string  `json:"files,omitempty"`   // agent_ended: changed; landing_conflicted: in conflict

	Request string `json:"request,omitempty"` // the id of the request that this takes, refuses, serves or answers

	Kept map[string]string `json:"kept,omitempty"` // in the journal only: hashes of long texts that are in files, by field
}

// Reading is how the tracker differs from what the state knew.
type Reading struct {
	Nodes   []Node        `json:"nodes,omitempty"`   // that are new, or differ
	Removed []TaskID      `json:"removed,omitempty"` // that are no longer there
	Took    time.Duration `json:"took"`              // to read all of it
}

// Wrote is the answer to one change that the tracker was asked for.
type Wrote struct {
	ID      TaskID `json:"id"`                // of the issue
	Kind    string `json:"kind,omitempty"`    // of the change
	Status  string `json:"status,omitempty"`  // which it has now; "" when refused
	Refused string `json:"refused,omitempty"` // the tracker's words
	By      string `json:"by,omitempty"`      // who holds it
}

// Land is a fact about candidates and the epic branch.
type Land struct {
	Tasks   []TaskID `json:"tasks,omitempty"`   // in the order in which they land
	Old     Commit   `json:"old,omitempty"`     // the tip that they were built on
	Commits []Commit `json:"commits,omitempty"` // the candidate of each task
	Tree    string   `json:"tree,omitempty"`    // that the gate judged
	Passed  bool     `json:"passed,omitempty"`  // the gate was green
	Score   int      `json:"score,omitempty"`   // 0 to 100
	Files   int      `json:"files,omitempty"`   // how many change
	Added   int      `json:"added,omitempty"`   // lines
	Deleted int      `json:"deleted,omitempty"` // lines
	Secrets []string `json:"secrets,omitempty"` // what looks secret in the lines that come, as "FILE (NAME)"
	Log     string   `json:"log,omitempty"`     // file with the gate's output

	Rules []iteration.RuleOutcome `json:"rules,omitempty"` // of the gate, each with its outcome

	Took time.Duration `json:"took,omitempty"` // to build and judge
}

// Round is what the rules of an agent said of its work when it ended a turn, before
// anything is landed.
type Round struct {
	iteration.Entry
	Feedback string `json:"feedback,omitempty"` // for the next turn
}

// Agent is a fact about one agent process and the work that it left.
type Agent struct {
	Iteration int           `json:"iteration,omitempty"`  // from 1
	Base      Commit        `json:"base,omitempty"`       // what its attempt began from
	Head      Commit        `json:"head,omitempty"`       // the newest commit of its work
	Changed   bool          `json:"changed,omitempty"`    // its work differs from its base
	Salvaged  bool          `json:"salvaged,omitempty"`   // orch committed what was not
	Unmerged  []string      `json:"unmerged,omitempty"`   // files that it left in conflict
	InSession bool          `json:"in_session,omitempty"` // a session's model is the agent
	Holder    SessionHolder `json:"holder,omitzero"`      // that session
	Resume    bool          `json:"resume,omitempty"`     // goes on with Session
	Session   string        `json:"session,omitempty"`    // the client's id of the conversation
	End       End           `json:"end,omitempty"`        // how its process ended
	Signal    string        `json:"signal,omitempty"`     // from its promise
	Fast      bool          `json:"fast,omitempty"`       // ended within seconds, and badly
	Added     int           `json:"added,omitempty"`      // lines
	Deleted   int           `json:"deleted,omitempty"`    // lines

	Usage
	Took       time.Duration `json:"took,omitempty"`        // from start to end
	RetryAfter time.Duration `json:"retry_after,omitempty"` // a rate limit's own words; 0 unknown
}

// End is how an agent process ended, as its harness reads it.
type End string

// The ends of an agent process.
const (
	EndedItself  End = "ended"
	EndedCrash   End = "crashed"
	EndedLimit   End = "rate_limited" // or the API was overloaded or out of reach: the whole pool waits
	EndedAuth    End = "auth"
	EndedUsage   End = "usage_limit"
	EndedTime    End = "timeout"
	EndedIdle    End = "no_progress"
	EndedStopped End = "stopped" // by orch
	EndedNoStart End = "no_start"
	EndedMachine End = "machine"
	EndedDisk    End = "disk" // only in journals of version 1
)

// The signals of an agent's promise that Apply reads.
const (
	SignalBlocked  = "BLOCKED"
	SignalEscalate = "ESCALATE"
	SignalContinue = "CONTINUE"
	SignalFresh    = "CHECKPOINT" // its context is full: it goes on in a fresh session
)

// FirstOf names the first of the files, and how many more there are.
func FirstOf(files []string) string {
	switch len(files) {
	case 0:
		return "no file"
	case 1:
		return files[0]
	}
	return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
}
