package shadow

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// head is where HEAD of a worktree is.
type head struct {
	onBranch bool       // of the attempt
	id       git.Commit // elsewhere; "" where that is no object
}

// head reads HEAD of the worktree in the shadow. On another branch, which nobody else will know, it is where that is.
func (s *Shadow) head(dir *private.Dir, refs map[string]git.Commit) (h head) {
	content, err := dir.ReadFile(s.adminName("HEAD"), maxSmall)
	if err != nil {
		return h
	}
	line := strings.TrimSpace(string(content))
	target, symbolic := strings.CutPrefix(line, "ref: ")
	switch {
	case symbolic && target == s.options.Branch:
		h.onBranch = true
	case symbolic:
		h.id = refs[target]
	case objectID().MatchString(line):
		h.id = git.Commit(line)
	}
	return h
}

// returnAdmin has the worktree's real administrative folder say where HEAD is, what the index has, and what is being merged. A rebase
// under way is a folder without content: what it would do next is the agent's word. indexed says that the objects of the index are there; else the real index stays.
func (s *Shadow) returnAdmin(dir *private.Dir, h head, indexed bool) error {
	admin, err := private.OpenAbove(s.options.Admin, 1)
	if err != nil {
		return err
	}
	defer admin.Close()
	at := func(name string) string { return filepath.Join(s.options.Admin, name) }
	switch {
	case h.onBranch:
		err = admin.WriteFile(at("HEAD"), []byte("ref: "+s.options.Branch+"\n"))
	case h.id != "":
		err = admin.WriteFile(at("HEAD"), []byte(string(h.id)+"\n"))
	}
	for name, limit := range map[string]int64{"index": maxAdmin, "logs/HEAD": maxLog, "MERGE_HEAD": maxSmall, "CHERRY_PICK_HEAD": maxSmall, "REVERT_HEAD": maxSmall} {
		if name == "index" && !indexed {
			continue
		}
		content, reading := dir.ReadFile(s.adminName(name), limit)
		switch {
		case reading == nil:
			info, looking := dir.Lstat(s.adminName(name))
			err = errors.Join(err, admin.WriteFile(at(name), content), looking, keepTime(info, func(t time.Time) error { return admin.Chtimes(at(name), t, t) }))
		case errors.Is(reading, fs.ErrNotExist) && strings.HasSuffix(name, "_HEAD"):
			if removing := admin.Remove(at(name)); !errors.Is(removing, fs.ErrNotExist) {
				err = errors.Join(err, removing)
			}
		}
	}
	for _, name := range []string{"rebase-merge", "rebase-apply"} {
		if _, missing := dir.Lstat(s.adminName(name)); missing == nil {
			err = errors.Join(err, admin.MkdirAll(at(name)))
		}
	}
	return err
}
