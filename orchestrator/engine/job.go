package engine

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/templates"
)

// AttemptID names an attempt.
type AttemptID struct {
	Epic   epic.TaskID `json:"epic"`   // of the task
	Task   epic.TaskID `json:"task"`   // that is tried
	Number int         `json:"number"` // from 1
}

// Job is one turn of an attempt that is to be done: one run of an agent's client. It is data
// alone, and all of it survives JSON.
type Job struct {
	AttemptID `json:"attempt"`

	Turn     int         `json:"turn"`                // within the attempt, from 1; the first makes its worktree
	Base     epic.Commit `json:"base"`                // what the attempt began from
	Earlier  []Earlier   `json:"earlier,omitempty"`   // attempts at the task that make room for this one, oldest first
	Abandon  bool        `json:"abandon,omitempty"`   // what is collected will not land: it is kept in the attic
	HandOver bool        `json:"hand_over,omitempty"` // a session's model does the turn: only worktree and brief are made

	Brief        templates.BriefData `json:"brief"`              // what the prompt is made of, but for the names that the engine gives
	Previous     int                 `json:"previous,omitempty"` // the attempt whose kept work the brief names; 0 none
	Conversation Conversation        `json:"conversation"`       // of the agent's client
	Client       Client              `json:"client"`             // that is started
	Actor        string              `json:"actor"`              // the agent's name in the tracker
	Rules        []validation.Rule   `json:"rules,omitempty"`    // of the agent, which judge the turn
	Limits       Limits              `json:"limits"`             // of the turn
}

// Earlier is an attempt that came to nothing.
type Earlier struct {
	Number int         `json:"number"`         // from 1
	Head   epic.Commit `json:"head,omitempty"` // its newest work; "" none that is known
}

// Conversation is the one that an agent's client has with its model.
type Conversation struct {
	ID      string `json:"id"`                // for a new one, or that of the one to resume
	Resume  bool   `json:"resume,omitempty"`  // it exists, and goes on
	Counted int64  `json:"counted,omitempty"` // tokens of it that were counted for earlier turns
}

// Client is the agent's client with the settings that it is started with.
type Client struct {
	Harness        string   `json:"harness"`                   // the adapter's name; "command" for any other program
	Command        []string `json:"command,omitempty"`         // the program with its arguments, for the harness command
	Model          string   `json:"model,omitempty"`           // "" leaves it to the client
	PermissionMode string   `json:"permission_mode,omitempty"` // the client's own word for what may be done unasked
	AllowedTools   []string `json:"allowed_tools,omitempty"`   // the client's own words for tools that may be used unasked
}

// Limits bounds a turn and what it leaves. A part that is 0 has no limit.
type Limits struct {
	Time       time.Duration `json:"time,omitempty"`        // of the agent's process
	NoProgress time.Duration `json:"no_progress,omitempty"` // without any sign of life
	Files      int           `json:"files,omitempty"`       // that the attempt changes
}
