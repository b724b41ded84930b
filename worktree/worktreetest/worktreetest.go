// Package worktreetest shows what a person has in a repository, for tests that prove that it stays so.
package worktreetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Snapshot is everything of the repository at dir, a checkout or a bare repository, that orch
// must not change, one line a thing: files with mode and content, HEAD, index, configuration, hooks,
// references, reflogs, stash. Left out are objects, what is below the references orch and epic, and
// the admin directories of orch's own worktrees. It ends the test when something cannot be read.
func Snapshot(t testing.TB, dir string) string {
	t.Helper()
	s, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Take is [Snapshot] for those who have no test at hand.
func Take(dir string) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		inGit := strings.TrimPrefix(filepath.ToSlash(name), ".git/")
		if d.IsDir() {
			if ours(inGit) {
				return fs.SkipDir
			}
			return nil
		}
		if ours(inGit) {
			return nil
		}
		line, err := describe(path, inGit, d)
		lines = append(lines, name+" "+line)
		return err
	})
	return strings.Join(lines, "\n"), err
}

// ours reports whether a path in the git directory is for orch or git to change.
func ours(path string) bool {
	switch path {
	case "objects", "orch", "refs/orch", "refs/heads/orch", "refs/heads/epic", "logs/refs/heads/orch", "logs/refs/heads/epic":
		return true
	}
	admin, ok := strings.CutPrefix(path, "worktrees/")
	return ok && (strings.HasPrefix(admin, "agent-") || strings.HasPrefix(admin, "verify-"))
}

func describe(path, inGit string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return "-> " + target, err
	}
	if !info.Mode().IsRegular() {
		return info.Mode().String(), nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if inGit == "packed-refs" {
		return theirs(string(content)), nil
	}
	return fmt.Sprintf("%s %d bytes %x", info.Mode(), len(content), sha256.Sum256(content)), nil
}

// theirs are the packed references that are not orch's; git may write the file anew around them.
func theirs(packed string) string {
	var refs []string
	for line := range strings.Lines(packed) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(name, "refs/orch/") ||
			strings.HasPrefix(name, "refs/heads/orch/") || strings.HasPrefix(name, "refs/heads/epic/") {
			continue
		}
		refs = append(refs, strings.TrimSpace(line))
	}
	return strings.Join(refs, ", ")
}
