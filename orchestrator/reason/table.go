package reason

// Row is what orch knows of a code. The table of [All] is the only place that says
// how a code is treated.
type Row struct {
	Code    Code
	Means   string // in a clause
	Do      string // what a person can do
	Charges bool   // an attempt that ends for it counts against the task's attempts
	Failure bool   // a task parked for it counts for max_consecutive_failures
	Blocks  bool   // a task parked for it is blocked in the tracker; else its status there stays as it is
	Anew    bool   // the attempt after one that ended for it begins on the epic branch; else on that one's work and conversation
	Exit    Exit   // of a run that ends for it
}

// Of returns what is known of a code; ok is false for a word that is none.
func Of(c Code) (r Row, ok bool) {
	for _, r := range All() {
		if r.Code == c {
			return r, true
		}
	}
	return Row{}, false
}

// Means says what the code means, in a clause; "" of a word that is none.
func (c Code) Means() string {
	r, _ := Of(c)
	return r.Means
}

// All is the table of all codes, in the order of the manual.
func All() []Row {
	const charges, uncharged, failure, neutral = true, false, true, false
	const blocked, untouched, anew, goesOn = true, false, true, false
	return []Row{
		{Question, "the agent asks something that only a person can answer",
			`orch answer TASK "..."`, uncharged, neutral, blocked, goesOn, ExitNeedsYou},
		{GateFailed, "the gate was red on the task's tree in every attempt that it had",
			`orch logs TASK --gate, then orch retry TASK -m "a hint"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{BaseRed, "the gate is red on the epic branch before any agent has touched it, so no attempt could ever pass",
			"mend the base or the gate, then orch run again; orch run --allow-red-base goes on regardless", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{MergeConflict, "the work conflicts with what has landed since, and agents did not resolve it",
			`orch diff TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, anew, ExitNeedsYou},
		{NoChange, "the agent ended and had changed nothing; that is never done",
			`orch logs TASK; add to its description, or orch skip TASK`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{NoProgress, "no output, no change, no commit and no processor time for longer than limits.no_progress, or over limits.task_time",
			"orch logs TASK; a smaller task, or a longer limit", charges, failure, blocked, goesOn, ExitNeedsYou},
		{Stuck, "the same rule came first of those that did not pass, five times in a row",
			`orch logs TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{MaxIterations, "the agent wanted to go on more often than its limit allows",
			`orch logs TASK, then orch retry TASK -m "a hint"; orch iteration limit TASK N raises the limit`, charges, failure, blocked, goesOn, ExitLimit},
		{CircuitBreaker, "validation was red several times in a row",
			`orch logs TASK --gate, then orch retry TASK -m "a hint"`, charges, failure, blocked, goesOn, ExitLimit},
		{QualityRegression, "the score of the validation fell from iteration to iteration",
			`orch diff TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{Regression, "the name of QUALITY_REGRESSION in journals of an older orch",
			`orch diff TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{Looping, "the name of STUCK in journals of an older orch",
			`orch logs TASK, then orch retry TASK -m "a hint"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{AgentCrashed, "the agent's process ended badly in every attempt that the task had, or does not start at all",
			"orch logs TASK; orch doctor", charges, failure, blocked, anew, ExitNotReady},
		{AgentAuth, "the agent's client is not logged in",
			"log in with the client itself, then orch run again", uncharged, neutral, untouched, goesOn, ExitNotReady},
		{SetupFailed, "a command of workflow.setup, which makes a new worktree ready, did not end well",
			"mend what the reason names, or workflow.setup, then orch run again: it charges no attempt", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{UsageLimit, "the account's usage limit is reached",
			"wait for the reset, then orch run again", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{Budget, "the task's agents have used up its budget of tokens or money (limits.task_tokens, limits.task_cost_usd)",
			"orch retry TASK gives it as much once more, or raise it in project.yaml", charges, failure, blocked, goesOn, ExitLimit},
		{Protected, "the work changes a path that settles how work is judged, or what runs (workflow.protect)",
			"orch diff TASK, then orch land TASK --accept-protected, or orch retry TASK -m \"leave PATH as it is\"", uncharged, neutral, blocked, goesOn, ExitNeedsYou},
		{TooLarge, "what the agent committed is over a limit of size (limits.file_size, limits.files, limits.commit_size)",
			"orch diff TASK; raise the limit, then orch retry TASK; or orch retry TASK -m \"leave the large files out\"", charges, failure, blocked, anew, ExitNeedsYou},
		{ProcessLimit, "the agent had more processes at a time than it may (sandbox.limits.processes), and was ended",
			`orch logs TASK; a higher limit, then orch retry TASK; or orch retry TASK -m "what starts so many"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{MemoryLimit, "the agent used more memory, with all that it started, than it may (sandbox.limits.memory), and was ended",
			`orch logs TASK; a higher limit, then orch retry TASK; or orch retry TASK -m "what uses so much"`, charges, failure, blocked, goesOn, ExitNeedsYou},
		{DiskLimit, "the agent filled more of the disk than it may (sandbox.limits.disk): its worktree, its home and its temporary files together; it was ended",
			`orch logs TASK; a higher limit, then orch retry TASK; or orch retry TASK -m "what is so large"`, charges, failure, blocked, anew, ExitNeedsYou},
		{Embedded, "the work has a git repository of its own in it, or a commit of a submodule that its remote does not have: only a link to it would land",
			"orch diff TASK; take out of that repository what you need, then orch retry TASK -m \"remove DIR/.git\"", charges, failure, blocked, goesOn, ExitNeedsYou},
		{WorktreeGone, "the worktree of the attempt was not there any more when its agent ended, so that what was not committed is unknown; what was committed is kept and does not land",
			"orch logs TASK; if you have moved the folder, take out of it what you need; orch retry TASK", charges, failure, blocked, goesOn, ExitNeedsYou},
		{WorkRefused, "what the agent committed in its sandbox is not what git makes, and was not taken back; it is kept as it was, and the files of its worktree too",
			"orch sandbox explain TASK says what was refused and where it is; take out of it what you need, then orch retry TASK", charges, failure, blocked, anew, ExitNeedsYou},
		{DepFailed, "it waits for a task that needs a person",
			"orch status names that task", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{DepCycle, "tasks wait for each other in a circle",
			"remove one of the dependencies in the tracker", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{DepExternal, "it waits for something outside the epic, or the tracker holds it back (deferred, blocked, pinned, in other hands)",
			"close or release that in the tracker, then orch run again", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{Permission, "the agent needed a permission that the settings do not give",
			"workflow.agent.allowed_tools in project.yaml", uncharged, neutral, blocked, goesOn, ExitNeedsYou},
		{TrackerDrift, "a person or another program changed the task in the tracker meanwhile, or the tracker does not have the epic any more",
			"look at it in the tracker; orch retry TASK gives it back to orch; where the epic is missing, orch doctor", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{TrackerDown, "the tracker does not answer",
			"orch doctor", uncharged, neutral, untouched, goesOn, ExitFailed},
		{TrackerDamaged, "the file of the embedded tracker cannot be read, or has no task: a line that is cut, written twice, from a merge or no text, or no plain file",
			"mend the line that is named, or bring the file back from a backup", uncharged, neutral, untouched, goesOn, ExitNotReady},
		{Orphaned, "an attempt whose orch is gone",
			"orch run EPIC picks it up", uncharged, neutral, blocked, goesOn, ExitFailed},
		{Skipped, "the task is set aside: a person has skipped it, or it was closed in the tracker without its work",
			"orch retry TASK takes it up again; orch skip TASK --close counts it as done", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{LandedElsewhere, "another clone with this tracker, or the run of another epic, has closed the task, and the epic branch here does not have its work",
			"git fetch CLONE epic/EPIC, then orch epic merge EPIC FETCH_HEAD; in this clone: orch epic merge EPIC epic/OTHER; or orch retry TASK does it again here; or orch skip TASK --close counts it as done without the work", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{Machine, "the machine failed: no memory, processes, files or disk space left, an input or output error, a git that was killed, a file that git cannot read, a folder of objects that cannot be written, or a reference that could not be locked",
			"mend what the reason names, then orch run again: it charges no attempt", uncharged, neutral, untouched, goesOn, ExitMachine},
		{Disk, "the disk is full or cannot be written",
			"make room, then orch run again", uncharged, neutral, untouched, goesOn, ExitMachine},
		{EpicMoved, "the epic branch is not where the last landing left it, and landed work is no longer on it",
			"orch epic restore EPIC puts it back; orch epic accept EPIC takes it as it is", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{CheckedOut, "the epic branch is checked out in a work tree, or a rebase or a bisect of it goes on there, and it is not moved below that",
			"end the rebase or bisect there, if one goes on; git -C DIR switch --detach", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{Tampered, "something that only orch or a person may write was changed while an agent worked; it was put back",
			"orch events shows what it was; look at what that agent did: orch logs TASK", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{RunActive, "another orch drives this epic: here, or in another clone or on another machine",
			"wait for it, or orch stop EPIC; if it is a clone that is gone: orch run EPIC --take-over", uncharged, neutral, untouched, goesOn, ExitHeld},
		{Untrusted, "the repository names programs that nobody has allowed on this machine",
			"orch trust shows them and asks", uncharged, neutral, untouched, goesOn, ExitNotReady},
		{Interrupted, "a person or a signal has stopped the run",
			"orch run again goes on", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{RunIterations, "the run has started as many agents as it may, each iteration being one (run.max_iterations)",
			"orch run again goes on", uncharged, neutral, untouched, goesOn, ExitLimit},
		{RunFailures, "as many tasks in a row as may have failed, with no landing in between (run.max_consecutive_failures)",
			"orch status names them; orch run again goes on", uncharged, neutral, untouched, goesOn, ExitLimit},
		{RunBudget, "the run's agents have used up its budget of tokens or money (limits.tokens, limits.cost_usd)",
			"raise it in project.yaml, or orch run again gives as much once more", uncharged, neutral, untouched, goesOn, ExitLimit},
		{TimeUp, "the run has lasted as long as it may (run.max_duration)",
			"orch run again goes on", uncharged, neutral, untouched, goesOn, ExitLimit},
		{HandBack, "a short command has done its part",
			"orch next, or orch land", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{Paused, "a person has paused the run, so that no task is handed out",
			"orch continue EPIC", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{PlacesTaken, "as many agents and sessions are at work as workflow.run.max_parallel allows",
			"land what is in hand, or wait: orch status says who has the places", uncharged, neutral, untouched, goesOn, ExitHeld},
		{NothingReady, "no task is ready: what is left waits for work that is under way, or for a person",
			"orch status says for what", uncharged, neutral, untouched, goesOn, ExitNeedsYou},
		{BackOff, "what is ready is tried again only after a time",
			"orch next again then", uncharged, neutral, untouched, goesOn, ExitNotYet},
	}
}
