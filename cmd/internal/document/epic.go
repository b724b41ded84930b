package document

import (
	"encoding/json"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Status is how an epic stands.
type Status struct {
	// Epic is its id in the tracker.
	Epic epic.TaskID `json:"epic"`
	// AsOf is when it stood so, UTC.
	AsOf time.Time `json:"as_of"`
	// Counts says how many tasks are where.
	Counts epic.Counts `json:"counts"`
	// Tasks are its tasks, in the order in which orch learned of them.
	Tasks []TaskRow `json:"tasks"`
	// ETA guesses how long the rest takes, in milliseconds; 0 while nothing has landed to guess
	// from.
	ETA int64 `json:"eta_ms"`
	// Branch is the branch that finished work is on.
	Branch string `json:"branch"`
	// Tip is the commit at which the last landing, or a person's word, left the branch; "" before
	// the first run.
	Tip epic.Commit `json:"tip"`
	// Run is the newest run.
	Run RunRow `json:"run"`
	// Tampered is what others changed since that run began which only orch or a person may write.
	Tampered []Tampering `json:"tampered"`
	*Around
}

// Schema is "orch.status/1".
func (Status) Schema() string { return "orch.status/1" }

// Tampering is one change by others, or several that were found together.
type Tampering struct {
	// At is when it was found, UTC.
	At time.Time `json:"at"`
	// Code is TAMPERED, or that of what it led to.
	Code reason.Code `json:"code"`
	// Task is whose attempt had ended when it was found; absent for none.
	Task epic.TaskID `json:"task,omitempty"`
	// Attempt is the number of that attempt, from 1; absent for none.
	Attempt int `json:"attempt,omitempty"`
	// When says in a clause during what it happened, and so who may have done it.
	When string `json:"when"`
	// Files are the first few of what was changed: files, and references.
	Files []string `json:"files"`
	// Changes says of each what was done, with the command that shows or undoes it.
	Changes []string `json:"changes"`
}

// Around is what stands around an epic, found out by looking. It is absent from what orch run
// prints at its end.
type Around struct {
	// Held says that a run, or a short command, has the epic now.
	Held bool `json:"held"`
	// Holder is who has it; absent while nobody does.
	Holder *Holder `json:"holder,omitempty"`
	// TrackerAge is how old the newest reading of the tracker is, in milliseconds.
	TrackerAge int64 `json:"tracker_age_ms"`
	// Asked are the requests that no run has taken yet, oldest first, 100 at most.
	Asked []Record `json:"asked"`
	// AskedMore is how many more there are; absent for none.
	AskedMore int `json:"asked_more,omitempty"`
	// NoRequests are files among the requests that are none, each with why, 100 at most.
	NoRequests []string `json:"no_requests"`
	// NoRequestsMore is how many more there are; absent for none.
	NoRequestsMore int `json:"no_requests_more,omitempty"`
	// EpicBranch is where the epic branch is.
	EpicBranch EpicBranch `json:"epic_branch"`
	// LetGo are the sessions that the stop hook let go with work of the epic left, which nobody has bound again.
	LetGo []SessionEnding `json:"sessions_let_go"`
	// Kept are folders with what could be put into no commit, for a person to look through.
	Kept []Folder `json:"kept"`
	// LeftBehind is what could not be removed.
	LeftBehind []Folder `json:"left_behind"`
}

// Folder is one that is kept, or left, with why.
type Folder struct {
	// Path is where it is; with the reference that is meant, where it is one.
	Path string `json:"path"`
	// Why says in a clause what it holds, or why it is there still.
	Why string `json:"why"`
}

// SessionEnding is a session that was let go with work left.
type SessionEnding struct {
	// Session is the client's id of it.
	Session string `json:"session"`
	// Cause is why, in a word of docs/stop-hook.md.
	Cause string `json:"cause"`
	// Why is the same in a clause.
	Why string `json:"why"`
	// At is when, UTC.
	At time.Time `json:"at"`
}

// Holder is a run, or a short command, that has an epic.
type Holder struct {
	// PID is the id of its process.
	PID int `json:"pid"`
	// Host is the name of the machine that it runs on.
	Host string `json:"host"`
	// Started is when it began, UTC.
	Started time.Time `json:"started"`
	// Command is run, next, land or iteration.
	Command string `json:"command"`
}

// EpicBranch is how the epic branch stands to what has landed.
type EpicBranch struct {
	// Moved says that it is elsewhere than it was left.
	Moved bool `json:"moved"`
	// Gone says that it is gone, after all work was done.
	Gone bool `json:"gone"`
	// Kept says that a reference keeps the last tip.
	Kept bool `json:"tip_kept"`
	// Move is how it has moved; absent while it has not.
	Move *epic.TipMove `json:"move,omitempty"`
	// CheckedOut is the work tree that has it checked out; absent for none.
	CheckedOut string `json:"checked_out_in,omitempty"`
}

// RunRow is one run of an epic.
type RunRow struct {
	// Number counts the runs of the epic, from 1; 0 before the first. Short commands (orch next, land,
	// epic) are none.
	Number int `json:"number"`
	// State is running (a run goes on, or sessions work on tasks), ended, cut_off (it was killed) or none.
	State string `json:"state"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR: what the epic needs now.
	Promise epic.Promise `json:"promise"`
	// Paused says that the run that goes on starts no agent until orch continue.
	Paused bool `json:"paused"`
	// Code is why the run stopped early; "" when it did not.
	Code reason.Code `json:"code"`
	// Reason says in a clause how the epic stands.
	Reason string `json:"reason"`
	// Cost is what the agents of the run cost, in US dollars, as their clients estimate it.
	Cost float64 `json:"cost_usd"`
	// Tokens is what they used, in and out.
	Tokens int64 `json:"tokens"`
	// Iterations is how many agents the run has started.
	Iterations int `json:"iterations"`
	// Elapsed is how long it has taken until now or its end, in milliseconds.
	Elapsed int64 `json:"elapsed_ms"`
	// Sandbox is what bounds its agents and the gate: bubblewrap, namespaces, landlock, or off; absent where
	// that is not known.
	Sandbox string `json:"sandbox,omitempty"`
}

// TaskRow is a task as it is shown.
type TaskRow struct {
	TaskProgress
	// Title is one line.
	Title string `json:"title"`
	// Tracker is the tracker's own word for where it stands.
	Tracker string `json:"tracker_status"`
	// Since is when its state last changed, UTC; absent where it never has.
	Since time.Time `json:"since,omitzero"`
	// WaitsFor are the tasks that it waits for; absent for none.
	WaitsFor []epic.TaskID `json:"waits_for,omitempty"`
	// Commit is what landed it; absent before.
	Commit epic.Commit `json:"commit,omitempty"`
	// Next is what a person may type; absent where nothing needs them.
	Next []Command `json:"next,omitempty"`
}

// Command is a command that a person may type.
type Command struct {
	// Cmd is the command line.
	Cmd string `json:"cmd"`
	// Why is what for.
	Why string `json:"why"`
}

// Progress is what matters of an epic's status to somebody who waits for it.
type Progress struct {
	// Epic is its id in the tracker.
	Epic epic.TaskID `json:"epic"`
	// Branch is the branch that finished work is on.
	Branch string `json:"branch"`
	// Counts says how many tasks are where.
	Counts epic.Counts `json:"counts"`
	// ETA guesses how long the rest takes, in milliseconds; 0 without a guess.
	ETA int64 `json:"eta_ms"`
	// Held says that a run, or a short command, has the epic now.
	Held bool `json:"held"`
	// Run is the newest run.
	Run RunRow `json:"run"`
	// Tampered is what others changed since that run began which only orch or a person may write.
	Tampered []Tampering `json:"tampered"`
	// Tasks are its tasks, in the order in which orch learned of them.
	Tasks []TaskProgress `json:"tasks"`
}

// Schema is "orch.progress/1".
func (Progress) Schema() string { return "orch.progress/1" }

// TaskProgress is how far a task is.
type TaskProgress struct {
	// ID is its id in the tracker.
	ID epic.TaskID `json:"id"`
	// State is ready, waiting, running, queued, validating, landed, parked or skipped.
	State epic.TaskState `json:"state"`
	// Reason is the code of why it does not go on; absent where it does. orch explain says more.
	Reason reason.Code `json:"reason,omitempty"`
	// Why is the same in a clause.
	Why string `json:"why,omitempty"`
	// Attempts is how many attempts were made at it.
	Attempts int `json:"attempts"`
	// Iterations is how many the newest attempt has had; absent without one.
	Iterations int `json:"iterations,omitempty"`
	// Scores are those of the iterations that its agent's rules judged, 0 to 100, oldest first.
	Scores []int `json:"scores,omitempty"`
	// Guard is the guard that has ended the loop of its session; absent for none.
	Guard reason.Code `json:"guard,omitempty"`
}

// Event is a line of the journal.
type Event struct {
	// Seq is the number of the record, from 1.
	Seq int64 `json:"seq"`
	// Event is what happened.
	Event Record `json:"event"`
}

// Record is an event as the journal has it.
type Record struct {
	// V is the version of its shape.
	V int `json:"v"`
	// Kind is what happened, in the past tense.
	Kind epic.Kind `json:"kind"`
	// At is when, UTC.
	At time.Time `json:"at"`
	// Task is to which task; absent for none.
	Task epic.TaskID `json:"task,omitempty"`
	// Attempt is in which attempt, from 1; absent for none.
	Attempt int `json:"attempt,omitempty"`
	// Code is why; absent for none.
	Code reason.Code `json:"code,omitempty"`
	// Reason is the same in a clause.
	Reason string `json:"reason,omitempty"`
	// Data are the fields of the kind; absent where it has none.
	Data json.RawMessage `json:"data,omitempty"`
	// Kept are hashes of long texts that are in files, by the names of their fields.
	Kept map[string]string `json:"kept,omitempty"`
}

// RecordOf is an event for a program. It fails for an event that no journal takes.
func RecordOf(e epic.Event) (r Record, err error) {
	b, err := json.Marshal(e)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

// RecordsOf are events for a program; one that no journal takes is left out.
func RecordsOf(events []epic.Event) (all []Record) {
	for _, e := range events {
		if r, err := RecordOf(e); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// Schema is "orch.event/1".
func (Event) Schema() string { return "orch.event/1" }

// Plan is what is left of an epic: what could start when, and what cannot.
type Plan struct {
	// Epic is its id in the tracker.
	Epic epic.TaskID `json:"epic"`
	// Title is one line.
	Title string `json:"title"`
	// Tracker is the kind of the tracker: bd or file.
	Tracker string `json:"tracker"`
	// Plan is what could run when, and what cannot.
	Plan epic.Plan `json:"plan"`
	// Counts says how many tasks are where.
	Counts epic.Counts `json:"counts"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR: what the epic needs now.
	Promise epic.Promise `json:"promise"`
	// Code is why the newest run stopped early; "" when it did not.
	Code reason.Code `json:"code"`
	// Reason says in a clause how the epic stands.
	Reason string `json:"reason"`
	// SettingsBroken says what is wrong with the settings; absent where they are sound.
	SettingsBroken string `json:"settings_broken,omitempty"`
}

// Schema is "orch.plan/2".
func (Plan) Schema() string { return "orch.plan/2" }

// Asked confirms a request that was left for a run.
type Asked struct {
	// Epic is the id of the epic.
	Epic epic.TaskID `json:"epic"`
	// What was asked for, in a clause.
	What string `json:"what"`
	// Running says that a run goes on, which takes the request at once; else the next one does.
	Running bool `json:"running"`
}

// Schema is "orch.asked/1".
func (Asked) Schema() string { return "orch.asked/1" }

// Started says that a run goes on apart from the command that began it.
type Started struct {
	// Epic is the id of the epic.
	Epic epic.TaskID `json:"epic"`
	// Run is its number, from 1.
	Run int `json:"run"`
	// PID is the id of the process that drives it.
	PID int `json:"pid"`
	// Log is the file that takes what this process prints.
	Log string `json:"log"`
}

// Schema is "orch.started/1".
func (Started) Schema() string { return "orch.started/1" }

// EpicSettled is what became of an epic branch that was moved by others.
type EpicSettled struct {
	// Epic is the id of the epic.
	Epic epic.TaskID `json:"epic"`
	// Did is restored, accepted or merged.
	Did string `json:"did"`
	// Move is how the branch had moved.
	Move epic.TipMove `json:"move"`
}

// Schema is "orch.epic/1".
func (EpicSettled) Schema() string { return "orch.epic/1" }
