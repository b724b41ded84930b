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

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// linked is a worktree of ours: its directory and its admin directory, each of which may be missing.
type linked struct {
	repo  *git.Repo
	dir   string
	admin string

	trees  *private.Dir // above dir
	common *private.Dir // above admin
	limits Limits
}

// ownerFile is in an admin directory once its worktree is whole, and names its owner: the full
// name of a branch, or verifyOwner.
const ownerFile = "orch"

func (s *Store) linked(dir string) linked {
	sum := sha256.Sum256([]byte(dir))
	name := filepath.Base(dir) + "-" + hex.EncodeToString(sum[:4])
	return linked{repo: s.repo, dir: dir, admin: filepath.Join(s.repo.CommonDir(), "worktrees", name), trees: s.files, common: s.admin, limits: s.limits}
}

// git runs git on the files, with an index. Neither the worktree's .git file nor its admin
// directory is read.
func (l linked) git(ctx context.Context, index string, stdin []byte, args ...string) (command.Result, error) {
	at, err := l.trees.OpenFolder(l.dir) // held, so that a link that takes its place leads git nowhere
	if err != nil {
		return command.Result{}, err
	}
	defer at.Close()
	return l.repo.Do(ctx, git.Call{Args: args, Stdin: stdin, WorkTree: l.dir, At: at, Index: index})
}

// index is the index of whoever works here.
func (l linked) index() string { return filepath.Join(l.admin, "index") }

// hasDir reports whether the worktree is there, as a directory and no symlink.
func (l linked) hasDir() bool {
	if l.dir == "" {
		return false
	}
	info, err := l.trees.Lstat(l.dir)
	return err == nil && info.IsDir()
}

// hasAdmin reports whether the admin directory is there.
func (l linked) hasAdmin() bool {
	if l.admin == "" {
		return false
	}
	info, err := l.common.Lstat(l.admin)
	return err == nil && info.IsDir()
}

// owner is the branch that the worktree belongs to; empty when there is none, or one that is not whole.
func (l linked) owner() string {
	if l.admin == "" {
		return ""
	}
	owner, err := l.common.ReadFile(filepath.Join(l.admin, ownerFile), maxPointer)
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
	defer func() { err = errors.Join(err, l.common.RemoveAll(scratch)) }()
	admin := filepath.Join(scratch, "admin")
	for name, content := range map[string]string{
		"commondir": adminCommon,
		"gitdir":    l.pointsBack(),
		"HEAD":      head + "\n",
		"locked":    lockedPrefix + reason + "\n",
		"logs/HEAD": "",
	} {
		if err := l.common.WriteFile(filepath.Join(admin, name), []byte(content)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(l.admin), 0o777); err != nil { // git's own folder, for all worktrees
		return err
	}
	return l.common.Rename(admin, l.admin)
}

// lockedPrefix is what the reason begins with for which orch's worktrees are locked.
const lockedPrefix = "orch: "

// adminCommon is what commondir in an admin directory says.
const adminCommon = "../..\n"

// pointsBack is what gitdir in the admin directory says.
func (l linked) pointsBack() string { return filepath.Join(l.dir, ".git") + "\n" }

// pointer is what the .git file of the worktree says.
func (l linked) pointer() string { return "gitdir: " + l.admin + "\n" }

// maxPointer bounds the small files that lead from one git directory to another, in bytes.
const maxPointer = 64 << 10

// makeDir makes the directory with its .git file; there must be none.
func (l linked) makeDir() error {
	return l.trees.WriteFile(filepath.Join(l.dir, ".git"), []byte(l.pointer()))
}

// checkOut writes the files of c, changing only what differs, and makes the index match.
func (l linked) checkOut(ctx context.Context, index string, c git.Commit) error {
	if _, err := l.git(ctx, index, nil, "read-tree", "--reset", "-u", "--no-sparse-checkout", string(c)); err != nil {
		return fmt.Errorf("checking out %s: %w", c, err)
	}
	return nil
}

// drop removes a scratch directory; "" is none.
func (l linked) drop(scratch string) error {
	if scratch == "" {
		return nil
	}
	return l.common.RemoveAll(scratch)
}

// markOwned records, durably, that the worktree is whole, and its owner: from then on it may be used.
func (l linked) markOwned(owner string) error {
	f, err := l.common.Create(filepath.Join(l.admin, ownerFile))
	if err != nil {
		return err
	}
	_, err = f.WriteString(owner + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}
