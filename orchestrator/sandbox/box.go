package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Box is a level on this machine: it puts commands within the bounds of a policy.
type Box struct {
	// Level is what keeps the bounds.
	Level Level
	// Self is the file of the running program, the one whose main calls [Serve].
	Self string
	// Bwrap is the absolute path of bubblewrap, for that level.
	Bwrap string
}

// ErrTooLong says that a policy names more than fits on a command line.
var ErrTooLong = errors.New("the policy names too many paths")

// maxSpecBytes is well below what the system takes as one argument, 128 KiB.
const maxSpecBytes = 96 << 10

// spec is what [Serve] is told.
type spec struct {
	Level  Level  `json:"level"`
	Bwrap  string `json:"bwrap,omitempty"`
	Policy Policy `json:"policy"`
	Limits limits `json:"limits"`
}

// limits are the part of [command.Limits] that the kernel enforces by itself.
type limits struct {
	Processes int   `json:"processes,omitempty"`
	Memory    int64 `json:"memory,omitempty"`
	Disk      int64 `json:"disk,omitempty"`
}

// Wrap makes of c the command that runs c within the bounds of p, in the folder of the policy. A program without a
// slash is looked up within them. A command without a program does nothing but say that the bounds stand: see
// [Standing]. It fails with [ErrTooLong].
func (b Box) Wrap(c command.Cmd, p Policy) (command.Cmd, error) {
	if b.Level == Seatbelt {
		c.Argv, c.Env, c.Dir = seatbeltArgs(p, c.Argv), p.environment(c.Env, b.Level), p.Dir
		return c, nil
	}
	told, err := json.Marshal(spec{Level: b.Level, Bwrap: b.Bwrap, Policy: p, Limits: limits{Processes: c.Limits.Processes, Memory: c.Limits.Memory, Disk: c.Limits.Disk}})
	if err != nil {
		return c, err
	}
	if len(told) > maxSpecBytes {
		return c, fmt.Errorf("sandbox: %w (%d bytes)", ErrTooLong, len(told))
	}
	c.Argv = append([]string{b.Self, execWord, string(told), "--"}, c.Argv...)
	c.Env = p.environment(c.Env, b.Level)
	c.Dir = p.Dir
	return c, nil
}

// Program is where a command within the bounds finds the running program.
func (b Box) Program() string {
	if b.Level.Mounts() {
		return ProgramAt
	}
	return b.Self
}

const (
	// These follow the program's name: where it is to set up a sandbox, where it is the first process of one that it
	// mounts, and where it is within one.
	execWord  = "sandbox-exec"
	mountWord = "sandbox-mount"
	initWord  = "sandbox-init"
	// Failed is the exit status where the bounds could not be set up: nothing of the command has run.
	Failed = 125
	// Standing is what a command without a program prints once its bounds stand.
	Standing = "the bounds stand\n"
)
