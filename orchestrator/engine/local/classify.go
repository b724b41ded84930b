package local

import (
	"fmt"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// classify reads how the process ended, by what happened to it first, then by
// its harness.
func (t *turn) classify(exit proc.Exit, out harness.Outcome) engine.Work {
	if out.Usage.Whole && out.Session == t.Conversation.ID {
		out.Usage.InputTokens -= t.Conversation.CountedTokens
	}
	w := engine.Work{End: epic.EndedItself, Reason: out.Detail, Conversation: out.Session, RetryAfter: out.RetryAfter,
		Usage: epic.Usage{Tokens: max(0, out.Usage.InputTokens+out.Usage.OutputTokens), CostUSD: out.Usage.CostUSD}}
	if end, why := t.endOf(exit); end != "" {
		w.End, w.Reason = end, why
		return w
	}
	w.End = endOfKind(out.Kind)
	if w.End == epic.EndedItself {
		w.Said, w.Full = out.Text, out.Kind == harness.ContextFull
	}
	return w
}

func (t *turn) endOf(exit proc.Exit) (epic.End, string) {
	l := t.Limits
	switch exit.Cause {
	case proc.OverProcesses:
		return epic.EndedProcesses, "the agent " + t.bounds.Exceeded(command.Processes)
	case proc.OverMemory:
		return epic.EndedMemory, "the agent " + t.bounds.Exceeded(command.Memory)
	case proc.OverDisk:
		return epic.EndedOverDisk, "the agent " + t.bounds.Exceeded(command.Disk)
	case proc.Timeout:
		return epic.EndedTime, fmt.Sprintf("over the limit of %s for one agent", l.Time)
	case proc.Idle:
		return epic.EndedIdle, fmt.Sprintf("no sign of life for %s", l.NoProgress)
	case proc.Halted:
		return epic.EndedCrash, "it was stopped (SIGSTOP), or the guard that it runs below was, and did not go on; all that it had started was ended"
	case proc.Interrupted, proc.Killed:
		return epic.EndedStopped, "stopped"
	}
	return "", ""
}

func endOfKind(k harness.Kind) epic.End {
	switch k {
	case harness.Ended, harness.ContextFull:
		return epic.EndedItself
	case harness.RateLimited, harness.Unavailable:
		return epic.EndedLimit
	case harness.UsageLimit:
		return epic.EndedUsage
	case harness.Auth:
		return epic.EndedAuth
	}
	return epic.EndedCrash
}
