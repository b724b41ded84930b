package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// line is one permanent line of a run: what happened, to which task.
type line struct {
	word string // start, landed, gate, ...
	task epic.TaskID
	text string
	bad  bool // a person may want to look
}

// lineOf tells an event to a person; ok is false for what only the journal
// needs to know. s is the state after it.
func lineOf(e epic.Event, s epic.State) (l line, ok bool) {
	switch f := e.Fact.(type) {
	case epic.AttemptStarted:
		return startLine(e, s), true
	case epic.IterationStarted:
		return line{"again", e.Task, fmt.Sprintf("attempt %d goes on: %s", e.Attempt, e.Reason), false}, true
	case epic.AgentEnded:
		return endLine(e, f)
	case epic.LoopStepped:
		return loopLine(e, f)
	case epic.AttemptStopped:
		return line{"stop", e.Task, e.Reason, true}, true
	case epic.AttemptLost:
		return line{"lost", e.Task, fmt.Sprintf("attempt %d: %s; its work is kept", e.Attempt, e.Reason), true}, true
	case epic.LandingConflicted:
		return line{"conflict", e.Task, strings.TrimPrefix(e.Reason, "conflict "), true}, true
	case epic.CandidateJudged:
		return gateLine(e, f)
	case epic.TaskLanded:
		return landedLine(e, f), true
	case epic.TaskFound:
		return line{"landed", e.Task, e.Reason, false}, true
	case epic.LandingRefused:
		return line{"refused", e.Task, e.Reason, true}, true
	case epic.LandingLost:
		return line{"again", "", "landing starts over: " + e.Reason, true}, true
	case epic.TaskParked:
		if e.Code == reason.Question {
			return line{"asks", e.Task, e.Reason, true}, true
		}
		return line{"parked", e.Task, fmt.Sprintf("[%s] %s", e.Code, e.Reason), true}, true
	}
	return requestLine(e, s)
}

// runLine tells how the run goes.
func runLine(e epic.Event, s epic.State) (l line, ok bool) {
	switch f := e.Fact.(type) {
	case epic.DrainStarted:
		return line{"drain", "", e.Reason + "; no new work is started", true}, true
	case epic.RunPaused:
		return line{"paused", "", cmp.Or(e.Reason, "by a person") + "; what runs goes on to its end", true}, true
	case epic.RunContinued:
		return line{"go on", "", cmp.Or(e.Reason, "by a person"), false}, true
	case epic.InterruptStarted:
		return line{"stop", "", "agents are interrupted; their work is kept", true}, true
	case epic.BreakerOpened:
		return line{"pause", "", fmt.Sprintf("%s; one agent tries again in %s", e.Reason, cli.FormatDuration(f.Until.Sub(e.At))), true}, true
	case epic.TrackerFailed:
		return line{"tracker", "", "no answer: " + e.Reason, true}, true
	case epic.TrackerWritten:
		return refusedLine(f)
	case epic.TrackerOutdated:
		return line{"restored", e.Task, e.Reason, true}, true
	case epic.MetaFiled:
		return line{"filed", "", e.Reason, true}, true
	case epic.LeftoverFound:
		if strings.HasPrefix(e.Reason, orchestrator.Unremoved) {
			return line{"left", "", strings.TrimSpace(f.Path + " " + e.Reason), true}, true
		}
		return line{"mended", "", strings.TrimSpace(e.Reason + " " + f.Path), false}, true
	case epic.MachineFailed:
		return line{"machine", e.Task, e.Reason, true}, true
	case epic.TamperingFound:
		return line{"tampered", e.Task, e.Reason, true}, true
	case epic.SettingsChanged:
		return line{"settings", "", e.Reason, true}, true
	case epic.AttemptCleaned:
		if e.Reason != "" {
			return line{"left", e.Task, fmt.Sprintf("the worktree of attempt %d could not be removed; the next run tries again: %s", e.Attempt, e.Reason), true}, true
		}
	case epic.WorkerPanicked:
		return line{"bug", e.Task, e.Reason + "; orch events has the trace", true}, true
	}
	return branchLine(e, s)
}

// requestLine tells what a person or a session has asked for.
func requestLine(e epic.Event, s epic.State) (l line, ok bool) {
	switch f := e.Fact.(type) {
	case epic.TaskAccepted:
		return line{"accepted", e.Task, e.Reason, false}, true
	case epic.TaskRetried:
		return line{"retry", e.Task, cmp.Or(e.Reason, "asked by a person"), false}, true
	case epic.TaskLimited:
		return line{"limit", e.Task, fmt.Sprintf("%d iterations an attempt", f.Iterations), false}, true
	case epic.TaskSkipped:
		return line{"skipped", e.Task, e.Reason, false}, true
	case epic.LandRequested:
		return line{"asked", e.Task, "to be landed for its session", false}, true
	case epic.NextRequested:
		return line{"asked", "", e.Reason, false}, true
	case epic.RequestRefused:
		return line{"refused", "", e.Reason, true}, true
	}
	return runLine(e, s)
}

// branchLine tells events of the epic branch.
func branchLine(e epic.Event, s epic.State) (l line, ok bool) {
	switch f := e.Fact.(type) {
	case epic.BaseChecked:
		switch {
		case f.Stopped:
			return line{"again", "", "the gate has yet to judge the epic branch: " + e.Reason, false}, true
		case !f.Passed:
			return line{"base red", "", cmp.Or(e.Reason, "the gate fails before any agent has worked"), true}, true
		}
	case epic.EpicLandedInto:
		return line{"into", "", fmt.Sprintf("%s is at %.12s now", f.Branch, f.Commit), false}, true
	case epic.EpicNotLanded:
		return line{"into", "", fmt.Sprintf("not landed on %s: %s", s.Run.Limits.Into, e.Reason), true}, true
	case epic.BranchMoved:
		if f.Held == "" {
			return line{"moved", "", e.Reason, true}, true
		}
		return line{"moved", "", e.Reason + "; " + checkedOutLine(f.Held, f.Busy), true}, true
	case epic.BranchAccepted:
		return line{"accepted", "", "the epic branch as it is: " + e.Reason, false}, true
	case epic.BranchRestored:
		return line{"restored", "", e.Reason, true}, true
	case epic.BranchHeld:
		return line{"held", "", "the epic branch is " + checkedOutLine(f.Dir, f.Busy), true}, true
	}
	return line{}, false
}

// checkedOutLine says where the epic branch is checked out, what goes on there, and how it is left.
func checkedOutLine(dir, busy string) string {
	return "checked out in " + dir + ": " + strings.Join(explain.Leave(dir, busy), "; ")
}

func startLine(e epic.Event, s epic.State) line {
	text := s.Task(e.Task).Title
	word := "start"
	if e.Attempt > 1 {
		word = "retry"
		text = fmt.Sprintf("%s (%s)", text, e.Reason)
	}
	return line{word, e.Task, text, false}
}

func endLine(e epic.Event, a epic.AgentEnded) (line, bool) {
	switch {
	case a.End == epic.EndedLimit, a.End == epic.EndedUsage:
		return line{"limit", e.Task, e.Reason + "; all agents wait, the attempt does not count", true}, true
	case a.End != epic.EndedItself:
		return line{"ended", e.Task, fmt.Sprintf("attempt %d: %s", e.Attempt, cmp.Or(e.Reason, string(a.End))), true}, true
	case !a.Done(), e.Code != "":
		return line{}, false // the next event tells
	case a.Beside != "":
		return line{"ended", e.Task, fmt.Sprintf("attempt %d has committed on two lines, and one counts; what the other has is kept: git log %.12s..%.12s", e.Attempt, a.Head, a.Beside), true}, true
	case !a.Changed:
		return line{"ended", e.Task, fmt.Sprintf("attempt %d changed nothing", e.Attempt), true}, true
	case a.Salvaged:
		return line{"salvaged", e.Task, "uncommitted work was committed for the agent", false}, true
	}
	return line{}, false
}

// loopLine tells how a session iterates.
func loopLine(e epic.Event, f epic.LoopStepped) (line, bool) {
	switch f.Step {
	case epic.LoopStarted:
		return line{"loop", e.Task, fmt.Sprintf("its session iterates, %d times at most", f.Config.MaxIterations), false}, true
	case epic.LoopValidated:
		text := fmt.Sprintf("iteration %d, score %d, %s", f.Iteration, f.Entry.ValidationScore, f.Entry.Signal)
		if why := cmp.Or(e.Reason, f.Entry.Failure); why != "" {
			text += ": " + why
		}
		return line{"judged", e.Task, text, f.Entry.Signal == iteration.Blocked || f.Entry.Signal == iteration.Escalate}, true
	case epic.LoopEnded:
		return line{"loop", e.Task, fmt.Sprintf("ended with %s in iteration %d", f.Done, f.Iteration), f.Done != iteration.Complete}, true
	}
	return line{}, false // the next validation, or the person's word, tells
}

func gateLine(e epic.Event, l epic.CandidateJudged) (line, bool) {
	if l.Passed {
		return line{}, false
	}
	if len(l.Tasks) == 1 {
		return line{"gate red", l.Tasks[0], e.Reason, true}, true
	}
	return line{"gate red", "", fmt.Sprintf("%s; %d candidates are taken apart", e.Reason, len(l.Tasks)), true}, true
}

func landedLine(e epic.Event, l epic.TaskLanded) line {
	text := fmt.Sprintf("%d %s, +%d -%d", l.Files, cli.Plural(l.Files, "file", "files"), l.Added, l.Deleted)
	if e.Reason != "" {
		text += "; " + e.Reason
	}
	for _, id := range l.Tasks[1:] {
		text += ", with " + id.String()
	}
	if len(l.Secrets) > 0 {
		text += "; secret-looking text in " + strings.Join(l.Secrets, ", ")
	}
	return line{"landed", l.Tasks[0], text, len(l.Secrets) > 0}
}

func refusedLine(f epic.TrackerWritten) (line, bool) {
	for _, w := range f.Wrote {
		if w.Refused != "" {
			return line{"tracker", w.ID, w.Refused, true}, true
		}
	}
	return line{}, false
}
