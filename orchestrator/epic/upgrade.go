package epic

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// flatEvent is an event of versions 1 and 2, in which all kinds shared their fields. Nothing
// writes it; journals that hold it are read for ever.
type flatEvent struct {
	V       int               `json:"v"`
	Kind    Kind              `json:"kind"`
	At      time.Time         `json:"at"`
	Task    TaskID            `json:"task"`
	Attempt int               `json:"attempt"`
	Code    reason.Code       `json:"code"`
	Reason  string            `json:"reason"`
	Run     RunStarted        `json:"run"`
	Epic    TaskID            `json:"epic"`
	Read    TrackerRead       `json:"read"`
	Wrote   []WriteResult     `json:"wrote"`
	Land    flatLand          `json:"land"`
	Agent   flatAgent         `json:"agent"`
	Round   *Round            `json:"round"`
	Tip     TipMove           `json:"tip"`
	Until   time.Time         `json:"until"`
	Text    string            `json:"text"`
	Files   []string          `json:"files"`
	Kept    map[string]string `json:"kept"`
}

type flatLand struct {
	Candidates
	Verdict
	Size
	Secrets []string `json:"secrets"`
}

// first is the first commit, where there is one.
func (l flatLand) first() Commit {
	if len(l.Commits) == 0 {
		return ""
	}
	return l.Commits[0]
}

type flatAgent struct {
	AgentEnded
	InSession bool `json:"in_session"`
	Resume    bool `json:"resume"`
}

func (a flatAgent) turn() Turn {
	return Turn{Iteration: a.Iteration, Base: a.Base, Session: a.Session, Resume: a.Resume}
}

// upgrade reads an event of version 1 or 2, and says which version it calls itself: 0, since it
// does not, or a later one, which then is none of these. It fails for a kind that they did not have.
func upgrade(b []byte) (e Event, version int, err error) {
	var f flatEvent
	if err := json.Unmarshal(b, &f); err != nil || f.V >= shape {
		return Event{}, f.V, err
	}
	fact, text := f.runFact()
	if fact == nil {
		fact, text = f.taskFact()
	}
	if fact == nil {
		fact, text = f.landingFact()
	}
	if fact == nil {
		return Event{}, f.V, fmt.Errorf("no kind of event was called %q", f.Kind)
	}
	e = Event{At: f.At, Task: f.Task, Attempt: f.Attempt, Code: f.Code, Reason: f.Reason, Fact: fact}
	for name, hash := range f.Kept { // the texts have names of their own now
		switch {
		case name == "text" && text != "":
			e.keep(text, hash)
		case name == "feedback":
			e.keep("round.feedback", hash)
		}
	}
	return e, f.V, nil
}

func (e *Event) keep(name, hash string) {
	if e.Kept == nil {
		e.Kept = map[string]string{}
	}
	e.Kept[name] = hash
}

// runFact is the fact of an event about the run, and the name that its text has now; nil for
// other events.
func (f flatEvent) runFact() (fact Fact, text string) {
	switch f.Kind {
	case "run_started":
		run := f.Run
		run.Epic, run.Tip, run.Guarded = f.Epic, f.Land.first(), f.Text
		return run, ""
	case "run_ended":
		return RunEnded{Promise: Promise(f.Text)}, ""
	case "breaker_opened":
		return BreakerOpened{Until: f.Until}, ""
	case "meta_issue_filed":
		return MetaFiled{Issue: f.Text}, ""
	case "worker_panicked":
		return WorkerPanicked{Trace: f.Text}, "trace"
	case "leftover_found":
		return LeftoverFound{Path: f.Text}, "path"
	case "tampering_found":
		return TamperingFound{Files: f.Files, Changes: f.Text}, "changes"
	case "settings_changed":
		return SettingsChanged{Difference: f.Text}, "difference"
	case "tracker_read":
		return f.Read, ""
	case "tracker_written":
		return TrackerWritten{Wrote: f.Wrote}, ""
	case "epic_moved":
		return BranchMoved{TipMove: f.Tip}, ""
	case "epic_accepted":
		return BranchAccepted{TipMove: f.Tip}, ""
	case "epic_restored":
		return BranchRestored{TipMove: f.Tip}, ""
	case "epic_held":
		return BranchHeld{Dir: f.Reason}, ""
	case "tip_seen":
		return TipSeen{Held: f.Reason, Gone: f.Code == reason.EpicMoved}, ""
	case "restore_started":
		return RestoreStarted{TipMove: f.Tip}, ""
	case "drain_started", "kill_started", "run_paused", "run_continued", "request_refused", "meta_issue_wanted", "machine_failed",
		"tracker_busy", "tracker_failed", "tip_look_started", "tip_look_ended":
		return f.plain()
	}
	return nil, ""
}

// taskFact is the fact of an event about a task or an attempt.
func (f flatEvent) taskFact() (fact Fact, text string) {
	switch f.Kind {
	case "task_found":
		return TaskFound{Commit: f.Land.first()}, ""
	case "task_retried":
		return TaskRetried{Hint: f.Text}, "hint"
	case "task_skipped":
		return TaskSkipped{Status: f.Text}, ""
	case "task_limited":
		return TaskLimited{Iterations: f.Agent.Iteration}, ""
	case "attempt_started":
		return AttemptStarted{Turn: f.Agent.turn(), InSession: f.Agent.InSession}, ""
	case "iteration_started":
		return IterationStarted{Turn: f.Agent.turn()}, ""
	case "agent_ended":
		ended := f.Agent.AgentEnded
		ended.Files, ended.Said, ended.Round = f.Files, f.Text, f.Round
		return ended, "said"
	case "attempt_lost":
		return AttemptLost{Head: f.Agent.Head, Salvaged: f.Agent.Salvaged}, ""
	case "task_parked", "task_accepted", "attempt_handed", "attempt_stopped", "agent_exited", "clean_started", "attempt_cleaned":
		return f.plain()
	}
	return nil, ""
}

// landingFact is the fact of an event about the gate and the epic branch.
func (f flatEvent) landingFact() (fact Fact, text string) {
	l := f.Land
	switch f.Kind {
	case "base_check_started":
		return BaseCheckStarted{Commit: l.first()}, ""
	case "base_checked":
		return BaseChecked{Commit: l.first(), Verdict: l.Verdict, Output: f.Text}, "output"
	case "landing_started":
		return LandingStarted{Tasks: l.Tasks, Old: l.Old}, ""
	case "landing_conflicted":
		return LandingConflicted{Old: l.Old, Files: f.Files, Feedback: f.Text}, "feedback"
	case "landing_refused":
		return LandingRefused{Old: l.Old, Files: f.Files, Feedback: f.Text}, "feedback"
	case "candidate_judged":
		return CandidateJudged{Candidates: l.Candidates, Verdict: l.Verdict, Size: l.Size, Output: f.Text}, "output"
	case "move_started":
		return MoveStarted{Candidates: l.Candidates}, ""
	case "task_landed":
		return TaskLanded{Candidates: l.Candidates, Size: l.Size, Secrets: l.Secrets}, ""
	case "into_started":
		return IntoStarted{Branch: f.Reason, Tip: l.first()}, ""
	case "epic_landed_into":
		return EpicLandedInto{Branch: f.Reason, Tip: l.first(), Commit: l.Old}, ""
	case "landing_lost", "epic_not_landed":
		return f.plain()
	}
	return nil, ""
}

// plain is the fact of an event that had nothing but what all events have.
func (f flatEvent) plain() (Fact, string) {
	fact, err := readFact(f.Kind, nil)
	if err != nil {
		return nil, ""
	}
	return fact, ""
}
