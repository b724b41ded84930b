package land

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/iteration"
)

// Stack is the work of attempts that is to land together, one on top of the other. It is data alone.
type Stack struct {
	// Tip is the commit of the epic branch that it is built on.
	Tip git.Commit `json:"tip"`
	// Tasks are the tasks whose work it is, the lowest first. A stack without any is the tip itself.
	Tasks []Task `json:"tasks,omitempty"`
	// Candidates are the commits that were built and judged, one a task; Move only.
	Candidates []git.Commit `json:"candidates,omitempty"`
	// Lease is what the run holds; Move verifies it.
	Lease git.Ref `json:"lease"`
}

// Task is one task with the attempt whose work is to land.
type Task struct {
	// ID is the task's.
	ID epic.TaskID `json:"id"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Title becomes the subject of its commit.
	Title string `json:"title,omitempty"`
	// Head is the work.
	Head git.Commit `json:"head"`
	// Sandbox is what bounded its agents; "" where that is not known.
	Sandbox string `json:"sandbox,omitempty"`
	// Accepted says that a person has accepted its changes of protected paths.
	Accepted bool `json:"accepted,omitempty"`
}

// Judgement is what became of a stack. It is data alone.
type Judgement struct {
	// Built are the tasks whose candidates were judged together, the lowest first; none where
	// nothing was left to judge.
	Built []Built `json:"built,omitempty"`
	// Conflicts are the tasks whose work does not merge with the tip. Work that conflicts only
	// with what is below it in the stack is in neither list: it waits.
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// Refused are the tasks that change protected paths which no person has accepted.
	Refused []Refusal `json:"refused,omitempty"`
	// Tree is the tree that the gate judged.
	Tree string `json:"tree,omitempty"`
	// Passed says that all rules hold.
	Passed bool `json:"passed,omitempty"`
	// Score is from 0 to 100.
	Score int `json:"score,omitempty"`
	// Rules are the gate's, each with its outcome.
	Rules []iteration.RuleOutcome `json:"rules,omitempty"`
	// Why is the first rule that does not hold, in a clause.
	Why string `json:"why,omitempty"`
	// Feedback is what an agent can mend; "" when all rules hold.
	Feedback string `json:"feedback,omitempty"`
	// Log is a file with the gate's output; "" when it could not be written.
	Log string `json:"log,omitempty"`
	// Survivors are the processes that the gate has left and that could not be ended; normally none.
	Survivors []int `json:"survivors,omitempty"`
	// Took is how long building and judging took.
	Took time.Duration `json:"took,omitempty"`

	Size
}

// Built is the candidate of a task.
type Built struct {
	Task      epic.TaskID `json:"task"`
	Candidate git.Commit  `json:"candidate"`
}

// Conflict is work that does not merge with the tip.
type Conflict struct {
	Task  Task     `json:"task"`
	Files []string `json:"files,omitempty"` // in conflict
}

// Refusal is work that changes protected paths.
type Refusal struct {
	Task  Task     `json:"task"`
	Files []string `json:"files,omitempty"` // protected
}

// Size is how much changes, for people.
type Size struct {
	Files   int `json:"files,omitempty"`
	Added   int `json:"added,omitempty"`   // lines
	Deleted int `json:"deleted,omitempty"` // lines
}

// Moved is what there is to say of a stack that is on the epic branch.
type Moved struct {
	Size
	// Secrets is what looks secret in the lines that came, as "FILE (NAME)".
	Secrets []string `json:"secrets,omitempty"`
	// Note is anything else, in a clause.
	Note string `json:"note,omitempty"`
}

// StarvedError says that a judgement is the machine's rather than the gate's.
type StarvedError struct {
	// Why is the fault, in a clause.
	Why string
}

// Error is the fault.
func (e *StarvedError) Error() string { return "the gate: " + e.Why }
