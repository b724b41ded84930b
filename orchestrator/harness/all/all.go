// Package all is the list of agent clients: a new one is a package, and a line here.
package all

import (
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/claude"
	"github.com/beadsorch/orch/orchestrator/harness/codex"
	"github.com/beadsorch/orch/orchestrator/harness/copilot"
	"github.com/beadsorch/orch/orchestrator/harness/gemini"
	"github.com/beadsorch/orch/orchestrator/harness/opencode"
)

// Clients are all agent clients that orch can start, in the order in which they are shown.
func Clients() []harness.Client {
	return []harness.Client{claude.Client(), codex.Client(), gemini.Client(), copilot.Client(), opencode.Client()}
}

// Files are those by which one of the clients runs programs: [harness.Client.Files].
func Files() (files []string) {
	for _, c := range Clients() {
		files = append(files, c.Files...)
	}
	return files
}

// Protected are the globs of what settles how one of the clients works: [harness.Client.Protect].
func Protected() (globs []string) {
	for _, c := range Clients() {
		globs = append(globs, c.Protect...)
	}
	return globs
}

// Client is the one of a name; ok is false for any other program.
func Client(name string) (c harness.Client, ok bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return harness.Client{}, false
}
