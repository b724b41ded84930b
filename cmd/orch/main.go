// Command orch drives an epic of tasks to completion with coding agents that
// work in parallel, each in a git worktree of its own.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/beadsorch/orch/cmd"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/proc"
)

func main() {
	proc.KeepOwnerBits()
	proc.KeepName()
	if err := proc.Conceal(cli.MarkName); err != nil {
		fmt.Fprintln(os.Stderr, "orch: other processes can read this one:", err)
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	os.Exit(cmd.Run(context.Background(), cmd.Process{
		Args: os.Args, Env: os.Environ(), Self: self, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now,
		Children: proc.NewChildren(),
	}))
}
