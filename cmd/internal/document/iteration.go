package document

import (
	"encoding/json"
	"time"

	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/iteration"
)

// Iteration is how an iteration loop stands.
type Iteration struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// IterationID names the loop: a task has one at a time, with the task's id.
	IterationID string `json:"iterationId"`
	// Number is the number of the current iteration, from 1.
	Number int `json:"iterationNumber"`
	// Max is how many iterations there may be.
	Max int `json:"maxIterations"`
	// History is each iteration that was validated, oldest first.
	History []iteration.Entry `json:"iterationHistory"`
	// Fails is how many validations in a row did not pass, the newest included.
	Fails int `json:"consecutiveFailures"`
	// LastFailure is why the newest validation did not pass; "" where it did.
	LastFailure string `json:"lastFailureReason"`
	// Validated says that the current iteration was validated.
	Validated bool `json:"validated"`
	// Done is how the loop ended: COMPLETE, BLOCKED or ESCALATE; "" while it goes on.
	Done iteration.Signal `json:"done"`
	// Guard is the guard that has ended it; "" for none.
	Guard string `json:"guard"`
	// Rules are the names of the rules that are asked after each iteration.
	Rules []string `json:"rules"`
	// AgentContext is what the agent wanted to know again, any JSON; null for nothing.
	AgentContext json.RawMessage `json:"agentContext"`
	// Message says for a person how the loop stands.
	Message string `json:"message"`
	// CheckpointID is the checkpoint that was made; present after start and next.
	CheckpointID string `json:"checkpointId,omitempty"`
	*IterationEnd
}

// Schema is "orch.iteration/1".
func (Iteration) Schema() string { return "orch.iteration/1" }

// IterationEnd is how a loop has ended: present after complete.
type IterationEnd struct {
	// Score is the score of the newest validation, 0 to 100; 0 without one.
	Score int `json:"finalValidationScore"`
	// Iterations is how many there were.
	Iterations int `json:"totalIterations"`
	// At is when the loop was completed, UTC.
	At time.Time `json:"completedAt"`
	// WorkProduct is what was stored for the task; "" for nothing.
	WorkProduct string `json:"workProduct"`
}

// IterationOf is how a loop stands; message says it for a person.
func IterationOf(l iteration.Loop, message string) Iteration {
	d := Iteration{TaskID: l.TaskID, IterationID: l.TaskID, Number: l.Iteration, Max: l.Config.MaxIterations, History: l.History, Fails: l.Fails(), LastFailure: l.LastFailure(),
		Validated: l.Last != nil, Done: l.Done, Guard: l.Guard(), Rules: []string{}, AgentContext: l.AgentContext, Message: message}
	for _, r := range l.Config.ValidationRules {
		d.Rules = append(d.Rules, r.Name)
	}
	return d
}

// IterationLimit confirms how many iterations the attempts at a task may have in a run.
type IterationLimit struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Max is how many iterations there may be.
	Max int `json:"maxIterations"`
}

// Schema is "orch.iteration/1".
func (IterationLimit) Schema() string { return "orch.iteration/1" }

// Validate is what the rules said of an iteration, and what comes next.
type Validate struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Number is the number of the iteration, from 1.
	Number int `json:"iterationNumber"`
	// Passed says that all rules have passed.
	Passed bool `json:"validationPassed"`
	// Score is the share of rules that have passed, 0 to 100.
	Score int `json:"validationScore"`
	// Signal is CONTINUE (go on with the next iteration), COMPLETE, BLOCKED or ESCALATE (end the
	// loop).
	Signal iteration.Signal `json:"completionSignal"`
	// Promise is the promise that was found in what the agent said; "" for none.
	Promise string `json:"detectedPromise"`
	// Reason is that of the promise, of the hook or of the guard; "" for none.
	Reason string `json:"reason"`
	// Guard is the guard that has ended the loop; "" for none.
	Guard string `json:"guard"`
	// Feedback is what the next iteration should mend, a text each.
	Feedback []string `json:"feedback"`
	// Report is what each rule said.
	Report Report `json:"validationReport"`
	// Next is the command that goes on.
	Next string `json:"next"`
}

// Schema is "orch.validate/1".
func (Validate) Schema() string { return "orch.validate/1" }

// Report is what the rules said of one iteration.
type Report struct {
	// Total is how many rules were asked.
	Total int `json:"totalRules"`
	// Passed is how many have passed.
	Passed int `json:"passedRules"`
	// Failed is how many did not pass.
	Failed int `json:"failedRules"`
	// Errored is how many could not be asked.
	Errored int `json:"erroredRules"`
	// Overall says that all have passed.
	Overall bool `json:"overallPassed"`
	// Score is the share of rules that have passed, 0 to 100.
	Score int `json:"validationScore"`
	// Results are the rules, in their order.
	Results []iteration.RuleOutcome `json:"results"`
}

// ValidateOf is what iteration n of a task came to; next is the command that goes on.
func ValidateOf(task string, n int, o iteration.Outcome, next string) Validate {
	r := Report{Total: len(o.Rules), Overall: o.Passed, Score: o.Score, Results: append([]iteration.RuleOutcome{}, o.Rules...)}
	for _, rule := range o.Rules {
		switch {
		case rule.Passed:
			r.Passed++
		case rule.Errored:
			r.Errored++
		default:
			r.Failed++
		}
	}
	return Validate{TaskID: task, Number: n, Passed: o.Passed, Score: o.Score, Signal: o.Signal, Promise: o.DetectedPromise, Reason: o.Reason, Guard: o.Guard,
		Feedback: o.Feedback, Report: r, Next: next}
}

// CheckpointCreated confirms a checkpoint.
type CheckpointCreated struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// ID names the checkpoint.
	ID string `json:"checkpointId"`
	// Sequence is its number among those of the task, from 1.
	Sequence int `json:"sequence"`
	// Number is the number of the iteration that it was made in; 0 without a loop.
	Number int `json:"iterationNumber"`
}

// Schema is "orch.checkpoint/1".
func (CheckpointCreated) Schema() string { return "orch.checkpoint/1" }

// CheckpointExpired confirms that a checkpoint has expired.
type CheckpointExpired struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// ID names the checkpoint.
	ID string `json:"checkpointId"`
	// Expired is true.
	Expired bool `json:"expired"`
}

// Schema is "orch.checkpoint/1".
func (CheckpointExpired) Schema() string { return "orch.checkpoint/1" }

// CheckpointsRemoved confirms that checkpoints are gone.
type CheckpointsRemoved struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Removed is how many are gone.
	Removed int `json:"removed"`
}

// Schema is "orch.checkpoint/1".
func (CheckpointsRemoved) Schema() string { return "orch.checkpoint/1" }

// Checkpoints are the checkpoints of a task.
type Checkpoints struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Checkpoints are the checkpoints, oldest first.
	Checkpoints []checkpoint.Checkpoint `json:"checkpoints"`
}

// Schema is "orch.checkpoints/1".
func (Checkpoints) Schema() string { return "orch.checkpoints/1" }

// Resume is what to go on with, from a checkpoint.
type Resume struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Instructions say for the agent what to go on with.
	Instructions string `json:"resumeInstructions"`
	// Checkpoint is the checkpoint itself.
	Checkpoint checkpoint.Checkpoint `json:"checkpoint"`
	// AgentContext is what the agent wanted to know again, any JSON; null for nothing.
	AgentContext json.RawMessage `json:"agentContext"`
	*ResumedLoop
}

// Schema is "orch.resume/1".
func (Resume) Schema() string { return "orch.resume/1" }

// ResumedLoop is the loop that a checkpoint belongs to; absent where the task has none.
type ResumedLoop struct {
	// Number is the number of the current iteration, from 1.
	Number int `json:"iterationNumber"`
	// History is each iteration that was validated, oldest first.
	History []iteration.Entry `json:"iterationHistory"`
	// Config is how the loop iterates.
	Config iteration.Config `json:"iterationConfig"`
}
