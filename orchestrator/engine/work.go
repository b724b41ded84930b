package engine

import (
	"errors"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// ErrGone says that an engine has nothing of what it was asked for.
var ErrGone = errors.New("nothing of the attempt is there")

// MaxFiles is how many of the changed files a Work names.
const MaxFiles = 50

// Work is what one turn of an attempt came to. It is data alone, and all of it survives JSON. It
// has facts, and no judgement on them: what is to come of the turn iteration.Judge says.
type Work struct {
	End      epic.End      `json:"end,omitempty"`       // how the agent's process ended
	HandOver bool          `json:"hand_over,omitempty"` // worktree and brief are there, for a session's model
	Reason   string        `json:"reason,omitempty"`    // what happened, in a clause
	Text     string        `json:"text,omitempty"`      // what git shows, for the prompt of the next turn
	Fast     bool          `json:"fast,omitempty"`      // it ended within seconds, and badly
	Took     time.Duration `json:"took,omitempty"`      // from start to end of the process
	Sandbox  string        `json:"sandbox,omitempty"`   // what bounded it: the name of a level, or epic.NoSandbox; "" it did not run

	Conversation string        `json:"conversation,omitempty"` // by which it can be resumed; "" it cannot
	RetryAfter   time.Duration `json:"retry_after,omitempty"`  // how long the API wants to be left alone; 0 unknown
	Usage        epic.Usage    `json:"usage"`                  // of this turn

	Base     epic.Commit `json:"base,omitempty"`      // what the attempt began from; "" when its work was not inspected
	Head     epic.Commit `json:"head,omitempty"`      // the newest commit of the attempt; "" when that is not known
	Changed  bool        `json:"changed,omitempty"`   // the attempt differs from its base
	Salvaged bool        `json:"salvaged,omitempty"`  // the engine committed what was not
	Unmerged []string    `json:"unmerged,omitempty"`  // files that were left in conflict
	Beside   epic.Commit `json:"beside,omitempty"`    // another line of its commits, which is kept and not in Head
	Files    []string    `json:"files,omitempty"`     // that the attempt changes, the first MaxFiles of them
	Added    int         `json:"added,omitempty"`     // lines
	Deleted  int         `json:"deleted,omitempty"`   // lines
	TooLarge string      `json:"too_large,omitempty"` // over which limit of size it is, in a clause; "" none
	Embedded []string    `json:"embedded,omitempty"`  // repositories of their own in the worktree that keep the work from being taken
	Apart    []string    `json:"apart,omitempty"`     // repositories of their own in the worktree, with what is saved nowhere, that the work goes without
	Refused  string      `json:"refused,omitempty"`   // why commits of its sandbox were not taken back, and where they are kept; "" they were
	Gone     string      `json:"gone,omitempty"`      // the folder that was missing when its work was inspected; "" none

	Survivors []int `json:"survivors,omitempty"` // processes of the agent that could not be ended; normally none

	Said    string              `json:"said,omitempty"`    // the agent's last message, which its promise is in
	Full    bool                `json:"full,omitempty"`    // it ended since the context is full, as its client says
	Verdict *validation.Verdict `json:"verdict,omitempty"` // of the agent's rules; nil where none were asked
	Hook    iteration.Hook      `json:"hook,omitzero"`     // what the hooks of the task say; zero where none were asked
}

// Stage is how far a turn has come.
type Stage string

// The stages of a turn.
const (
	Working Stage = "working" // the agent's process runs
	Exited  Stage = "exited"  // it has ended, and its work has not been inspected
)

// Progress is what an engine reports of a turn that is under way. It is data alone.
type Progress struct {
	Stage    Stage    `json:"stage"`
	Activity string   `json:"activity,omitempty"` // what the agent does now, in a clause; "" unknown
	End      epic.End `json:"end,omitempty"`      // Exited: how the process ended
}
