package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// linked is a worktree of ours: its directory and its admin directory, each of which may be missing.
type linked struct {
	repo  *git.Repo
	dir   string
	admin string
}

// ownerFile is in an admin directory once its worktree is whole, and says whose it is: the full
// name of a branch, or verifyOwner.
const ownerFile = "orch"

func (s *Store) linked(dir string) linked {
	sum := sha256.Sum256([]byte(dir))
	name := filepath.Base(dir) + "-" + hex.EncodeToString(sum[:4])
	return linked{repo: s.repo, dir: dir, admin: filepath.Join(s.repo.CommonDir(), "worktrees", name)}
}

// git runs git on the files, with an index. Neither the worktree's .git file nor its admin
// directory is read.
func (l linked) git(ctx context.Context, index string, stdin []byte, args ...string) (proc.Result, error) {
	return l.repo.Do(ctx, git.Call{Args: args, Stdin: stdin, WorkTree: l.dir, Index: index})
}

// index is the index of whoever works here.
func (l linked) index() string { return filepath.Join(l.admin, "index") }

// hasDir reports whether the worktree is there, as a directory and no symlink.
func (l linked) hasDir() bool {
	info, err := os.Lstat(l.dir)
	return err == nil && info.IsDir()
}

// hasAdmin reports whether the admin directory is there.
func (l linked) hasAdmin() bool {
	info, err := os.Lstat(l.admin)
	return err == nil && info.IsDir()
}

// owner is whose worktree this is; empty when there is none, or one that is not whole.
func (l linked) owner() string {
	owner, err := os.ReadFile(filepath.Join(l.admin, ownerFile))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(owner), "\n")
}

// register makes the admin directory, in one rename, with the given content of HEAD. It is
// locked against git worktree prune, and has a reflog whatever the user's settings are.
func (l linked) register(head, reason string) (err error) {
	scratch, err := l.repo.Scratch("admin-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	admin := filepath.Join(scratch, "admin")
	if err := os.MkdirAll(filepath.Join(admin, "logs"), 0o777); err != nil {
		return err
	}
	for name, content := range map[string]string{
		"commondir": "../..\n",
		"gitdir":    filepath.Join(l.dir, ".git") + "\n",
		"HEAD":      head + "\n",
		"locked":    "orch: " + reason + "\n",
		"logs/HEAD": "",
	} {
		if err := os.WriteFile(filepath.Join(admin, name), []byte(content), 0o666); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(l.admin), 0o777); err != nil {
		return err
	}
	return os.Rename(admin, l.admin)
}

// makeDir makes the directory with its .git file; there must be none.
func (l linked) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(l.dir), 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(l.dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, ".git"), []byte("gitdir: "+l.admin+"\n"), 0o666)
}

// checkOut writes the files of c, changing only what differs, and makes the index match.
func (l linked) checkOut(ctx context.Context, index string, c git.Commit) error {
	if _, err := l.git(ctx, index, nil, "read-tree", "--reset", "-u", "--no-sparse-checkout", string(c)); err != nil {
		return fmt.Errorf("checking out %s: %w", c, err)
	}
	return nil
}

// own says, durably, that the worktree is whole, and whose it is: from then on somebody may work in it.
func (l linked) own(owner string) error {
	f, err := os.OpenFile(filepath.Join(l.admin, ownerFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(owner + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}
