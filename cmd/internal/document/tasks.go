package document

import "github.com/beadsorch/orch/orchestrator/tracker"

// Tasks are issues of the embedded tracker.
type Tasks struct {
	// Issues are the records, as beads writes them: fields that are not named here may follow.
	Issues []tracker.Issue `json:"issues"`
}

// Schema is "orch.tasks/1".
func (Tasks) Schema() string { return "orch.tasks/1" }

// TasksOf are these issues.
func TasksOf(issues ...tracker.Issue) Tasks {
	return Tasks{Issues: append([]tracker.Issue{}, issues...)}
}

// TaskClosed confirms that a task was closed by hand.
type TaskClosed struct {
	// Closed is its id.
	Closed string `json:"closed"`
}

// Schema is "orch.tasks/1".
func (TaskClosed) Schema() string { return "orch.tasks/1" }

// DependencyChanged confirms a dependency between two tasks.
type DependencyChanged struct {
	// Changed says in a clause what is so now.
	Changed string `json:"changed"`
}

// Schema is "orch.tasks/1".
func (DependencyChanged) Schema() string { return "orch.tasks/1" }

// TasksImported confirms what was taken in.
type TasksImported struct {
	// Created is how many issues are new.
	Created int `json:"created"`
	// Updated is how many were there and have changed.
	Updated int `json:"updated"`
}

// Schema is "orch.tasks/1".
func (TasksImported) Schema() string { return "orch.tasks/1" }

// Task is one task of the tracker.
type Task struct {
	// Task is the record, as beads writes it: fields that are not named here may follow.
	Task tracker.Issue `json:"task"`
}

// Schema is "orch.task/1".
func (Task) Schema() string { return "orch.task/1" }

// TaskUpdated confirms where a task stands.
type TaskUpdated struct {
	// ID is its id in the tracker.
	ID string `json:"id"`
	// Status is open, in_progress or blocked.
	Status string `json:"status"`
	// Updated is true.
	Updated bool `json:"updated"`
}

// Schema is "orch.task/1".
func (TaskUpdated) Schema() string { return "orch.task/1" }

// Product confirms a work product.
type Product struct {
	// ID names it.
	ID string `json:"workProductId"`
	// TaskID is the id of the task in the tracker.
	TaskID string `json:"taskId"`
	// Type is implementation, test_plan, security_review, documentation or other.
	Type string `json:"type"`
	// Title is one line; "" for none.
	Title string `json:"title"`
	// Path is where it is kept.
	Path string `json:"path"`
	// Bytes is how long it is.
	Bytes int `json:"bytes"`
}

// Schema is "orch.product/1".
func (Product) Schema() string { return "orch.product/1" }
