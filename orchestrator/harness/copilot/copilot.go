// Package copilot adapts GitHub Copilot CLI, run without a terminal, to a harness.
//
// The client is started as `copilot --output-format json`, the brief on stdin. What is said
// here was measured on Copilot CLI 1.0.102: it does not tell how many tokens it used, and
// exits 0 after an interrupt.
package copilot

import (
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// AllowAllTools is the Permission by which every tool may be used unasked.
const AllowAllTools = "allow-all-tools"

// Options is how the client is started.
type Options struct {
	// Binary is the program; empty means "copilot".
	Binary string
	// Permission is [AllowAllTools], or empty: then only AllowedTools may be used.
	Permission string
	// Model is the value of --model; empty leaves it to the client.
	Model string
	// AllowedTools are the tools that need no permission, such as "shell(git:*)".
	AllowedTools []string
}

type copilot struct{ options Options }

// New is the harness for Copilot CLI. Its Launch fails with [harness.ErrOption].
func New(o Options) harness.Harness {
	if o.Binary == "" {
		o.Binary = "copilot"
	}
	return copilot{options: o}
}

// Launch implements harness.Harness. A new session's id has to be a UUID. The folder is
// not made a trusted one (the client has no way to, for a session whose id is chosen): hooks
// of the repository do not run, tools do.
func (c copilot) Launch(s harness.Spec) (harness.Launch, error) {
	o := c.options
	if err := s.Check(append([]string{o.Permission, o.Model}, o.AllowedTools...)...); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Binary, "--output-format", "json", "--no-ask-user", "--no-auto-update"}
	if o.Permission == AllowAllTools {
		argv = append(argv, "--allow-all-tools")
	}
	for _, tool := range o.AllowedTools {
		argv = append(argv, "--allow-tool="+tool)
	}
	if o.Model != "" {
		argv = append(argv, "--model", o.Model)
	}
	switch {
	case s.Resume:
		argv = append(argv, "--resume="+s.Session)
	case s.Session != "":
		argv = append(argv, "--session-id="+s.Session)
	}
	return harness.Launch{Argv: argv, Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (c copilot) Reader() harness.Reader { return stream.NewReader(take) }
