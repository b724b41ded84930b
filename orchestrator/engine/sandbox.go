package engine

import (
	"context"
	"path/filepath"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Sandbox puts what is started on an agent's behalf within bounds. It is safe for concurrent use.
type Sandbox interface {
	// Level is what keeps the bounds, in a word for a person.
	Level() string
	// Enter makes what a turn runs in. One turn at a time is in a worktree. The caller calls Leave.
	Enter(ctx context.Context, s Stay) (Cell, error)
	// In gives what runs commands that share a room, each in the folder that it names: a worktree, whose files it may write, or the
	// checkout, which it may read. What they do to references is dropped. It fails as a [command.Runner] does, and where no bounds could be made.
	In(r Room) command.Runner
	// Recover takes back what a turn has committed whose process has ended without Leave; folder is that of the attempt.
	Recover(ctx context.Context, folder string) (Left, error)
}

// Stay is one turn of an attempt, for a [Sandbox].
type Stay struct {
	// ID names the attempt.
	ID AttemptID
	// Actor is the agent's name in the tracker.
	Actor string
	// Dir is the worktree.
	Dir string
	// Branch is the attempt's, "refs/heads/...".
	Branch string
	// Folder is that of the attempt, which the agent cannot write.
	Folder string
	// Home is the folder that the agent's home is in; it is made, and kept.
	Home string
	// Client is the harness of the agent.
	Client string
	// Command is what the agent is started with: the programs and scripts that it names can be read.
	Command []string
	// Env is the agent's environment: plain files that variables name can be read.
	Env []string
	// Read are files that the agent is told to read.
	Read []string
}

// Room is what commands that are no agents share, beside the files of a worktree. The zero Room is one for each command alone.
type Room struct {
	// Home is the folder that their home is in; it is made, and kept. "" is one for each command.
	Home string
	// Fetched is the folder in which is what the setup of the worktree has written to caches; "" for none.
	Fetched string
	// SetUp says that the command is that setup: what it writes to caches is kept in Fetched.
	SetUp bool
	// Network is what they have of the network.
	Network Network
}

// Network is what a command has of the network.
type Network string

// The networks.
const (
	// AsAgents is that of agents.
	AsAgents Network = ""
	// Loopback is none but a loopback of its own, where the level can do that.
	Loopback Network = "loopback"
	// Fetching is what a setup has, which fetches what later commands need.
	Fetching Network = "fetching"
)

// Fetched is where, in the folder of an attempt, is what the setup of its worktree has written to caches.
func Fetched(attempt string) string { return filepath.Join(attempt, "fetched") }

// Cell is what one turn runs in.
type Cell interface {
	// Wrap makes of a command the one that runs within the bounds.
	Wrap(c command.Cmd) (command.Cmd, error)
	// Leave takes back what was committed, once no process of the turn is there, and removes the rest.
	Leave(ctx context.Context) (Left, error)
}

// Left is what of a turn in a sandbox was not taken back.
type Left struct {
	// Dropped are references that were made there beside the attempt's branch, by their full names.
	Dropped []string
	// Refused is why the commits were not taken back, and where they are kept; "" where they were.
	Refused string
	// Planted are files that were moved aside: what a client would run or obey, made or changed in what is shared with the person, and a
	// repository in the place of the worktree's pointer file.
	Planted []string
}
