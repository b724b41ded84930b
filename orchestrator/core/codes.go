package core

// Code is a reason code: one closed list, the same in the journal, in status
// and in the exit of a run.
type Code string

// The reason codes.
const (
	Question       Code = "QUESTION"
	GateFailed     Code = "GATE_FAILED"
	BaseRed        Code = "BASE_RED"
	MergeConflict  Code = "MERGE_CONFLICT"
	NoChange       Code = "NO_CHANGE"
	NoProgress     Code = "NO_PROGRESS"
	Looping        Code = "LOOPING"
	MaxIterations  Code = "MAX_ITERATIONS"
	CircuitBreaker Code = "CIRCUIT_BREAKER"
	Regression     Code = "REGRESSION"
	AgentCrashed   Code = "AGENT_CRASHED"
	AgentAuth      Code = "AGENT_AUTH"
	UsageLimit     Code = "USAGE_LIMIT"
	Budget         Code = "BUDGET"
	DepFailed      Code = "DEP_FAILED"
	DepCycle       Code = "DEP_CYCLE"
	DepExternal    Code = "DEP_EXTERNAL"
	Permission     Code = "PERMISSION"
	TrackerDrift   Code = "TRACKER_DRIFT"
	TrackerDown    Code = "TRACKER_DOWN"
	Orphaned       Code = "ORPHANED"
	Disk           Code = "DISK"
)

// Reasons of a drain that are not reasons of a task.
const (
	Interrupted Code = "INTERRUPTED" // a person or a signal
	TimeUp      Code = "MAX_DURATION"
	HandBack    Code = "HAND_BACK" // a bounded command (next, land) has done its part
)

// Explanation says what a code means, and what a person can do.
type Explanation struct {
	Code  Code
	Means string
	Do    string
}

// Explain returns the explanation of a code; ok is false for a word that is none.
func Explain(c Code) (e Explanation, ok bool) {
	for _, e := range Explanations() {
		if e.Code == c {
			return e, true
		}
	}
	return Explanation{}, false
}

// Explanations returns all of them, in the order of the manual.
func Explanations() []Explanation {
	return []Explanation{
		{Question, "the agent asks something that only a person can answer", `orch answer TASK "..."`},
		{GateFailed, "the gate was red on the task's tree in every attempt that it had", `orch logs TASK --gate, then orch retry TASK -m "a hint"`},
		{BaseRed, "the gate is red on the epic branch before any agent has touched it, so no attempt could ever pass", "mend the base or the gate, then orch run again; orch run --allow-red-base goes on regardless"},
		{MergeConflict, "the work conflicts with what has landed since, and agents did not resolve it", `orch diff TASK, then orch retry TASK -m "a hint"`},
		{NoChange, "the agent ended and had changed nothing; that is never done", `orch logs TASK; add to its description, or orch skip TASK`},
		{NoProgress, "no output, no change, no commit and no processor time for longer than limits.no_progress, or over limits.task_time", "orch logs TASK; a smaller task, or a longer limit"},
		{Looping, "the same thing happened again and again without progress", `orch logs TASK, then orch retry TASK -m "a hint"`},
		{MaxIterations, "the agent wanted to go on more often than its limit allows", `orch logs TASK, then orch retry TASK -m "a hint"; orch iteration limit TASK N raises the limit`},
		{CircuitBreaker, "validation was red several times in a row", `orch logs TASK --gate, then orch retry TASK -m "a hint"`},
		{Regression, "the score of the validation fell from iteration to iteration", `orch diff TASK, then orch retry TASK -m "a hint"`},
		{AgentCrashed, "the agent's process ended badly in every attempt that the task had, or does not start at all", "orch logs TASK; orch doctor"},
		{AgentAuth, "the agent's client is not logged in", "log in with the client itself, then orch run again"},
		{UsageLimit, "the account's usage limit is reached", "wait for the reset, then orch run again"},
		{Budget, "a budget of time, tokens or money is used up", "raise it in project.yaml, then orch run again; for one task, orch retry TASK gives it as much once more"},
		{DepFailed, "it waits for a task that needs a person", "orch status names that task"},
		{DepCycle, "tasks wait for each other in a circle", "remove one of the dependencies in the tracker"},
		{DepExternal, "it waits for something outside the epic, or the tracker holds it back (deferred, blocked, pinned, in other hands)", "close or release that in the tracker, then orch run again"},
		{Permission, "the agent needed a permission that the settings do not give", "workflow.agent.allowed_tools in project.yaml"},
		{TrackerDrift, "a person or another program changed the task in the tracker meanwhile", "look at it in the tracker; orch retry TASK gives it back to orch"},
		{TrackerDown, "the tracker does not answer", "orch doctor"},
		{Orphaned, "an attempt whose orch is gone", "orch run EPIC picks it up"},
		{Disk, "the disk is full or cannot be written", "make room, then orch run again"},
	}
}
