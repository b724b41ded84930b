// Package all is the list of agent clients: a new one is a package, and a line here.
package all

import (
	"slices"
	"strings"

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

// folder ends a glob of all that is below a folder.
const folder = "/**"

// Files are the files and folders by which one of the clients runs programs: [harness.Client.Files].
func Files() (files []string) {
	for _, c := range Clients() {
		for _, file := range c.Files {
			files = append(files, strings.TrimSuffix(file, folder))
		}
	}
	return files
}

// Protected are the globs of these, and of what else settles how one of the clients works:
// [harness.Client.Protect].
func Protected() (globs []string) {
	for _, c := range Clients() {
		globs = append(globs, c.Protect...)
		for _, file := range c.Files {
			if !slices.ContainsFunc(c.Protect, func(glob string) bool { return covers(glob, file) }) {
				globs = append(globs, file)
			}
		}
	}
	return globs
}

// covers reports whether a glob has a file, or all of a folder, by its text.
func covers(glob, file string) bool {
	dir, isFolder := strings.CutSuffix(glob, folder)
	return glob == file || isFolder && strings.HasPrefix(file, dir+"/")
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
