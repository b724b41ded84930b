package orchestrator

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/templates"
)

// Agents is how agents are started, prompted and limited, by the settings.
type Agents struct {
	Client engine.Client     // that is started
	Limits engine.Limits     // of each turn
	Roles  map[string]Role   // by agent, as tasks' labels name them; "" for others
	Gate   []validation.Rule // what has to pass before work lands, for the brief
	Tasks  string            // the command that agents and people use for the tracker, for the brief
}

// Role is what an agent of one name is to be.
type Role struct {
	Text      string           // as the people of the repository describe it; "" for nothing
	Iteration iteration.Config // how its turns are judged, before the gate is asked; how many they may be is in the run's limits
}

// role is the one of a task's agent.
func (a Agents) role(t *epic.Task) Role {
	if r, known := a.Roles[cmp.Or(t.Agent, epic.DefaultAgent)]; known {
		return r
	}
	return a.Roles[""]
}

// job is the engine's order for a turn that is decided.
func (x *dispatch) job(s epic.State, d epic.Decision) engine.Job {
	t := s.Task(d.Task)
	j := engine.Job{
		AttemptID: x.attempt(d.Task, d.Attempt), Turn: d.Turn().Iteration, Base: t.Last().Base, HandOver: inSession(d),
		Brief: x.brief(s, t, d), Client: x.Agents.Client, Actor: s.Run.Limits.Actor, Rules: x.Agents.role(t).Iteration.ValidationRules, Limits: x.Agents.Limits,
		Conversation: engine.Conversation{ID: d.Turn().Session, Resume: d.Turn().Resume},
	}
	if j.Conversation.ID == "" {
		j.Conversation.ID = conversationID(s, d)
	}
	for _, a := range t.Attempts {
		if a.Session == j.Conversation.ID {
			j.Conversation.CountedTokens += a.SessionTokens
		}
		if a.Number == d.Attempt {
			continue
		}
		j.Earlier = append(j.Earlier, engine.Earlier{Number: a.Number, Head: a.Head})
		if a.Head != "" && a.Head != a.Base {
			j.Previous = a.Number
		}
	}
	return j
}

// inSession reports whether a session's model is to do the turn.
func inSession(d epic.Decision) bool {
	f, started := d.Fact.(epic.AttemptStarted)
	return started && f.InSession
}

// brief gathers the content of a prompt: the task's texts, what its blockers landed, how it will be
// judged, and what became of the attempts before.
func (x *dispatch) brief(s epic.State, t *epic.Task, d epic.Decision) templates.BriefData {
	issue := x.issue(t.ID)
	data := templates.BriefData{
		Epic: string(s.Epic), Task: string(t.ID), Title: cmp.Or(issue.Title, t.Title), Role: x.Agents.role(t).Text,
		Description: issue.Description, Design: issue.Design, Acceptance: issue.AcceptanceCriteria, Notes: issue.Notes,
		Tracker: x.Agents.Tasks, Landed: landedFor(s, t), Gate: x.Agents.gateCommands(), Hints: t.Hints,
		Promise: x.Agents.role(t).Iteration.Completion(), Attempt: d.Attempt, Iteration: d.Turn().Iteration, Base: string(d.Turn().Base),
	}
	for _, a := range t.Attempts {
		if a.Feedback != "" {
			data.Feedback = append(data.Feedback, templates.Feedback{Attempt: a.Number, Kind: string(a.Failure), Text: a.Feedback})
		}
	}
	if a := t.Last(); len(a.Files) > 0 && a.Open() {
		data.ConflictFiles, data.ConflictWith = a.Files, string(a.Conflict)
	}
	return data
}

// issue is the tracker's newest word on a task, texts and all.
func (x *dispatch) issue(id epic.TaskID) tracker.Issue {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.index == nil {
		return tracker.Issue{ID: string(id)}
	}
	issue, _ := x.index.Issue(string(id))
	return issue
}

// landedFor lists what the blockers of a task put on the epic branch.
func landedFor(s epic.State, t *epic.Task) (out []templates.LandedTask) {
	var ids []epic.TaskID
	for _, row := range t.Needs {
		for _, id := range row {
			if b := s.Task(id); b != nil && b.State == epic.Landed && !slices.Contains(ids, id) {
				ids = append(ids, id)
				out = append(out, templates.LandedTask{Task: string(id), Title: b.Title, Commit: string(b.Commit)})
			}
		}
	}
	return out
}

func (a Agents) gateCommands() (out []string) {
	for _, r := range a.Gate {
		if r.Off {
			continue
		}
		if r.Command != "" {
			command := r.Command
			if r.Dir != "" {
				command = "cd " + r.Dir + " && " + command
			}
			out = append(out, command)
			continue
		}
		out = append(out, fmt.Sprintf("%s (%s)", r.Name, r.Type))
	}
	return out
}
