package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Options is what a Store is made of; all of it has to be set but Limits.
type Options struct {
	// Repo is the repository.
	Repo *git.Repo
	// Root is the folder that holds the epic's worktrees: absolute, outside the repository, and no one else's.
	Root string
	// Epic is the epic's id.
	Epic string
	// Lock is a file that orders the making and removing of worktrees of this repository, between processes.
	Lock string
	// Now is the clock.
	Now func() time.Time
	// Limits bounds what an attempt may leave; it may be zero.
	Limits Limits
}

// Store is the worktrees and branches of one epic. It is safe for concurrent use on
// different tasks.
type Store struct {
	repo          *git.Repo
	root          string
	epic          string // its slug
	lock          string
	now           func() time.Time
	changeLock    chan struct{} // held while worktrees are made or removed
	checkoutSlots chan struct{} // held while files are written
	trash         *trash
	limits        Limits
	files         *private.Dir // above root
	admin         *private.Dir // the common directory
}

// RootError says why a folder cannot hold worktrees.
type RootError struct {
	// Root is the folder that was asked for.
	Root string
	// Reason is what is wrong with it, in a clause.
	Reason string
}

// Error is the folder and the reason.
func (e *RootError) Error() string { return e.Root + " " + e.Reason }

// Folder is the folder that was asked for.
func (e *RootError) Folder() string { return e.Root }

// Open checks the options and makes nothing. Symlinks above Root are resolved. It fails
// with a [*RootError] when Root is relative, a symlink itself, or inside the repository.
func Open(o Options) (*Store, error) {
	root, err := resolveRoot(o.Root)
	if err != nil {
		return nil, err
	}
	for _, of := range []string{o.Repo.CommonDir(), o.Repo.WorkTree()} {
		if isInside(root, of) {
			return nil, &RootError{Root: o.Root, Reason: "is inside the repository"}
		}
	}
	files, err := private.Open(filepath.Dir(filepath.Dir(root)))
	if err != nil {
		return nil, &RootError{Root: o.Root, Reason: "is not reachable: " + err.Error()}
	}
	admin, err := private.OpenThere(o.Repo.CommonDir())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the git directory: %w", err), files.Close())
	}
	return &Store{
		files: files, admin: admin, limits: o.Limits,
		repo: o.Repo, root: root, epic: slug.Of(o.Epic), lock: o.Lock, now: o.Now,
		changeLock: make(chan struct{}, 1), checkoutSlots: make(chan struct{}, runtime.NumCPU()), trash: &trash{files: files},
	}, nil
}

// resolveRoot resolves what exists of root's parents. What stands there and leads to no folder may be
// anybody's: it is refused, since making folders would take it away.
func resolveRoot(root string) (string, error) {
	if !filepath.IsAbs(root) {
		return "", &RootError{Root: root, Reason: "is not absolute"}
	}
	root = filepath.Clean(root)
	if info, err := os.Lstat(root); err == nil && !info.IsDir() {
		return "", &RootError{Root: root, Reason: "is not a directory"}
	}
	for exists, rest := filepath.Dir(root), filepath.Base(root); ; {
		real, err := filepath.EvalSymlinks(exists)
		if err == nil {
			if info, err := os.Stat(real); err == nil && !info.IsDir() {
				return "", &RootError{Root: exists, Reason: "is not a directory"}
			}
			return filepath.Join(real, rest), nil
		}
		if info, linkErr := os.Lstat(exists); linkErr == nil && info.Mode()&os.ModeSymlink != 0 {
			return "", &RootError{Root: exists, Reason: "is a symbolic link that leads to no directory"}
		}
		if !errors.Is(err, os.ErrNotExist) || exists == filepath.Dir(exists) {
			return "", &RootError{Root: root, Reason: "is not reachable: " + err.Error()}
		}
		exists, rest = filepath.Dir(exists), filepath.Join(filepath.Base(exists), rest)
	}
}

// isInside reports whether path is dir or below it.
func isInside(path, dir string) bool {
	if dir == "" {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// EpicBranch is the full name of the branch that the epic's tasks land on.
func (s *Store) EpicBranch() string { return refname.Epic(s.epic).Branch() }

// Name is what the things of attempt n at task are called.
func (s *Store) Name(task string, n int) engine.Names { return namesOf(s.root, s.epic, task, n) }

// NamesOf gives the names of attempt n at a task of an epic, for one who opens no store: root is
// the folder that holds the worktrees of all epics.
func NamesOf(root, epic, task string, n int) engine.Names {
	epic = slug.Of(epic)
	return namesOf(filepath.Join(root, epic), epic, task, n)
}

func namesOf(root, epic, task string, n int) engine.Names {
	task = slug.Of(task)
	number := "/" + strconv.Itoa(n)
	return engine.Names{
		Dir:    filepath.Join(root, dirPrefix+task),
		Branch: refname.Epic(epic).Attempts() + task + number,
		Attic:  refname.Epic(epic).Attic() + task + number,
	}
}

const dirPrefix = "agent-"

// attempts is what the names of attempt branches begin with.
func (s *Store) attempts() string { return refname.Epic(s.epic).Attempts() }

// attic is what the names of attic references begin with.
func (s *Store) attic() string { return refname.Epic(s.epic).Attic() }

// ours are the namespaces that only orch writes for this epic.
func (s *Store) ours() []string {
	return []string{s.attempts(), s.attic(), refname.Epic(s.epic).Lease(), s.EpicBranch()}
}

// Exists reports whether attempt n has a worktree that is whole.
func (s *Store) Exists(task string, n int) bool {
	names := s.Name(task, n)
	l := s.linked(names.Dir)
	return l.owner() == names.Branch && l.hasDir()
}

// locked calls f while no other orch makes or removes worktrees of this repository.
func (s *Store) locked(ctx context.Context, f func() error) (err error) {
	select {
	case s.changeLock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.changeLock }()
	files, err := private.OpenAbove(s.lock, 2) // orch/worktree.lock, below the git directory
	if err == nil {
		err = errors.Join(files.Plain(s.lock), files.Close())
	}
	if err != nil {
		return fmt.Errorf("locking the worktrees: %w", err)
	}
	lock := flock.New(s.lock, flock.SetPermissions(0o600), flock.SetFlag(private.LockFlags))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("locking the worktrees: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return f()
}
