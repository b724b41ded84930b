package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/stophook/registry"
)

// exitNeedsYou is the exit code of a command that ended well, and that a person has to look
// at.
const exitNeedsYou = 3

// exitWaiting is the exit code of a command that had to wait for another orch until its time was over.
const exitWaiting = 6

// toolWait is how long a tool waits for another orch: clients give a call up after a minute.
const toolWait = "--wait=45s"

type taskIn struct {
	TaskID string `json:"taskId" jsonschema:"the task's id in the tracker"`
}

// anyIn is a task under one of two names.
type anyIn struct {
	TaskID string `json:"taskId,omitempty" jsonschema:"the task's id in the tracker"`
	ID     string `json:"id,omitempty" jsonschema:"the same, by its other name"`
}

func (in anyIn) task() []string { return []string{cmp.Or(in.TaskID, in.ID)} }

// loopIn is a task, or its loop, which has the id of its task.
type loopIn struct {
	TaskID      string `json:"taskId,omitempty" jsonschema:"the task's id in the tracker"`
	IterationID string `json:"iterationId,omitempty" jsonschema:"or its loop, as iteration_start gave it"`
}

func (in loopIn) task() []string { return []string{cmp.Or(in.TaskID, in.IterationID)} }

func addTasks(s server) {
	addTool[anyIn](s, tool{zero: document.Task{}, name: "task_get", description: "Read one task: title, description, design, acceptance, status, dependencies."}, func(in anyIn) (*commandLine, []string) {
		return newCommandLine("task", "get"), in.task()
	})
	type updateIn struct {
		anyIn
		Status  string `json:"status" jsonschema:"open, in_progress or blocked; a task is closed by landing its work"`
		Note    string `json:"note,omitempty" jsonschema:"why, or how far it is"`
		Blocked string `json:"blockedReason,omitempty" jsonschema:"for blocked: what a person has to do"`
	}
	addTool[updateIn](s, tool{zero: document.TaskUpdated{}, name: "task_update", description: "Say where a task stands."}, func(in updateIn) (*commandLine, []string) {
		l := newCommandLine("task", "update", "--status="+in.Status)
		l.flag("note", strings.TrimSpace(in.Blocked+"\n"+in.Note))
		return l, in.task()
	})
	type storeIn struct {
		TaskID  string `json:"taskId" jsonschema:"the task that it is for"`
		Type    string `json:"type,omitempty" jsonschema:"implementation, test_plan, security_review, documentation, other"`
		Title   string `json:"title,omitempty" jsonschema:"a title"`
		Content string `json:"content" jsonschema:"the whole text"`
	}
	addTool[storeIn](s, tool{zero: document.Product{}, name: "work_product_store", description: "Keep a work product of a task beside its commits: a report, a review, a plan."}, func(in storeIn) (*commandLine, []string) {
		l := newCommandLine("task", "store", "--file=-")
		l.flag("type", in.Type)
		l.flag("title", in.Title)
		l.stdin = []byte(in.Content)
		return l, []string{in.TaskID}
	})
}

func addIterations(s server) {
	type startIn struct {
		TaskID    string   `json:"taskId" jsonschema:"the task's id in the tracker"`
		Max       int      `json:"maxIterations,omitempty" jsonschema:"how many there may be; by default as the task's agent has it"`
		Promises  []string `json:"completionPromises,omitempty" jsonschema:"promises that complete it, in place of <promise>COMPLETE</promise>"`
		Rules     []rule   `json:"validationRules,omitempty" jsonschema:"in place of the rules of the repository's gate"`
		Threshold int      `json:"circuitBreakerThreshold,omitempty" jsonschema:"after how many red validations in a row it ends; 3 by default"`
	}
	addTool[startIn](s, tool{zero: document.Iteration{}, name: "iteration_start", description: "Begin a loop on a task: validate, feedback, again, until it passes or a guard ends it."}, func(in startIn) (*commandLine, []string) {
		l := newCommandLine("iteration", "start")
		l.number("max-iterations", in.Max)
		l.number("circuit-breaker", in.Threshold)
		l.repeatFlag("promise", in.Promises)
		if len(in.Rules) > 0 {
			l.flag("rules", "-")
			l.stdin = rulesOf(in.Rules)
		}
		return l, []string{in.TaskID}
	})
	type validateIn struct {
		loopIn
		Output string `json:"agentOutput,omitempty" jsonschema:"what you have said, with the promise in it if there is one; by default what you have stored for the task in this iteration"`
	}
	addTool[validateIn](s, tool{zero: document.Validate{}, name: "iteration_validate", description: "Run the rules on the work, find the promise, and say what comes next.", okExits: []int{exitNeedsYou}}, func(in validateIn) (*commandLine, []string) {
		l := newCommandLine("iteration", "validate")
		if in.Output != "" {
			l.flag("output", "-")
			l.stdin = []byte(in.Output)
		}
		return l, in.task()
	})
	type nextIn struct {
		loopIn
		Notes string `json:"notes,omitempty" jsonschema:"what to know of the iteration that ends"`
	}
	addTool[nextIn](s, tool{zero: document.Iteration{}, name: "iteration_next", description: "Go on to the next iteration. Refused past the maximum."}, func(in nextIn) (*commandLine, []string) {
		l := newCommandLine("iteration", "next")
		l.flag("notes", in.Notes)
		return l, in.task()
	})
	type completeIn struct {
		loopIn
		Promise string `json:"completionPromise,omitempty" jsonschema:"what you have promised; the last validation decides"`
	}
	addTool[completeIn](s, tool{zero: document.Iteration{}, name: "iteration_complete", description: "End the loop: as complete, or given up where a guard or you have ended it."}, func(in completeIn) (*commandLine, []string) {
		return newCommandLine("iteration", "complete"), in.task()
	})
	addTool[loopIn](s, tool{zero: document.Iteration{}, name: "iteration_status", description: "How the loop stands, with its history."}, func(in loopIn) (*commandLine, []string) { return newCommandLine("iteration", "status"), in.task() })
}

func addCheckpoints(s server) {
	type createIn struct {
		TaskID  string   `json:"taskId" jsonschema:"the task's id in the tracker"`
		Trigger string   `json:"trigger,omitempty" jsonschema:"why it is made"`
		Phase   string   `json:"executionPhase,omitempty" jsonschema:"what you are at, such as implementation"`
		Step    int      `json:"executionStep,omitempty" jsonschema:"which step of that"`
		Context any      `json:"agentContext,omitempty" jsonschema:"what you want to know again, any JSON"`
		Files   []string `json:"filesModified,omitempty" jsonschema:"files that you have modified"`
		Draft   string   `json:"draftContent,omitempty" jsonschema:"a draft that is in no file yet"`
		Kind    string   `json:"draftType,omitempty" jsonschema:"what kind of draft that is"`
	}
	addTool[createIn](s, tool{zero: document.CheckpointCreated{}, name: "checkpoint_create", description: "Make a checkpoint that you, or a fresh session, can go on from."}, func(in createIn) (*commandLine, []string) {
		l := newCommandLine("checkpoint", "create")
		l.flag("trigger", in.Trigger)
		l.flag("phase", in.Phase)
		l.number("step", in.Step)
		l.repeatFlag("file", in.Files)
		l.flag("draft-type", in.Kind)
		if in.Context != nil {
			if text, err := json.Marshal(in.Context); err == nil { // it came as JSON
				l.flag("context", string(text))
			}
		}
		if in.Draft != "" {
			l.flag("draft", "-")
			l.stdin = []byte(in.Draft)
		}
		return l, []string{in.TaskID}
	})
	type resumeIn struct {
		TaskID       string `json:"taskId" jsonschema:"the task's id in the tracker"`
		CheckpointID string `json:"checkpointId,omitempty" jsonschema:"another one than the newest"`
	}
	addTool[resumeIn](s, tool{zero: document.Resume{}, name: "checkpoint_resume", description: "What to go on with, from the newest checkpoint that has not expired."}, func(in resumeIn) (*commandLine, []string) {
		l := newCommandLine("checkpoint", "resume")
		l.flag("checkpoint", in.CheckpointID)
		return l, []string{in.TaskID}
	})
	addTool[taskIn](s, tool{zero: document.Checkpoints{}, name: "checkpoint_list", description: "All checkpoints of a task, oldest first."}, func(in taskIn) (*commandLine, []string) {
		return newCommandLine("checkpoint", "list"), []string{in.TaskID}
	})
	type cleanupIn struct {
		TaskID string `json:"taskId" jsonschema:"the task's id in the tracker"`
		Keep   int    `json:"keep,omitempty" jsonschema:"how many stay; 5 by default"`
	}
	addTool[cleanupIn](s, tool{zero: document.CheckpointsRemoved{}, name: "checkpoint_cleanup", description: "Forget what has expired, and all but the newest."}, func(in cleanupIn) (*commandLine, []string) {
		l := newCommandLine("checkpoint", "cleanup")
		l.number("keep", in.Keep)
		return l, []string{in.TaskID}
	})
}

func addHooks(s server) {
	type registerIn struct {
		TaskID   string         `json:"taskId" jsonschema:"the task's id in the tracker"`
		Type     string         `json:"hookType,omitempty" jsonschema:"default, validation, promise, tdd, security, checkpoint, max-iterations"`
		Max      int            `json:"maxIterations,omitempty" jsonschema:"for max-iterations"`
		Metadata map[string]any `json:"metadata,omitempty" jsonschema:"anything, by name"`
	}
	addTool[registerIn](s, tool{zero: document.HookRegistered{}, name: "hook_register", description: "Add a hook that decides after each iteration of a task."}, func(in registerIn) (*commandLine, []string) {
		l := newCommandLine("hook", "register")
		l.flag("type", in.Type)
		l.number("max", in.Max)
		for _, name := range slices.Sorted(maps.Keys(in.Metadata)) {
			l.flag("metadata", fmt.Sprintf("%s=%v", name, in.Metadata[name]))
		}
		return l, []string{in.TaskID}
	})
	type evaluateIn struct {
		loopIn
		Iteration  int                `json:"iteration,omitempty" jsonschema:"its number; by default the loop's"`
		Phase      string             `json:"executionPhase,omitempty"`
		Files      []string           `json:"filesModified,omitempty"`
		Validation []map[string]any   `json:"validationResults,omitempty" jsonschema:"as iteration_validate gives them"`
		Promises   []registry.Promise `json:"completionPromises,omitempty" jsonschema:"those that were found"`
		Output     string             `json:"agentOutput,omitempty" jsonschema:"what you have said"`
		Draft      string             `json:"draftContent,omitempty"`
		Kind       string             `json:"draftType,omitempty"`
	}
	addTool[evaluateIn](s, tool{zero: document.HookEvaluated{}, name: "hook_evaluate", description: "Have a task's hooks decide by what an iteration came to."}, func(in evaluateIn) (*commandLine, []string) {
		l := newCommandLine("hook", "evaluate")
		text, err := json.Marshal(in)
		if err != nil {
			text = []byte(fmt.Sprintf("%q", err.Error())) // it came as JSON; what is none is refused
		}
		l.stdin = text
		return l, in.task()
	})
	addTool[taskIn](s, tool{zero: document.HookList{}, name: "hook_list", description: "The hooks of a task, in their order."}, func(in taskIn) (*commandLine, []string) { return newCommandLine("hook", "list"), []string{in.TaskID} })
	addTool[taskIn](s, tool{zero: document.HooksCleared{}, name: "hook_clear", description: "Take all hooks of a task away."}, func(in taskIn) (*commandLine, []string) { return newCommandLine("hook", "clear"), []string{in.TaskID} })
}

func addEpics(s server) {
	type epicIn struct {
		Epic string `json:"epic,omitempty" jsonschema:"the epic's id in the tracker; by default the one that orch worked on last"`
	}
	operand := func(id string) []string {
		return slices.DeleteFunc([]string{id}, func(id string) bool { return id == "" })
	}
	type nextIn struct {
		Epic     string `json:"epic" jsonschema:"the epic's id in the tracker"`
		Parallel int    `json:"maxParallel,omitempty" jsonschema:"tasks under way at the same time"`
	}
	addTool[nextIn](s, tool{zero: document.Next{}, name: "epic_next", description: "Claim the next ready tasks of an epic, with a worktree and a brief for each.", okExits: []int{exitWaiting}}, func(in nextIn) (*commandLine, []string) {
		l := newCommandLine("next", toolWait)
		l.number("max-parallel", in.Parallel)
		return l, []string{in.Epic}
	})
	addTool[taskIn](s, tool{zero: document.Land{}, name: "epic_land", description: "Check what was done for a task, land it and close it; or say what must be mended.", okExits: []int{exitNeedsYou, exitWaiting}}, func(in taskIn) (*commandLine, []string) { return newCommandLine("land", toolWait), []string{in.TaskID} })
	addTool[epicIn](s, tool{zero: document.Status{}, name: "epic_status", description: "What is done, what is stuck, why, and what to do."}, func(in epicIn) (*commandLine, []string) { return newCommandLine("status"), operand(in.Epic) })
	progress := tool{zero: document.Progress{}, name: "progress_summary", description: "How far an epic is: counts, time, cost, and how each task has iterated."}
	addView[epicIn](s, progress, func(in epicIn) (*commandLine, []string) { return newCommandLine("status"), operand(in.Epic) }, func(printed []byte) ([]byte, error) {
		var status document.Status
		if err := json.Unmarshal(printed, &status); err != nil {
			return nil, err
		}
		return cli.Marshal(status.Progress())
	})
	type statsIn struct {
		Agent string `json:"agentId,omitempty" jsonschema:"only this agent, such as me"`
	}
	addTool[statsIn](s, tool{zero: document.Stats{}, name: "agent_performance_get", description: "What each agent needed in all runs: iterations, time, tokens, and what failed."}, func(in statsIn) (*commandLine, []string) {
		l := newCommandLine("stats")
		l.flag("agent", in.Agent)
		return l, nil
	})
}
