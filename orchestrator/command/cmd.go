// Package command is a command line to run, and what it left behind: values that whoever needs a
// program passes to whoever may start one. Only package proc starts any.
package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
	"unicode"
)

// Cmd is a process that runs to its end.
type Cmd struct {
	// Dir is the working directory; empty means that of the caller.
	Dir string
	// Argv is the program and its arguments. A program without a slash is looked up in the PATH of Env.
	Argv []string
	// Env is the child's whole environment, "NAME=value"; nothing is inherited.
	Env []string
	// Stdin is what the child reads; nil means /dev/null.
	Stdin []byte
	// MaxOutputBytes is how much is kept of stdout and of stderr each; 0 means 64 MiB.
	// What comes after it is read, counted and dropped.
	MaxOutputBytes int
	// Quiet is how long it may neither print anything nor use processor time before it is ended; 0 is no
	// limit. It is for commands that run without a guard; on systems where the processor time of others is not
	// seen it is ten times as long.
	Quiet time.Duration
	// Limits bound what it uses, with all that it starts; for commands that run below a guard.
	Limits Limits
	// Bound has it told to end (SIGTERM) when the process that started it dies (Linux, without a guard).
	Bound bool
}

// Limits bound what a command and all below it may use; 0 is no limit. Who looks sees them exceeded a moment late.
type Limits struct {
	// Processes is how many there may be (Linux).
	Processes int
	// Memory is the sum of what each process has for itself, in bytes (Linux).
	Memory int64
	// Disk is what the files below Folders may take, in bytes.
	Disk int64
	// Folders are those that Disk is for.
	Folders []string
}

// The resources that [Limits] bound.
const (
	Processes = "processes"
	Memory    = "memory"
	Disk      = "disk"
)

// LimitError says that a command was ended since it used more than one of its [Limits].
type LimitError struct {
	// Argv is the command as it was asked for.
	Argv []string
	// What is [Processes], [Memory] or [Disk].
	What string
	// Limits are those of the command.
	Limits Limits
}

// Error is one line.
func (e *LimitError) Error() string { return Name(e.Argv) + " " + e.Limits.Exceeded(e.What) }

// Exceeded says in a clause that one of the limits was exceeded.
func (l Limits) Exceeded(what string) string {
	switch what {
	case Processes:
		return fmt.Sprintf("had more than %d processes, and was ended with them", l.Processes)
	case Memory:
		return fmt.Sprintf("used more memory than %d MB, and was ended", l.Memory>>20)
	}
	return fmt.Sprintf("filled more of the disk than %d MB, and was ended", l.Disk>>20)
}

// Result is what a process left behind.
type Result struct {
	// Stdout is the beginning of the standard output, at most Cmd.MaxOutputBytes.
	Stdout []byte
	// Stderr is the beginning of the standard error, at most Cmd.MaxOutputBytes.
	Stderr []byte
	// ExitCode is the exit status, 128+n after signal n, and -1 when the process never started.
	ExitCode int
	// DroppedBytes counts the output that was read but not kept.
	DroppedBytes int64
	// Survivors are the processes of a guarded command that could not be ended; normally none.
	Survivors []int
}

// Runner runs a Cmd to its end. A non-zero exit is an [*ExitError], and the Result is
// valid all the same. When ctx ends first the error wraps context.Cause(ctx).
type Runner func(ctx context.Context, c Cmd) (Result, error)

// ErrGuard says that the guard, which a command runs below, ended or was silent before it had
// started the command: nothing of the command ran.
var ErrGuard = errors.New("the guard did not start")

// ErrGone says that the file of the running program could not be started once more: somebody has
// removed or replaced it meanwhile.
var ErrGone = errors.New("orch's own executable cannot be started any more")

// ExitError says that a process ran, but did not end with exit status 0.
type ExitError struct {
	// Argv is the command as it was asked for.
	Argv []string
	// ExitCode is the exit status, or 128+n after signal n.
	ExitCode int
	// Signal is the name of the signal that ended it ("SIGKILL"), or empty.
	Signal string
	// Stderr is the first 2 KiB of the standard error.
	Stderr string
	// Says is the first line of Stderr that says something, safe to show; or empty.
	Says string
}

// Error is one line: "git merge-tree: exit 128: fatal: not a git repository".
func (e *ExitError) Error() string {
	how := fmt.Sprintf("exit %d", e.ExitCode)
	if e.Signal != "" {
		how = "ended by " + e.Signal
	}
	if e.Says != "" {
		how += ": " + e.Says
	}
	return Name(e.Argv) + ": " + how
}

// QuietError says that a process was ended since it did nothing: see Cmd.Quiet. It waits for what does not come, as
// from a pipe that has no writer, or from a file system whose server is gone.
type QuietError struct {
	// Argv is the command as it was asked for.
	Argv []string
	// Line is Argv as a shell takes it, on one line that is safe to show.
	Line string
	// After is how long it did nothing.
	After time.Duration
}

// Error is one line that has the whole command, so that a person can look at what it waits for.
func (e *QuietError) Error() string {
	return fmt.Sprintf("%s did nothing for %s and was ended: it waited for a file that does not answer (%s)", Name(e.Argv), e.After.Round(time.Second), e.Line)
}

// Name is the program's base name with its first plain word, which for git and
// bd is the subcommand; option values (paths, k=v, shell text) are not plain words.
func Name(argv []string) string {
	if len(argv) == 0 {
		return "command"
	}
	name := filepath.Base(argv[0])
	for _, word := range argv[1:] {
		if plainWord(word) {
			return name + " " + word
		}
	}
	return name
}

func plainWord(s string) bool {
	if s == "" || s[0] == '-' {
		return false
	}
	for _, r := range s {
		if r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}
