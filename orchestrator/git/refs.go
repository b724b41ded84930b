package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/beadsorch/orch/orchestrator/proc"
)

// Ref is a reference and what it points at.
type Ref struct {
	// Name is the full name, "refs/...".
	Name string
	// Commit is the object it points at; empty where a reference must not exist.
	Commit Commit
}

// AnyOld in a RefChange means that the old value does not matter.
const AnyOld Commit = "*"

// RefChange is one change in a transaction.
type RefChange struct {
	// Name is the full name, "refs/...".
	Name string
	// New is what it is to point at; empty deletes it.
	New Commit
	// Old is what it has to point at now; empty: it must not exist; [AnyOld]: whatever.
	Old Commit
}

// Resolve is the commit that rev stands for. A full name outside refs/tags gives what the
// reference points at, whatever that is. It fails with [ErrNoSuchRef], also before the first
// commit, or as Do does.
func (r *Repo) Resolve(ctx context.Context, rev string) (Commit, error) {
	spec := rev + "^{commit}"
	if strings.HasPrefix(rev, "refs/") && !strings.HasPrefix(rev, "refs/tags/") {
		if id, ok := r.lookup(rev); ok {
			return id, nil
		}
		spec = rev
	}
	out, err := r.Out(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", spec)
	var exit *proc.ExitError
	if errors.As(err, &exit) && exit.ExitCode == 1 {
		return "", fmt.Errorf("%w: %s", ErrNoSuchRef, rev)
	}
	return Commit(out), err
}

// lookup reads a reference in process. Whatever go-git does not know is git's to say.
func (r *Repo) lookup(name string) (Commit, bool) {
	if r.sha256 {
		return "", false
	}
	dir := dotgit.New(osfs.New(r.commonDir))
	ref, err := dir.Ref(plumbing.ReferenceName(name))
	if err = errors.Join(err, dir.Close()); err != nil || ref.Type() != plumbing.HashReference || ref.Hash().IsZero() {
		return "", false
	}
	return Commit(ref.Hash().String()), true
}

// Refs lists the references whose names begin with prefix, which ends at a slash or is a
// whole name, in order of their names. It fails as Do does.
func (r *Repo) Refs(ctx context.Context, prefix string) ([]Ref, error) {
	out, err := r.Out(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "--", prefix)
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		refs = append(refs, Ref{Name: name, Commit: Commit(id)})
	}
	return refs, nil
}

// UpdateRefs makes all changes or none, in one transaction, and only if each old value
// and each of verify holds. It fails with [ErrRefMoved] when one does not, else as Do does.
func (r *Repo) UpdateRefs(ctx context.Context, changes []RefChange, verify ...Ref) error {
	var script bytes.Buffer
	script.WriteString("start\x00")
	for _, v := range verify {
		fmt.Fprintf(&script, "verify %s\x00%s\x00", v.Name, v.Commit)
	}
	for _, c := range changes {
		script.WriteString(c.command())
	}
	script.WriteString("prepare\x00commit\x00")
	_, err := r.Do(ctx, Call{Args: []string{"update-ref", "-m", "orch", "--no-deref", "--stdin", "-z"}, Stdin: script.Bytes()})
	var exit *proc.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	for _, c := range changes {
		verify = append(verify, Ref{Name: c.Name, Commit: c.Old})
	}
	for _, v := range verify {
		if moved := r.moved(ctx, v); moved != nil {
			return moved
		}
	}
	return err
}

// moved says how a reference differs from what a change rests on. It asks the reference,
// since the words of git for this are many.
func (r *Repo) moved(ctx context.Context, v Ref) error {
	now, err := r.Resolve(ctx, v.Name)
	switch {
	case v.Commit == AnyOld || err != nil && !errors.Is(err, ErrNoSuchRef) || now == v.Commit:
		return nil
	case now == "":
		return fmt.Errorf("%w: %s is gone", ErrRefMoved, v.Name)
	}
	return fmt.Errorf("%w: %s is at %s", ErrRefMoved, v.Name, now)
}

// command is the change in the language of update-ref --stdin -z.
func (c RefChange) command() string {
	switch {
	case c.New == "" && c.Old == AnyOld:
		return fmt.Sprintf("delete %s\x00\x00", c.Name)
	case c.New == "":
		return fmt.Sprintf("delete %s\x00%s\x00", c.Name, c.Old)
	case c.Old == "":
		return fmt.Sprintf("create %s\x00%s\x00", c.Name, c.New)
	case c.Old == AnyOld:
		return fmt.Sprintf("update %s\x00%s\x00\x00", c.Name, c.New)
	}
	return fmt.Sprintf("update %s\x00%s\x00%s\x00", c.Name, c.New, c.Old)
}

// Checkout is a work tree that has a branch checked out.
type Checkout struct {
	// Path is the work tree; empty when its admin directory does not say.
	Path string
	// GitDir is the git directory of the work tree.
	GitDir string
}

// CheckedOut finds the work tree that has branch checked out; ok is false when there is
// none. It reads the files, since listing worktrees fails when one is half-made. It fails
// when a directory cannot be read.
func (r *Repo) CheckedOut(branch string) (c Checkout, ok bool, err error) {
	if r.workTree != "" && headIs(r.commonDir, branch) {
		return Checkout{Path: r.workTree, GitDir: r.commonDir}, true, nil
	}
	admins := filepath.Join(r.commonDir, "worktrees")
	entries, err := os.ReadDir(admins)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Checkout{}, false, fmt.Errorf("looking for worktrees: %w", err)
	}
	for _, e := range entries {
		admin := filepath.Join(admins, e.Name())
		if !headIs(admin, branch) {
			continue
		}
		link, err := os.ReadFile(filepath.Join(admin, "gitdir"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return Checkout{}, false, fmt.Errorf("looking for worktrees: %w", err)
		}
		path := strings.TrimSuffix(string(link), "\n")
		if path != "" && !filepath.IsAbs(path) { // worktree.useRelativePaths of git 2.48
			path = filepath.Join(admin, path)
		}
		return Checkout{Path: strings.TrimSuffix(path, "/.git"), GitDir: admin}, true, nil
	}
	return Checkout{}, false, nil
}

// headIs reports whether the HEAD in gitDir is branch.
func headIs(gitDir, branch string) bool {
	head, err := os.ReadFile(filepath.Join(gitDir, "HEAD"))
	return err == nil && strings.TrimSpace(string(head)) == "ref: "+branch
}

// Short is a reference's name without refs/heads/.
func Short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }
