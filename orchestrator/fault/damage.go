package fault

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Damaged reports whether err is git's word for a file of the repository that it cannot read, and
// gives the line that says so. Where the file serves all of the repository (packed references, an
// index over packs, a commit-graph), that is a fault of the machine too; an object or a pack may be
// what an attempt has left, and the caller, which knows its owner, decides.
func Damaged(err error) (why string, ok bool) {
	var exit *command.ExitError
	if !errors.As(err, &exit) || !isGit(exit) {
		return "", false
	}
	return quoted(exit, append(sharedDamage(), objectDamage()...))
}

// maxQuote is how much of git's line is quoted, in cells: it may have the content of the file.
const maxQuote = 300

// quoted is the first line of a program's words that has one of the phrases, fit to be shown.
func quoted(exit *command.ExitError, phrases []string) (line string, ok bool) {
	line, ok = find(exit.Stderr, phrases)
	return text.Clause(line, maxQuote), ok
}

// sharedDamage are git's words for files that all of the repository is read by (refs/packed-backend.c,
// midx.c and commit-graph.c of git 2.39).
func sharedDamage() []string {
	return []string{
		"unexpected line in ", "unterminated line in ", "unparsable header in ", "broken sorting in ", "/packed-refs: Is a directory", // packed-refs
		"multi-pack-index", "multi-pack index", "commit-graph", "commit graph",
	}
}

// objectDamage are git's words for objects and packs that cannot be read (object-file.c and packfile.c of git 2.39).
func objectDamage() []string {
	return []string{
		"object file ", "inflate: ", "is corrupt", "corrupt loose object", "garbage at end of loose object", "hash mismatch",
		".idx", "is far too short to be a packfile", "is not a GIT packfile", "does not match index", "unable to read sha1 file",
	}
}

// closedLocks are git's words for a file that it cannot write, since its folder is closed (lockfile.c of git 2.39).
func closedLocks() []string {
	return []string{".lock': Operation not permitted", ".lock': Permission denied", ".lock': Device or resource busy"}
}

// killed reports whether a git was ended by a signal that others send, among them the system when it has no
// memory left or the disk does not answer.
func killed(exit *command.ExitError) bool {
	return isGit(exit) && slices.Contains([]string{"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGBUS", "SIGXCPU", "SIGXFSZ"}, exit.Signal)
}

func isGit(exit *command.ExitError) bool {
	return len(exit.Argv) > 0 && filepath.Base(exit.Argv[0]) == "git"
}

// find is the first line of a text that has one of the phrases.
func find(said string, phrases []string) (line string, ok bool) {
	for line := range strings.Lines(said) {
		for _, words := range phrases {
			if strings.Contains(line, words) {
				return strings.TrimSpace(line), true
			}
		}
	}
	return "", false
}
