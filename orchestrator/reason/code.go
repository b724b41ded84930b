package reason

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
	SetupFailed   Code = "SETUP_FAILED"
	UsageLimit    Code = "USAGE_LIMIT"
	Protected     Code = "PROTECTED"
	TooLarge      Code = "TOO_LARGE"
	Embedded      Code = "EMBEDDED_REPOSITORY"
	WorktreeGone  Code = "WORKTREE_GONE"
	WorkRefused   Code = "WORK_REFUSED"
	DepFailed     Code = "DEP_FAILED"
	DepCycle      Code = "DEP_CYCLE"
	DepExternal   Code = "DEP_EXTERNAL"
	Permission    Code = "PERMISSION"
	TrackerDrift  Code = "TRACKER_DRIFT"
	TrackerDown   Code = "TRACKER_DOWN"

	TrackerDamaged Code = "TRACKER_DAMAGED"

	Orphaned Code = "ORPHANED"
	Skipped  Code = "SKIPPED"

	LandedElsewhere Code = "LANDED_ELSEWHERE"

	ProcessLimit Code = "PROCESS_LIMIT"
	MemoryLimit  Code = "MEMORY_LIMIT"
	DiskLimit    Code = "DISK_LIMIT"

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
