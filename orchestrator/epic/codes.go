package epic

import (
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Code is a reason code: one closed list, the same in the journal, in status
// and in the exit of a run.
type Code string

// The reason codes.
const (
	Question      Code = "QUESTION"
	GateFailed    Code = "GATE_FAILED"
	BaseRed       Code = "BASE_RED"
	MergeConflict Code = "MERGE_CONFLICT"
	NoChange      Code = "NO_CHANGE"
	NoProgress    Code = "NO_PROGRESS"
	AgentCrashed  Code = "AGENT_CRASHED"
	AgentAuth     Code = "AGENT_AUTH"
	UsageLimit    Code = "USAGE_LIMIT"
	Protected     Code = "PROTECTED"
	TooLarge      Code = "TOO_LARGE"
	DepFailed     Code = "DEP_FAILED"
	DepCycle      Code = "DEP_CYCLE"
	DepExternal   Code = "DEP_EXTERNAL"
	Permission    Code = "PERMISSION"
	TrackerDrift  Code = "TRACKER_DRIFT"
	TrackerDown   Code = "TRACKER_DOWN"
	Orphaned      Code = "ORPHANED"

	LandedElsewhere Code = "LANDED_ELSEWHERE"

	Machine Code = "MACHINE"
	Disk    Code = "DISK" // only in journals of version 1; MACHINE since
)

// The guards of an attempt, as package iteration names them.
const (
	MaxIterations     Code = "MAX_ITERATIONS"
	CircuitBreaker    Code = "CIRCUIT_BREAKER"
	QualityRegression Code = "QUALITY_REGRESSION"
	Stuck             Code = "STUCK"
	Budget            Code = "BUDGET"
	Regression        Code = "REGRESSION" // only in older journals; QUALITY_REGRESSION since
	Looping           Code = "LOOPING"    // only in older journals; STUCK since
)

// The limits of a run. In older journals they have the names of the guards.
const (
	RunIterations Code = "RUN_ITERATIONS"
	RunFailures   Code = "RUN_FAILURES"
	RunBudget     Code = "RUN_BUDGET"
	TimeUp        Code = "MAX_DURATION"
)

// Reasons that concern the epic or the run, never a single task.
const (
	EpicMoved   Code = "EPIC_MOVED"
	CheckedOut  Code = "CHECKED_OUT"
	Tampered    Code = "TAMPERED"
	RunActive   Code = "RUN_ACTIVE"
	Untrusted   Code = "UNTRUSTED"
	Interrupted Code = "INTERRUPTED"
	HandBack    Code = "HAND_BACK" // a bounded command (next, land) has done its part
)

// Reasons for which a session that asks for a task is handed none, beside those that concern the run.
const (
	Paused       Code = "PAUSED"
	PlacesTaken  Code = "PLACES_TAKEN"
	NothingReady Code = "NOTHING_READY"
	BackOff      Code = "BACK_OFF"
)

// Exit is the status with which orch ends. The README has the whole list.
type Exit int

// The exit codes. Beyond them orch ends with 128 and the number of the signal that stopped it.
const (
	ExitDone     Exit = 0 // done
	ExitFailed   Exit = 1 // unexpected, or the tracker is out of reach
	ExitUsage    Exit = 2 // usage or settings
	ExitNeedsYou Exit = 3 // finished, but a person is needed
	ExitNotReady Exit = 4 // something has to be set up or allowed first
	ExitNotFound Exit = 5 // no such epic or task
	ExitHeld     Exit = 6 // another orch is at it
	ExitLimit    Exit = 7 // a limit was reached; the next run goes on
	ExitNotYet   Exit = 8 // status --exit-status: not finished
	ExitMachine  Exit = 9 // the machine failed; run again when it is mended
)

// Reason is what orch knows of a code. The table of [Reasons] is the only place that says
// how a code is treated.
type Reason struct {
	Code    Code
	Means   string         // in a clause
	Do      string         // what a person can do
	Charges bool           // an attempt that ends for it counts against the task's attempts
	Failure bool           // a task parked for it counts for max_consecutive_failures
	Status  tracker.Status // the tracker's status of a task parked for it; "" leaves it as it is
	Exit    Exit           // of a run that ends for it
}

// ReasonOf returns what is known of a code; ok is false for a word that is none.
func ReasonOf(c Code) (r Reason, ok bool) {
	for _, r := range Reasons() {
		if r.Code == c {
			return r, true
		}
	}
	return Reason{}, false
}

// Why says what a code means, in a clause.
func Why(c Code) string {
	r, _ := ReasonOf(c)
	return r.Means
}

// Reasons is the table of all codes, in the order of the manual.
func Reasons() []Reason {
	const charges, uncharged, failure, neutral = true, false, true, false
	const blocked, untouched = tracker.StatusBlocked, tracker.Status("")
	return []Reason{
		{Question, "the agent asks something that only a person can answer",
			`orch answer TASK "..."`, uncharged, neutral, blocked, ExitNeedsYou},
		{GateFailed, "the gate was red on the task's tree in every attempt that it had",
			`orch logs TASK --gate, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitNeedsYou},
		{BaseRed, "the gate is red on the epic branch before any agent has touched it, so no attempt could ever pass",
			"mend the base or the gate, then orch run again; orch run --allow-red-base goes on regardless", uncharged, neutral, untouched, ExitNeedsYou},
		{MergeConflict, "the work conflicts with what has landed since, and agents did not resolve it",
			`orch diff TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitNeedsYou},
		{NoChange, "the agent ended and had changed nothing; that is never done",
			`orch logs TASK; add to its description, or orch skip TASK`, charges, failure, blocked, ExitNeedsYou},
		{NoProgress, "no output, no change, no commit and no processor time for longer than limits.no_progress, or over limits.task_time",
			"orch logs TASK; a smaller task, or a longer limit", charges, failure, blocked, ExitNeedsYou},
		{Stuck, "the same rule came first of those that did not pass, five times in a row",
			`orch logs TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitNeedsYou},
		{MaxIterations, "the agent wanted to go on more often than its limit allows",
			`orch logs TASK, then orch retry TASK -m "a hint"; orch iteration limit TASK N raises the limit`, charges, failure, blocked, ExitLimit},
		{CircuitBreaker, "validation was red several times in a row",
			`orch logs TASK --gate, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitLimit},
		{QualityRegression, "the score of the validation fell from iteration to iteration",
			`orch diff TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitNeedsYou},
		{Regression, "the name of QUALITY_REGRESSION in journals of an older orch",
			`orch diff TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitNeedsYou},
		{Looping, "the name of STUCK in journals of an older orch",
			`orch logs TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, ExitNeedsYou},
		{AgentCrashed, "the agent's process ended badly in every attempt that the task had, or does not start at all",
			"orch logs TASK; orch doctor", charges, failure, blocked, ExitNotReady},
		{AgentAuth, "the agent's client is not logged in",
			"log in with the client itself, then orch run again", uncharged, neutral, untouched, ExitNotReady},
		{UsageLimit, "the account's usage limit is reached",
			"wait for the reset, then orch run again", uncharged, neutral, untouched, ExitNeedsYou},
		{Budget, "the task's agents have used up its budget of tokens or money (limits.task_tokens, limits.task_cost_usd)",
			"orch retry TASK gives it as much once more, or raise it in project.yaml", charges, failure, blocked, ExitLimit},
		{Protected, "the work changes a path that settles how work is judged, or what runs (workflow.protect)",
			"orch diff TASK, then orch land TASK --accept-protected, or orch retry TASK -m \"leave PATH as it is\"", uncharged, neutral, blocked, ExitNeedsYou},
		{TooLarge, "what the agent committed is over a limit of size (limits.file_size, limits.files, limits.commit_size)",
			"orch diff TASK; raise the limit, then orch retry TASK; or orch retry TASK -m \"leave the large files out\"", charges, failure, blocked, ExitNeedsYou},
		{DepFailed, "it waits for a task that needs a person",
			"orch status names that task", uncharged, neutral, untouched, ExitNeedsYou},
		{DepCycle, "tasks wait for each other in a circle",
			"remove one of the dependencies in the tracker", uncharged, neutral, untouched, ExitNeedsYou},
		{DepExternal, "it waits for something outside the epic, or the tracker holds it back (deferred, blocked, pinned, in other hands)",
			"close or release that in the tracker, then orch run again", uncharged, neutral, untouched, ExitNeedsYou},
		{Permission, "the agent needed a permission that the settings do not give",
			"workflow.agent.allowed_tools in project.yaml", uncharged, neutral, blocked, ExitNeedsYou},
		{TrackerDrift, "a person or another program changed the task in the tracker meanwhile, or the tracker does not have the epic any more",
			"look at it in the tracker; orch retry TASK gives it back to orch; where the epic is missing, orch doctor", uncharged, neutral, untouched, ExitNeedsYou},
		{TrackerDown, "the tracker does not answer",
			"orch doctor", uncharged, neutral, untouched, ExitFailed},
		{Orphaned, "an attempt whose orch is gone",
			"orch run EPIC picks it up", uncharged, neutral, blocked, ExitFailed},
		{LandedElsewhere, "another clone with this tracker has closed the task, and the epic branch here does not have its work",
			"git fetch CLONE epic/EPIC, then orch epic merge EPIC FETCH_HEAD; or orch retry TASK does it again here; or orch skip TASK --close counts it as done without the work", uncharged, neutral, untouched, ExitNeedsYou},
		{Machine, "the machine failed: no memory, processes, files or disk space left, an input or output error, a git that was killed, a file that git cannot read, a folder of objects that cannot be written, or a reference that could not be locked",
			"mend what the reason names, then orch run again: it charges no attempt", uncharged, neutral, untouched, ExitMachine},
		{Disk, "the disk is full or cannot be written",
			"make room, then orch run again", uncharged, neutral, untouched, ExitMachine},
		{EpicMoved, "the epic branch is not where the last landing left it, and landed work is no longer on it",
			"orch epic restore EPIC puts it back; orch epic accept EPIC takes it as it is", uncharged, neutral, untouched, ExitNeedsYou},
		{CheckedOut, "the epic branch is checked out in a work tree, or a rebase or a bisect of it goes on there, and it is not moved below that",
			"end the rebase or bisect there, if one goes on; git -C DIR switch --detach", uncharged, neutral, untouched, ExitNeedsYou},
		{Tampered, "something that only orch or a person may write was changed while an agent worked; it was put back",
			"orch events shows what it was; look at what that agent did: orch logs TASK", uncharged, neutral, untouched, ExitNeedsYou},
		{RunActive, "another orch drives this epic: here, or in another clone or on another machine",
			"wait for it, or orch stop EPIC; if it is a clone that is gone: orch run EPIC --take-over", uncharged, neutral, untouched, ExitHeld},
		{Untrusted, "the repository names programs that nobody has allowed on this machine",
			"orch trust shows them and asks", uncharged, neutral, untouched, ExitNotReady},
		{Interrupted, "a person or a signal has stopped the run",
			"orch run again goes on", uncharged, neutral, untouched, ExitNeedsYou},
		{RunIterations, "the run has started as many agents as it may, each iteration being one (run.max_iterations)",
			"orch run again goes on", uncharged, neutral, untouched, ExitLimit},
		{RunFailures, "as many tasks in a row as may have failed, with no landing in between (run.max_consecutive_failures)",
			"orch status names them; orch run again goes on", uncharged, neutral, untouched, ExitLimit},
		{RunBudget, "the run's agents have used up its budget of tokens or money (limits.tokens, limits.cost_usd)",
			"raise it in project.yaml, or orch run again gives as much once more", uncharged, neutral, untouched, ExitLimit},
		{TimeUp, "the run has lasted as long as it may (run.max_duration)",
			"orch run again goes on", uncharged, neutral, untouched, ExitLimit},
		{HandBack, "a short command has done its part",
			"orch next, or orch land", uncharged, neutral, untouched, ExitNeedsYou},
		{Paused, "a person has paused the run, so that no task is handed out",
			"orch continue EPIC", uncharged, neutral, untouched, ExitNeedsYou},
		{PlacesTaken, "as many agents and sessions are at work as workflow.run.max_parallel allows",
			"land what is in hand, or wait: orch status says who has the places", uncharged, neutral, untouched, ExitHeld},
		{NothingReady, "no task is ready: what is left waits for work that is under way, or for a person",
			"orch status says for what", uncharged, neutral, untouched, ExitNeedsYou},
		{BackOff, "what is ready is tried again only after a time",
			"orch next again then", uncharged, neutral, untouched, ExitNotYet},
	}
}
