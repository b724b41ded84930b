package cli

import (
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Codes is the table of all codes that orch prints: the reasons of runs and tasks, and those of
// errors of a command line alone.
func Codes() []reason.Row {
	const usage, failed, ready, missing, held = ExitUsage, ExitFailed, ExitNotReady, ExitNotFound, ExitHeld
	codes := reason.All()
	for _, e := range []struct {
		code, means, do string
		exit            int
	}{
		{"USAGE", "the command line is not understood", "orch help COMMAND", usage},
		{"SETTINGS", "project.yaml, your own config.yaml or a variable ORCH_... says something that is not understood, and what would run by it does not start", "mend the line that is named; commands that only read go on without it", usage},
		{"UNEXPECTED", "something failed that orch has no name for", "orch doctor; if it comes again, report it with the message", failed},
		{"NOT_A_PERSON", "the command is for a person, and an agent has given it: orch started the process, or one above it, for an attempt", "a person types it in a terminal of their own", usage},
		{"NOT_NOW", "what was asked for is not possible as things stand", "orch status says how they stand", usage},
		{"NOT_FOUND", "there is nothing of that name here", "orch status, or orch tasks list --all", missing},
		{"NO_RUN", "orch has not run here, or no run is going on", "orch run EPIC", missing},
		{"NO_ATTEMPT", "the task has no such attempt", "orch status TASK lists them", missing},
		{"NO_LOG", "the attempt has left no such log, or it was forgotten", "orch status TASK", missing},
		{"NO_WORKTREE", "the task has no worktree now", "orch diff TASK shows the work that is kept", missing},
		{"NO_BASE", "the revision that the epic branch should start from names no commit", "make a first commit, or orch run EPIC --base REV", ready},
		{"EPIC_NOT_FOUND", "the tracker has no such epic", "orch tasks list --type epic, or bd list --type epic", missing},
		{"RUN_FENCED", "the lock or the journal of this run was taken away, so it has stopped its agents and written nothing since", "orch status; orch run EPIC goes on when no other does", held},
		{"RUN_CUT_OFF", "the process that drove the epic was killed, and what you see was its view", "orch run EPIC goes on where it was", ExitCutOff},
		{"JOURNAL_CORRUPT", "the journal is damaged before its end, or was lost, and orch never guesses what it said", "orch doctor --fix keeps it as it is and cuts it to what is sound; the next run finds the rest by git and the tracker", ready},
		{"JOURNAL_FOREIGN", "the journal in the epic's folder is that of another epic", "orch doctor --fix", ready},
		{"JOURNAL_NEWER", "a newer orch wrote the journal", "go on with the newer orch", ready},
		{"JOURNAL_UNSAFE", "the journal is no plain file, or others can write it", "orch doctor --fix", ready},
		{"NO_REPOSITORY", "there is no git repository here", "orch -C FOLDER, or orch demo, which needs none", ready},
		{"REPOSITORY", "git is too old, or the repository is of a kind that orch cannot work in", "the error says what helps", ready},
		{"REPOSITORY_DAMAGED", "git cannot read a file of the repository: packed references, an index over packs, an object", "the error names the file, and what brings it back; then run again, no attempt is charged", ExitMachine},
		{"WORKTREE_FOLDER", "the folder for worktrees cannot be used: something else is in its place", "move it aside, or set workflow.worktree.dir", ready},
		{"REF_IN_THE_WAY", "a branch or reference of somebody else has a name that orch needs, or that one of orch's would have to be below", "the error names the command that renames it", ready},
		{"NO_ACCESS", "a file or folder is closed to you, or belongs to somebody else", "ls -ld what the error names; chmod or chown it", ready},
		{"IN_THE_WAY", "something else stands where a file or folder is needed", "move it away", ready},
		{"NAME_TOO_LONG", "a name is longer than the file system takes", "rename the folder that the repository is in", ready},
		{"NO_TRACKER", "there is no tracker here", `bd init --stealth, or orch tasks create --type epic "..."`, ready},
		{"NO_TRACKER_PROGRAM", "the tasks are kept by a tracker whose program is not on PATH", "install it, or set workflow.tracker.kind: file", ready},
		{"IN_OTHER_HANDS", "another session works on the task, and it alone lands it", "orch next EPIC gives this session another one", held},
		{"ATTEMPT_LOST", "the session was away too long, so that its task was free again; what it had committed is kept", "orch next EPIC", ExitNeedsYou},
		{"NO_BD", "the tasks are kept by bd, and bd is not on PATH", "install bd, or set workflow.tracker.kind: file", ready},
		{"TRACKER_IS_BD", "bd keeps the tasks here, so the embedded tracker does not", "use bd itself, or set workflow.tracker.kind: file", ready},
		{"TRACKER_TOO_OLD", "bd is too old", "install bd 1.0.4 or later, or set workflow.tracker.kind: file", ready},
		{"REFUSED", "the tracker refuses the change", "orch tasks list", usage},
		{"NOT_CLOSED", "a task is closed when its work has landed, not by hand", "orch land TASK", usage},
		{"NO_AGENT", "the agent's client is not on PATH, or the task names an agent that is not set up", "install the client, or workflow.agent and workflow.agents in project.yaml", ready},
		{"NO_STATE", "there is no safe folder outside of the repository for what you trust", "set XDG_STATE_HOME to a folder of yours that nobody else can write", ready},
		{"NO_SANDBOX", "this machine has no sandbox, or not the level of it that was asked for", "orch doctor --sandbox", ready},
		{"NO_SESSION", "the command is for a client's session, and this is none", "type /run-tasks EPIC in the client, or name it: --session ID", usage},
		{"NOT_BOUND", "the session is bound to no epic here", "orch session list", missing},
		{"NO_HOOK", "orch has no hooks for that client", "orch help init names the clients", usage},
		{"HOOK_FAILS_OPEN", "the stop hook cannot decide, and lets the session end", "orch doctor", failed},
		{"BAD_HOOK", "what should be a hook of a task is none", "orch hook register --help", usage},
		{"BAD_CONTEXT", "the context of a hook is no JSON that it reads", "orch hook evaluate --help", usage},
		{"BAD_INPUT", "what was to be imported cannot be read", "bd export -o FILE writes what import reads", usage},
		{"BAD_VALUE", "a value is not one that the command takes", "orch help COMMAND", usage},
		{"NO_INPUT", "the file or input that was named cannot be read", "look whether it is there", missing},
		{"NO_LOOP", "no loop is active here", "orch iteration start TASK, or orch loop start SPEC", missing},
		{"LOOP_ACTIVE", "a loop goes on here already", "orch iteration status TASK, or orch loop status", held},
		{"LOOP_DAMAGED", "the file of the loop is none that can be read; it is left as it is", "mend .loop/state.json, or move it away", failed},
		{"LOOP_ENDED", "the loop has ended", "orch iteration complete TASK", usage},
		{"NOT_VALIDATED", "the work of this iteration was not validated yet", "orch iteration validate TASK", usage},
		{"NOT_PASSED", "the rules have not passed the work of this iteration", "orch iteration next TASK", usage},
		{"HELD", "another process has the task's loop open", "try again when it has ended", held},
		{"EXISTS", "the folder is there already", "name one that is not", usage},
		{"FILE_EXISTS", "a file is there already, and is not orch's", "rename it, then orch init again", usage},
		{"NOT_ASKED", "nothing was written, since nobody can be asked here", "orch init --yes", usage},
		{"NOT_WANTED", "nothing was written, since the answer was no", "orch init asks again", usage},
	} {
		codes = append(codes, reason.Row{Code: reason.Code(e.code), Means: e.means, Do: e.do, Exit: reason.Exit(e.exit)})
	}
	return append(append(codes, verdicts()...), promises()...)
}

// CodesOf are the rows of [Codes] for one code: one for each thing that it can mean.
func CodesOf(code reason.Code) (rows []reason.Row) {
	for _, r := range Codes() {
		if r.Code == code {
			rows = append(rows, r)
		}
	}
	return rows
}

// promises are what an epic needs next; the exit codes are those of status --exit-status.
func promises() []reason.Row {
	return []reason.Row{
		{Code: reason.Code(epic.LoopDone), Means: "the promise: every task is closed", Do: "look at the epic branch, and merge it: orch gc EPIC afterwards", Exit: reason.ExitDone},
		{Code: reason.Code(epic.LoopContinue), Means: "the promise: something runs, waits to land, or is ready", Do: "orch run EPIC, or orch next EPIC", Exit: reason.ExitNotYet},
		{Code: reason.Code(epic.LoopBlocked), Means: "the promise: only a person can move what is left, or a limit was reached (then orch status --exit-status exits 7)", Do: "orch status says with what", Exit: reason.ExitNeedsYou},
		{Code: reason.Code(epic.LoopError), Means: "the promise: the tracker, the machine or the agent's client is out of reach, or the epic's journal cannot be read", Do: "orch status; orch doctor", Exit: reason.ExitNeedsYou},
	}
}

// verdicts are what the stop hook says of a session; some of these words mean something else of a task or
// a run.
func verdicts() (all []reason.Row) {
	for _, v := range [][3]string{
		{"NOT_BOUND", "the stop hook: neither an epic nor a loop is bound to the session", "nothing; /run-tasks EPIC binds it"},
		{"ATTEMPT", "the stop hook: orch started this agent, and judges its work itself", "nothing"},
		{"DISABLED", "the stop hook: the settings let every session end", "workflow.stop_hook.enabled in project.yaml"},
		{"CANCELLED", "the stop hook: a person let the session go", "/run-tasks EPIC binds it again"},
		{"BACKGROUND", "the stop hook: background tasks or timers run, and the client wakes the model itself", "nothing"},
		{"DONE", "the stop hook: every task has landed, or a person has closed it; or the session's own loop has ended", "orch status, or orch loop status"},
		{"ALL_BLOCKED", "the stop hook: only a person can go on, or a limit was reached", "orch status says with what"},
		{"LOOP_ERROR", "the stop hook: the tracker, the machine or the agent's client was out of reach when the last run ended, or the epic's journal cannot be read", "orch status; then orch run EPIC"},
		{"ELSEWHERE", "the stop hook: the session has no task in hand, and others, or a person, have to move on before there is one for it", "orch session list, or orch status"},
		{"PROMISED", "the stop hook: the session said a promise of workflow.stop_hook.completion_promises that needs no state to agree, such as BLOCKED - NEEDS USER", "orch status; /run-tasks EPIC goes on"},
		{"NO_PROGRESS", "the stop hook: several stops in a row, and nothing has moved: no task, no landing, no commit, file or iteration of the session's work, or no criterion of its loop", "orch status, or orch loop status; a new prompt goes on"},
		{"UNTRUSTED", "the stop hook: the session would go on, and hooks of its tasks have programs that nobody has allowed", "orch trust shows them and asks"},
		{"CHECKPOINT", "the stop hook: the session says that its context is full, and the client cannot begin it afresh", "/run-tasks EPIC in a new session"},
		{"MAX_CYCLES", "the stop hook: the session was sent back as often as workflow.stop_hook.max_cycles allows", "orch status; /run-tasks EPIC begins the counts anew"},
		{"CLIENT_CAP", "the stop hook: the client sends the session back no more for this prompt", "type a prompt"},
		{"NO_TASKS", "the stop hook: the tracker has no task of the epic", "orch tasks list --all"},
		{"UNKNOWN", "the stop hook: the tracker cannot be read or does not have the epic, so the session goes on, twice at most in a row", "orch doctor"},
		{"WORK_LEFT", "the stop hook: tasks are ready or in progress, so the session goes on", "orch next EPIC; a person lets it go with orch session release"},
		{"UNMET", "the stop hook: a criterion of the session's loop is not true yet", "orch loop status"},
	} {
		all = append(all, reason.Row{Code: reason.Code(v[0]), Means: v[1], Do: v[2], Exit: reason.ExitDone})
	}
	return all
}
