package session

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/slug"
)

// LoopFile is where a project's criteria loop is kept.
const LoopFile = ".loop/state.json"

// sessions is the name of the folder in which sessions are kept, in that of orch.
const sessions = "sessions"

// File is where a session's binding is kept, in the folder that all worktrees of a
// repository share.
func File(common, id string) string {
	return filepath.Join(common, "orch", sessions, slug.Of(id)+".json")
}

// Project is the folder of the session that a hook was called for: the client's variable
// for it, what it sent to the hook, or where the hook was started.
func Project(in Input, env func(name string) string, dir string) string {
	for _, name := range []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "COPILOT_PROJECT_DIR"} {
		if project := env(name); project != "" {
			return project
		}
	}
	if in.Dir != "" {
		return in.Dir
	}
	return dir
}

// Repository finds the repository that holds a folder, without running git: its root,
// which for a linked worktree is the main one, and the folder that all worktrees share.
// Both are "" outside a repository.
func Repository(dir string) (root, common string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", ""
	}
	for {
		at := filepath.Join(dir, ".git")
		info, err := os.Stat(at)
		switch {
		case err == nil && info.IsDir():
			return dir, at
		case err == nil && info.Mode().IsRegular():
			return gitDirOf(at)
		}
		if up := filepath.Dir(dir); up != dir {
			dir = up
			continue
		}
		return "", ""
	}
}

// gitDirOf follows the .git file of a linked worktree.
func gitDirOf(file string) (root, common string) {
	text, err := ReadState(file)
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return "", ""
	}
	if !filepath.IsAbs(admin) {
		admin = filepath.Join(filepath.Dir(file), admin)
	}
	to, err := ReadState(filepath.Join(admin, "commondir"))
	if err != nil {
		return "", ""
	}
	common = strings.TrimSpace(string(to))
	if !filepath.IsAbs(common) {
		common = filepath.Join(admin, common)
	}
	return filepath.Dir(common), common
}

// MayApply reports whether a hook may have anything to say to a session: it is bound to an
// epic, or there is a criteria loop in its project. It reads neither.
func MayApply(in Input, project string) bool {
	root, common := Repository(project)
	if root == "" {
		root = project
	}
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	return common != "" && in.Session != "" && there(File(common, in.Session)) || there(filepath.Join(root, LoopFile))
}
