package tamper

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A rebase, a merge and the like that wait to be gone on with are files in a git directory. Who plants one has the
// person's next git rebase --continue run what it says.

// operations are the files and folders of what waits to be gone on with, below the git directory of a work tree.
func operations() []string {
	return []string{"rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE", "BISECT_LOG", "BISECT_START"}
}

// plans are the files in which an operation says what it will do.
func plans() []string {
	return []string{"rebase-merge/git-rebase-todo", "rebase-merge/strategy", "rebase-merge/strategy_opts", "rebase-merge/gpg_sign_opt", "sequencer/todo", "sequencer/opts"}
}

// traces are what git changes as it begins an operation, or goes on with one.
func traces() []string { return []string{"logs/HEAD", "HEAD", "index"} }

// places are the git directories of work trees that are not orch's, as a prefix of paths: "" is the main one's.
func (g *Guard) places() ([]string, error) {
	all := []string{""}
	worktrees, err := g.list("worktrees")
	for _, w := range worktrees {
		at := "worktrees/" + w.Name() + "/"
		if _, err := g.Files.Lstat(g.at(at + "orch")); errors.Is(err, fs.ErrNotExist) {
			all = append(all, at)
		}
	}
	return all, err
}

// takeOngoing remembers what waits to be gone on with, and how what git changes on the way looks.
func (g *Guard) takeOngoing() (map[string]string, error) {
	is := map[string]string{}
	places, err := g.places()
	for _, at := range places {
		is[at] = "looked at"
		for _, name := range slices.Concat(operations(), plans(), traces()) {
			sig := g.signature(at + name)
			if sig != "" && slices.Contains(operations(), name) {
				sig = "there" // a folder changes with what is in it
			}
			if sig != "" {
				is[at+name] = sig
			}
		}
	}
	return is, err
}

// checkOngoing says what waits to be gone on with and did not before, and what was changed of it while git did nothing.
// It is put aside where nothing tells of a git that has begun it; what git does not leave traces of stays.
func (g *Guard) checkOngoing() (found []Change, err error) {
	was := g.was.Ongoing
	if was == nil {
		return nil, nil // a record of before
	}
	now, err := g.takeOngoing()
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(now)) {
		if now[at] != "looked at" || was[at] == "" {
			continue // no place, or the worktree of a person that has just been made
		}
		idle := !slices.ContainsFunc(traces(), func(name string) bool { return was[at+name] != now[at+name] })
		for _, name := range operations() {
			if now[at+name] == "" || was[at+name] != "" {
				continue
			}
			c, err := g.planted(at+name, idle && (leavesTraces(name) || g.isHalf(at, name)) && !g.busy(at))
			found = append(found, c)
			if err != nil {
				return found, err
			}
			if c.Restored {
				delete(now, at+name)
				maps.DeleteFunc(now, func(path, _ string) bool { return strings.HasPrefix(path, at+name+"/") })
			}
		}
		for _, name := range plans() {
			if was[at+path.Dir(name)] != "" && idle && was[at+name] != now[at+name] {
				found = append(found, Change{Path: at + name, What: "was changed, and git went on with nothing", Fix: "read it before git goes on: cat " + shellQuoted(g.at(at+name))})
			}
		}
	}
	g.was.Ongoing = now
	return found, nil
}

// busy reports whether a git is at work in the work tree of a place: git rebase -i has an editor open, say.
func (g *Guard) busy(at string) bool {
	if at == "" {
		return g.Repo.Busy(filepath.Dir(g.Repo.CommonDir()))
	}
	pointer, err := g.Files.ReadFile(g.at(at+"gitdir"), maxFile)
	return err != nil || g.Repo.Busy(filepath.Dir(strings.TrimSpace(string(pointer))))
}

// leavesTraces reports whether git changes HEAD, its log or the index when it begins an operation that has such a file.
func leavesTraces(name string) bool {
	return name != "rebase-apply" && !strings.HasPrefix(name, "BISECT_") // git am, and git bisect, begin without
}

// isHalf reports whether an operation that leaves no traces lacks what each git of its kind writes with it: nobody has begun it.
func (g *Guard) isHalf(at, name string) bool {
	with := []string{"BISECT_START", "BISECT_LOG", "BISECT_NAMES"}
	if name == "rebase-apply" {
		with = []string{"rebase-apply/next", "rebase-apply/last"}
	}
	return slices.ContainsFunc(with, func(file string) bool { return g.signature(at+file) == "" })
}

// planted is the change of an operation that nobody seems to have begun, which is put aside, or of one that a person may have.
func (g *Guard) planted(path string, aside bool) (Change, error) {
	c := Change{Path: path, What: "appeared: git takes it for something that waits to be gone on with", Fix: "git status tells of what; if you have not begun it, abort it"}
	if !aside {
		return c, nil
	}
	kept, err := g.aside(path)
	if err != nil {
		return c, err
	}
	c.What, c.Fix, c.Restored = "was planted: git would go on with it, and no git has begun it", "grep -r . "+shellQuoted(kept), true
	return c, nil
}
