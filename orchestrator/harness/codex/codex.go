// Package codex adapts Codex CLI, run as `codex exec --json`, to a harness.
//
// The brief is read from stdin. The client chooses the id of a new conversation itself and
// tells it in its first line; what it says of tokens counts the conversation from its
// beginning, earlier processes included. What is said here was measured on Codex CLI
// 0.169.0; it exits 1 after an error of the API and after an interrupt.
package codex

import (
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// Options is how the client is started.
type Options struct {
	// Binary is the program; empty means "codex".
	Binary string
	// Sandbox is the value of --sandbox: read-only, workspace-write or danger-full-access;
	// empty leaves it to the client. In a workspace-write sandbox an agent can not write
	// to .git: what it leaves uncommitted is committed by whoever looks at its work.
	Sandbox string
	// Model is the value of --model; empty leaves it to the client.
	Model string
}

type codex struct{ options Options }

// New is the harness for Codex CLI. Its Launch fails with [harness.ErrOption].
func New(o Options) harness.Harness {
	if o.Binary == "" {
		o.Binary = "codex"
	}
	return codex{options: o}
}

// Launch implements harness.Harness. The id of a new session can not be chosen.
func (c codex) Launch(s harness.Spec) (harness.Launch, error) {
	o := c.options
	if err := s.Check(o.Sandbox, o.Model); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Binary, "exec", "--json"}
	if o.Sandbox != "" {
		argv = append(argv, "--sandbox", o.Sandbox)
	}
	if o.Model != "" {
		argv = append(argv, "--model", o.Model)
	}
	if s.Resume {
		argv = append(argv, "resume", s.Session)
	}
	return harness.Launch{Argv: append(argv, "-"), Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (c codex) Reader() harness.Reader { return stream.NewReader(take) }
