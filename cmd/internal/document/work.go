package document

import (
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Next is what a session is to work on.
type Next struct {
	// Epic is the id of the epic.
	Epic epic.TaskID `json:"epic"`
	// Tasks are the tasks that the session has, those of earlier calls included.
	Tasks []Handed `json:"tasks"`
	// Done says that nothing is left to hand out, and nothing is under way.
	Done bool `json:"done"`
	// Counts says how many tasks are where.
	Counts epic.Counts `json:"counts"`
	// Reason says in a clause how the epic stands.
	Reason string `json:"reason"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR.
	Promise epic.Promise `json:"promise"`
	// Others are tasks that other sessions work on.
	Others []Elsewhere `json:"others"`
	// Withheld is why the session is handed nothing new; absent where it has been handed a task, where
	// done, and where it would be handed one if it asked again.
	Withheld *Withheld `json:"withheld,omitempty"`
	// Waiting says that another orch has the epic still: the command is to be given again, and
	// tasks and counts are not known; absent else.
	Waiting bool `json:"waiting,omitempty"`
	// WaitingFor is who has it; absent when nobody was waited for in vain.
	WaitingFor *Holder `json:"waiting_for,omitempty"`
	// Trust says whether orch land will be refused until a person has typed the command in fix:
	// tell them before work is begun.
	Trust TrustNeeded `json:"trust"`
	// Sandbox is what bounds that which the session's client starts: off, since orch does not start it.
	Sandbox string `json:"sandbox"`
}

// Schema is "orch.next/1".
func (Next) Schema() string { return "orch.next/1" }

// Withheld is why a session that asks for a task is handed none.
type Withheld struct {
	// Code is a reason code: PAUSED, PLACES_TAKEN, NOTHING_READY, BACK_OFF, or what keeps the run from
	// more work, as a limit.
	Code reason.Code `json:"code"`
	// Why is the same in a clause, with who has what.
	Why string `json:"why"`
	// Fix are commands that help, each a line; those that only a person gives say so.
	Fix []string `json:"fix"`
}

// Handed is a task that a session works on.
type Handed struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Title is one line.
	Title string `json:"title"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Dir is the path of the worktree to work in.
	Dir string `json:"dir"`
	// Branch is the branch that is checked out there.
	Branch string `json:"branch"`
	// Brief is the path of the file that says what to do.
	Brief string `json:"brief"`
	// New says that this call has claimed it.
	New bool `json:"new"`
}

// Elsewhere is a task that another session works on.
type Elsewhere struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Holder names the session.
	Holder string `json:"holder"`
}

// Land is what became of a session's work on a task.
type Land struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Landed says that it is on the epic branch, and closed.
	Landed bool `json:"landed"`
	// Commit is what landed it; "" where it did not land.
	Commit epic.Commit `json:"commit"`
	// State is ready, waiting, running, queued, validating, landed, parked or skipped.
	State epic.TaskState `json:"state"`
	// Reason is the code of why it did not land; "" where it did, or where only a conflict is to be
	// resolved.
	Reason reason.Code `json:"reason"`
	// Feedback is what the next try must mend; "" for nothing.
	Feedback string `json:"feedback"`
	// Files are those in conflict.
	Files []string `json:"files"`
	// Next is what to do now: a command, or advice with one in it.
	Next string `json:"next"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR.
	Promise epic.Promise `json:"promise"`
	// Waiting says that another orch has the epic still: the command is to be given again; absent
	// else.
	Waiting bool `json:"waiting,omitempty"`
	// WaitingFor is who has it; absent when nobody was waited for in vain.
	WaitingFor *Holder `json:"waiting_for,omitempty"`
}

// Schema is "orch.land/2".
func (Land) Schema() string { return "orch.land/2" }

// Verify is what the gate says of a task's worktree as it is now.
type Verify struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Dir is the path of the worktree.
	Dir string `json:"dir"`
	// Passed says that all rules have passed.
	Passed bool `json:"passed"`
	// Score is the share of rules that have passed, 0 to 100.
	Score int `json:"score"`
	// Checks are the rules, in their order.
	Checks []Check `json:"checks"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR.
	Promise epic.Promise `json:"promise"`
}

// Schema is "orch.verify/1".
func (Verify) Schema() string { return "orch.verify/1" }

// Check is what one rule found.
type Check struct {
	// Rule is its name.
	Rule string `json:"rule"`
	// Passed says that it holds.
	Passed bool `json:"passed"`
	// Errored says that it could not be asked.
	Errored bool `json:"errored"`
	// Why says in a clause why it did not pass; "" where it did.
	Why string `json:"why"`
	// Exit is the exit code of its command; 0 for a rule without one.
	Exit int `json:"exit"`
	// Output is the end of what its command printed.
	Output string `json:"output"`
	// Took is how long it took, in milliseconds.
	Took int64 `json:"took_ms"`
}

// ChecksOf are the rules of a verdict.
func ChecksOf(v validation.Verdict) []Check {
	out := []Check{}
	for _, c := range v.Checks {
		out = append(out, Check{Rule: c.Rule, Passed: c.Passed, Errored: c.Errored, Why: c.Why, Exit: c.ExitCode, Output: c.Output, Took: c.Took.Milliseconds()})
	}
	return out
}

// Logs is where the logs of an attempt are.
type Logs struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Files are the paths of the logs.
	Files []string `json:"files"`
}

// Schema is "orch.logs/1".
func (Logs) Schema() string { return "orch.logs/1" }

// Diff is what an attempt changed.
type Diff struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Base is the commit that it began from.
	Base epic.Commit `json:"base"`
	// Head is its newest commit.
	Head epic.Commit `json:"head"`
	// Stat is what git diff --stat says of the two; "" where nothing was committed.
	Stat string `json:"stat"`
}

// Schema is "orch.diff/1".
func (Diff) Schema() string { return "orch.diff/1" }

// Stats is what agents needed in all runs of a repository.
type Stats struct {
	// Epics is how many epics there were.
	Epics int `json:"epics"`
	// Agents are the agents, by name.
	Agents []Performance `json:"agents"`
}

// Schema is "orch.stats/1".
func (Stats) Schema() string { return "orch.stats/1" }

// Performance is what one agent did in all runs of a repository.
type Performance struct {
	// Agent is its name.
	Agent string `json:"agent"`
	// Tasks is how many tasks it was given.
	Tasks int `json:"tasks"`
	// Landed is how many of them have landed.
	Landed int `json:"landed"`
	// Attempts is how many it made in all.
	Attempts int `json:"attempts"`
	// Iterations is how many it made in all.
	Iterations int `json:"iterations"`
	// SuccessRate is the share that landed of the tasks that have ended, 0 to 1.
	SuccessRate float64 `json:"successRate"`
	// ByIteration counts landed tasks by the iterations of the attempt that landed.
	ByIteration map[int]int `json:"byIteration"`
	// Failures counts attempts by the code that ended them.
	Failures map[string]int `json:"failures"`
	// Worked is the time that its agents took, together, in milliseconds.
	Worked int64 `json:"worked_ms"`
	// Tokens is what they used, in and out.
	Tokens int64 `json:"tokens"`
	// Cost is what they cost, in US dollars, as their client estimates it.
	Cost float64 `json:"cost_usd"`
	// SuccessByIteration is, of the attempts that came to an iteration and have ended, the share
	// that landed with it, 0 to 1.
	SuccessByIteration map[int]float64 `json:"successByIteration"`
	// BreakerTrips is how many attempts the circuit breaker ended.
	BreakerTrips int `json:"breakerTrips"`
	// Rules is how the rules have fared with its work, by name.
	Rules []RuleRecord `json:"rules"`
}

// RuleRecord is how one rule has fared with one agent's work, in the iterations of its attempts
// and at the gate.
type RuleRecord struct {
	// Rule is its name.
	Rule string `json:"ruleName"`
	// Asked is how often it was asked.
	Asked int `json:"asked"`
	// Passed is how often it passed.
	Passed int `json:"passed"`
	// Errored is how often it could not be asked.
	Errored int `json:"errored"`
	// SuccessRate is Passed by Asked, 0 to 1.
	SuccessRate float64 `json:"successRate"`
}

// Explain is what reason codes mean.
type Explain struct {
	// Codes are the codes that were asked about; one that means several things is there once for each.
	Codes []ReasonCode `json:"codes"`
}

// Schema is "orch.explain/1".
func (Explain) Schema() string { return "orch.explain/1" }

// ReasonCode is what is known of a reason code.
type ReasonCode struct {
	// Code is the code.
	Code reason.Code `json:"Code"`
	// Means says in a clause what it means.
	Means string `json:"Means"`
	// Do is what a person can do.
	Do string `json:"Do"`
	// Charges says that an attempt that ends for it counts against the task's attempts.
	Charges bool `json:"Charges"`
	// Failure says that a task parked for it counts for max_consecutive_failures.
	Failure bool `json:"Failure"`
	// Status is the tracker's status of a task parked for it; "" leaves it as it is.
	Status string `json:"Status"`
	// Exit is the exit code of a run that ends for it; of a promise, that of orch status --exit-status, but for 7 at a set limit.
	Exit int `json:"Exit"`
}

// ExplainOf is what these codes mean.
func ExplainOf(reasons []reason.Row) Explain {
	d := Explain{Codes: []ReasonCode{}}
	for _, r := range reasons {
		status := ""
		if r.Blocks {
			status = string(tracker.StatusBlocked)
		}
		d.Codes = append(d.Codes, ReasonCode{Code: r.Code, Means: r.Means, Do: r.Do, Charges: r.Charges, Failure: r.Failure, Status: status, Exit: int(r.Exit)})
	}
	return d
}
