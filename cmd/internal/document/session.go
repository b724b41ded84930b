package document

import (
	"encoding/json"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/registry"
	"github.com/beadsorch/orch/stophook/session"
)

// Stop is whether a session may end, and why.
type Stop struct {
	// Session is the client's id of it.
	Session string `json:"session"`
	// Block says that it is sent back to work.
	Block bool `json:"block"`
	// Verdict is why, in a word of docs/stop-hook.md.
	Verdict stophook.Cause `json:"verdict"`
	// Why is the same in a clause.
	Why string `json:"why"`
	// Prompt is the text for a session whose stop is blocked; "" else.
	Prompt string `json:"prompt"`
	// Counts is what would be kept of the session.
	Counts session.Session `json:"counts"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR, of the epic that the session
	// works on; absent where it works on none.
	Promise epic.Promise `json:"promise,omitempty"`
}

// Schema is "orch.stop/1".
func (Stop) Schema() string { return "orch.stop/1" }

// SessionBound confirms that the stop hook keeps a session at work on an epic.
type SessionBound struct {
	// Session is the client's id of it.
	Session string `json:"session"`
	// Epic is the id of the epic.
	Epic string `json:"epic"`
	// Prompt is the prompt for the session's model.
	Prompt string `json:"prompt"`
}

// Schema is "orch.session/1".
func (SessionBound) Schema() string { return "orch.session/1" }

// SessionReleased confirms that a session may end when it wants.
type SessionReleased struct {
	// Session is the client's id of it.
	Session string `json:"session"`
	// Epic is the id of the epic that it was bound to.
	Epic string `json:"epic"`
	// Released is true.
	Released bool `json:"released"`
}

// Schema is "orch.session/1".
func (SessionReleased) Schema() string { return "orch.session/1" }

// Sessions are the sessions that are bound to epics here.
type Sessions struct {
	// Sessions is what is kept of each.
	Sessions []session.Session `json:"sessions"`
	// Tasks are what sessions work on, in all epics.
	Tasks []SessionTask `json:"tasks"`
}

// SessionTask is a task that a session works on.
type SessionTask struct {
	// Task is its id in the tracker.
	Task epic.TaskID `json:"task"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Holder is the session.
	Holder epic.SessionHolder `json:"holder"`
	// Gone says in a clause why the session is gone, so that the next run, or orch next, takes the
	// task up; absent while it is there.
	Gone string `json:"gone,omitempty"`
}

// Schema is "orch.sessions/1".
func (Sessions) Schema() string { return "orch.sessions/1" }

// Loop is how a session's own loop stands.
type Loop struct {
	// Loop is what is kept of it.
	Loop stophook.CriteriaLoop `json:"loop"`
	// Unmet are the criteria that are not true, in their order.
	Unmet []string `json:"unmet"`
}

// Schema is "orch.loop/1".
func (Loop) Schema() string { return "orch.loop/1" }

// HookRegistered confirms a hook of a task.
type HookRegistered struct {
	// ID names the hook.
	ID string `json:"hookId"`
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Type is how it decides: a preset, a template, a composition or a program.
	Type string `json:"hookType"`
	// Enabled says that it is asked.
	Enabled bool `json:"enabled"`
	// Metadata is as it was sent.
	Metadata map[string]any `json:"metadata"`
}

// Schema is "orch.hook/1".
func (HookRegistered) Schema() string { return "orch.hook/1" }

// HookEvaluated is what the hooks of a task decide.
type HookEvaluated struct {
	// ID names the hook that decided; "default" where the task has none.
	ID string `json:"hookId"`
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Iteration is the number of the iteration that was decided on, from 1; 0 without one.
	Iteration int `json:"iteration"`
	// Action is complete, continue or escalate.
	Action registry.Action `json:"action"`
	// Reason is for a person.
	Reason string `json:"reason"`
	// NextPrompt is what to go on with; null for nothing.
	NextPrompt *string `json:"nextPrompt"`
	// CheckpointCreated is false: a hook only says what it wants kept.
	CheckpointCreated bool `json:"checkpointCreated"`
	// CheckpointData is what the hook wants kept, any JSON; absent for nothing.
	CheckpointData json.RawMessage `json:"checkpointData,omitempty"`
	// Metadata is anything else that the hook says.
	Metadata map[string]any `json:"metadata"`
	// Asked is what each hook said that was asked, in order; present with --debug.
	Asked []registry.Asked `json:"asked,omitzero"`
}

// Schema is "orch.hook/1".
func (HookEvaluated) Schema() string { return "orch.hook/1" }

// HookEvaluatedOf is what the hooks of a task decide on an iteration.
func HookEvaluatedOf(task string, n int, e registry.Evaluation) HookEvaluated {
	d := HookEvaluated{ID: e.HookID, TaskID: task, Iteration: n, Action: e.Action, Reason: e.Reason, CheckpointData: e.CheckpointData, Metadata: e.Metadata}
	if e.NextPrompt != "" {
		d.NextPrompt = &e.NextPrompt
	}
	if d.Metadata == nil {
		d.Metadata = map[string]any{}
	}
	return d
}

// HookList are the hooks of a task.
type HookList struct {
	// TaskID is the id of the task in the tracker; "" for those of all tasks.
	TaskID string `json:"taskId"`
	// Count is how many there are.
	Count int `json:"hookCount"`
	// Hooks are the hooks, in the order in which they are asked.
	Hooks []HookRow `json:"hooks"`
}

// Schema is "orch.hook/1".
func (HookList) Schema() string { return "orch.hook/1" }

// HookRow is one hook.
type HookRow struct {
	// ID names it.
	ID string `json:"id"`
	// TaskID is the id of its task in the tracker.
	TaskID string `json:"taskId"`
	// Enabled says that it is asked.
	Enabled bool `json:"enabled"`
	// Metadata is as it was sent, and the type.
	Metadata map[string]any `json:"metadata"`
	// Spec is how it decides.
	Spec registry.Spec `json:"spec"`
}

// HooksCleared confirms that a task has no hooks any more.
type HooksCleared struct {
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Cleared is how many it had.
	Cleared int `json:"hooksCleared"`
}

// Schema is "orch.hook/1".
func (HooksCleared) Schema() string { return "orch.hook/1" }

// HookSwitched confirms that a hook is asked again, or passed over.
type HookSwitched struct {
	// ID names it.
	ID string `json:"hookId"`
	// Enabled says that it is asked.
	Enabled bool `json:"enabled"`
}

// Schema is "orch.hook/1".
func (HookSwitched) Schema() string { return "orch.hook/1" }

// HookMetrics is what hooks decided how often.
type HookMetrics struct {
	// TaskID is the id of the task in the tracker; "" for the hooks of all tasks.
	TaskID string `json:"taskId"`
	// Hooks are the hooks, in the order in which they are asked.
	Hooks []HookMetricsRow `json:"hooks"`
}

// Schema is "orch.hook-metrics/1".
func (HookMetrics) Schema() string { return "orch.hook-metrics/1" }

// HookMetricsRow is what one hook decided how often.
type HookMetricsRow struct {
	// ID names it.
	ID string `json:"id"`
	// TaskID is the id of its task in the tracker.
	TaskID string `json:"taskId"`
	// Type is how it decides.
	Type string `json:"type"`
	// Evaluations is how often it was asked.
	Evaluations int `json:"evaluations"`
	// Complete is how often it said complete.
	Complete int `json:"complete"`
	// Continue is how often it said continue.
	Continue int `json:"continue"`
	// Escalate is how often it said escalate.
	Escalate int `json:"escalate"`
	// Failed is how often it escalated since it could not decide.
	Failed int `json:"failed"`
	// Mean is how long it took on average, in milliseconds.
	Mean int64 `json:"mean_ms"`
}
