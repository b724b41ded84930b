package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
)

// What waits to be gone on with (a merge, a rebase, a bisect) is files in the admin directory of a worktree. An agent may
// end in the middle of one, and Harvest looks at it. Others can write these files too: then git, and Harvest, would take
// whole work for work in the middle of something.

// operations are the files and folders of operations, and of the messages that git has ready for their commits.
func operations() []string {
	return []string{
		"rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE",
		"MERGE_MSG", "MERGE_MODE", "MERGE_RR", "SQUASH_MSG", "BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS",
		"BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK", "BISECT_FIRST_PARENT",
	}
}

// pending are the operations that are there.
func (l linked) pending() (names []string) {
	for _, name := range operations() {
		if l.hasInAdmin(name) {
			names = append(names, name)
		}
	}
	return names
}

func (l linked) hasInAdmin(name string) bool {
	_, err := l.common.Lstat(filepath.Join(l.admin, filepath.FromSlash(name)))
	return err == nil
}

// planted are those of the pending operations that no git leaves so: a folder without what says where a rebase goes, a
// file that names no objects, half of a bisect.
func (l linked) planted() (names []string) {
	for _, name := range l.pending() {
		if !l.isOperation(name) {
			names = append(names, name)
		}
	}
	return names
}

// isOperation reports whether an operation that is there may be git's: it has what each git of its kind writes first.
func (l linked) isOperation(name string) bool {
	info, err := l.common.Lstat(filepath.Join(l.admin, name))
	if err != nil {
		return false
	}
	has := func(all ...string) bool {
		for _, file := range all {
			if info, err := l.common.Lstat(filepath.Join(l.admin, filepath.FromSlash(file))); err != nil || !info.Mode().IsRegular() {
				return false
			}
		}
		return true
	}
	switch name {
	case "rebase-merge":
		return info.IsDir() && has("rebase-merge/head-name", "rebase-merge/onto")
	case "rebase-apply":
		return info.IsDir() && has("rebase-apply/next", "rebase-apply/last")
	case "sequencer":
		return info.IsDir() && has("sequencer/todo")
	case "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "AUTO_MERGE":
		return info.Mode().IsRegular() && l.namesObjects(name)
	case "BISECT_LOG", "BISECT_START", "BISECT_NAMES":
		return has("BISECT_LOG", "BISECT_START", "BISECT_NAMES")
	case "BISECT_TERMS", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK", "BISECT_FIRST_PARENT":
		return info.Mode().IsRegular() && has("BISECT_START")
	}
	return info.Mode().IsRegular()
}

// namesObjects reports whether a file has ids of objects and nothing else.
func (l linked) namesObjects(name string) bool {
	content, err := l.common.ReadFile(filepath.Join(l.admin, name), maxPointer)
	ids := strings.Fields(string(content))
	for _, id := range ids {
		if !isID(id) {
			return false
		}
	}
	return err == nil && len(ids) > 0
}

// wrongOperations are the planted operations of a whole worktree, each to be put aside.
func (s *Store) wrongOperations(l linked) (all []wrong) {
	if l.owner() == "" || !l.hasDir() {
		return nil
	}
	for _, name := range l.planted() {
		path, kept := filepath.Join(l.admin, name), s.asideFor(l, name)
		all = append(all, wrong{
			Leftover: engine.Leftover{Path: path, What: "was planted: no git leaves it so, and it would go on with it; it is kept at " + kept, Fixed: true},
			mend:     func() error { return s.putAside(path, kept) },
		})
	}
	return all
}

// asideFor is a place for a file of an admin directory where it does nothing.
func (s *Store) asideFor(l linked, name string) string {
	return filepath.Join(s.repo.CommonDir(), "orch", "damaged", fmt.Sprintf("%s-%d", filepath.Base(l.admin), s.now().UnixNano()), name)
}

func (s *Store) putAside(path, kept string) error {
	if err := s.admin.MkdirAll(filepath.Dir(kept)); err != nil {
		return err
	}
	if err := s.admin.Rename(path, kept); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// endOperations puts aside what waits to be gone on with in a worktree whose files are all work, and says what that was.
func (s *Store) endOperations(l linked) (ended []string, err error) {
	names := l.pending()
	if len(names) == 0 {
		return nil, nil
	}
	for _, name := range names {
		if err := s.putAside(filepath.Join(l.admin, name), s.asideFor(l, name)); err != nil {
			return ended, fmt.Errorf("ending what an agent had begun: %w", err)
		}
		ended = append(ended, name)
	}
	return ended, nil
}

// clearOperations removes all operations of the verify worktree: nobody begins one there whose outcome counts.
func (l linked) clearOperations() error {
	for _, name := range l.pending() {
		if err := l.common.RemoveAll(filepath.Join(l.admin, name)); err != nil {
			return err
		}
	}
	return nil
}
