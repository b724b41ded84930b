package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/refname"
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
	var exit *command.ExitError
	if errors.As(err, &exit) && exit.ExitCode == 1 && !isDamaged(err) {
		return "", fmt.Errorf("%w: %s", ErrNoSuchRef, rev)
	}
	return Commit(out), err
}

// isDamaged reports whether git failed for a file that it cannot read: what it did not find may exist.
func isDamaged(err error) bool {
	_, ok := fault.Damaged(err)
	return ok
}

// lookup reads a reference in process, from a plain file of its own or the packed ones. Whatever
// is not as expected is git's to say.
func (r *Repo) lookup(name string) (Commit, bool) {
	if !isRefName(name) || checkNoLinks(r.commonDir, name) != nil {
		return "", false
	}
	content, err := readRegular(filepath.Join(r.commonDir, filepath.FromSlash(name)), maxSmall)
	if err == nil {
		id, ended := strings.CutSuffix(string(content), "\n")
		return Commit(id), ended && objectID().MatchString(id) && strings.Trim(id, "0") != ""
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	return r.packed(name)
}

// packed looks a reference up among the packed ones.
func (r *Repo) packed(name string) (Commit, bool) {
	f, err := openRegular(filepath.Join(r.commonDir, "packed-refs"), syscall.O_NOFOLLOW)
	if err != nil {
		return "", false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if id, ok := strings.CutSuffix(lines.Text(), " "+name); ok && objectID().MatchString(id) {
			return Commit(id), true
		}
	}
	return "", false
}

// checkNoLinks fails when a link or something else that is no folder stands on the way to a
// reference, or is the reference: git would read and write wherever it leads.
func checkNoLinks(commonDir, name string) error {
	path := commonDir
	parts := strings.Split(name, "/")
	for i, part := range parts {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		if err != nil {
			return nil // not there: git makes it, or fails
		}
		if last := i == len(parts)-1; !info.IsDir() && (!last || !info.Mode().IsRegular()) {
			if info.Mode().IsRegular() {
				return &InTheWayError{Name: name, Other: strings.Join(parts[:i+1], "/")}
			}
			return &InTheWayError{Name: name, Path: path}
		}
	}
	return nil
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
// and each of verify holds. It fails with [ErrRefMoved] when one does not, with an
// [*InTheWayError] when another reference has the name as a folder, else as Do does.
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
	for _, c := range changes {
		if err := checkNoLinks(r.commonDir, c.Name); err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(r.commonDir, "logs"), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the folder of the reflogs: %w", err)
	}
	update := Call{Args: []string{"update-ref", "-m", "orch", "--no-deref", "--stdin", "-z"}, Stdin: script.Bytes()}
	names := append(namesOf(changes), namesOf(verify)...)
	r.unlock(names)
	_, err := r.Do(ctx, update)
	if err != nil && r.unlock(names) {
		_, err = r.Do(ctx, update)
	}
	var exit *command.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	for _, c := range changes {
		verify = append(verify, Ref{Name: c.Name, Commit: c.Old})
		if c.New != "" {
			if blocked := r.Free(c.Name); blocked != nil {
				return blocked
			}
		}
	}
	for _, v := range verify {
		if moved := r.moved(ctx, v); moved != nil {
			return moved
		}
	}
	return err
}

// named is a reference, or a change of one.
type named interface{ name() string }

func (c RefChange) name() string { return c.Name }

func (r Ref) name() string { return r.Name }

func namesOf[T named](all []T) (names []string) {
	for _, one := range all {
		names = append(names, one.name())
	}
	return names
}

const (
	// staleLock is how old a lock on one of orch's references is that no git of orch's can still have.
	staleLock = 15 * time.Second
	// deadLock is how old a lock is that no git at all still has.
	deadLock = time.Minute
)

// unlock removes locks that a git which was killed, or whose folders were taken away under it, has
// left on orch's own references and on the branches of epics, and reports whether there was one.
func (r *Repo) unlock(names []string) (removed bool) {
	for _, name := range names {
		path := filepath.Join(r.commonDir, filepath.FromSlash(name)+".lock")
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && r.left(name, time.Since(info.ModTime())) {
			removed = os.Remove(path) == nil || removed
		}
	}
	return removed
}

// left reports whether a lock of this age on a reference has been left behind: whoever made one on
// the branch of an epic may be a person's git, which is looked for.
func (r *Repo) left(name string, age time.Duration) bool {
	switch {
	case strings.HasPrefix(name, refname.Own):
		return age > staleLock
	case !strings.HasPrefix(name, refname.Epics) || age <= staleLock:
		return false
	case age > deadLock:
		return true
	}
	running, known, err := Running(r.commonDir, r.workTree)
	return err == nil && known && len(running) == 0
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
	// Busy says in a clause what goes on there that HEAD is detached for, "" for nothing. Until it
	// ends, git moves the branch, as when it is aborted.
	Busy string
}

// CheckedOut finds the work tree that has branch checked out, or that goes on with a rebase or a bisect
// of it; ok is false when there is none. It reads the files, since listing worktrees fails when one is half-made. It fails
// when a directory cannot be read.
func (r *Repo) CheckedOut(branch string) (c Checkout, ok bool, err error) {
	return CheckedOutIn(r.commonDir, r.workTree, branch)
}

// CheckedOutIn is [Repo.CheckedOut] of a repository that is not open: commonDir is its git directory, workTree its
// main work tree, "" for none. It runs no git.
func CheckedOutIn(commonDir, workTree, branch string) (c Checkout, ok bool, err error) {
	if workTree != "" {
		if busy, ok := has(commonDir, branch); ok {
			return Checkout{Path: workTree, GitDir: commonDir, Busy: busy}, true, nil
		}
	}
	admins := filepath.Join(commonDir, "worktrees")
	entries, err := os.ReadDir(admins)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Checkout{}, false, fmt.Errorf("looking for worktrees: %w", err)
	}
	for _, e := range entries {
		admin := filepath.Join(admins, e.Name())
		busy, ok := has(admin, branch)
		if !ok || busy != "" && oursOf(admin) {
			continue
		}
		path, err := checkoutOf(admin)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Checkout{}, false, fmt.Errorf("looking for worktrees: %w", err)
		}
		return Checkout{Path: path, GitDir: admin, Busy: busy}, true, nil
	}
	return Checkout{}, false, nil
}

// checkoutOf is the work tree that an admin directory says it belongs to.
func checkoutOf(admin string) (string, error) {
	link, err := readRegular(filepath.Join(admin, "gitdir"), maxSmall)
	path := strings.TrimSuffix(string(link), "\n")
	if path != "" && !filepath.IsAbs(path) { // worktree.useRelativePaths of git 2.48
		path = filepath.Join(admin, path)
	}
	return strings.TrimSuffix(path, "/.git"), err
}

// CheckoutAt finds the work tree that holds dir, by what the repository knows and not by any
// .git file on the way. It fails when dir is in none, or when a directory cannot be read.
func (r *Repo) CheckoutAt(dir string) (Checkout, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Checkout{}, err
	}
	var found Checkout
	consider := func(c Checkout) {
		path, err := filepath.EvalSymlinks(c.Path)
		if err == nil && len(path) > len(found.Path) && (dir == path || strings.HasPrefix(dir, strings.TrimSuffix(path, "/")+"/")) {
			found = Checkout{Path: path, GitDir: c.GitDir}
		}
	}
	if r.workTree != "" {
		consider(Checkout{Path: r.workTree, GitDir: r.commonDir})
	}
	admins, err := os.ReadDir(filepath.Join(r.commonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Checkout{}, fmt.Errorf("looking for worktrees: %w", err)
	}
	for _, e := range admins {
		admin := filepath.Join(r.commonDir, "worktrees", e.Name())
		if path, err := checkoutOf(admin); err == nil && path != "" {
			consider(Checkout{Path: path, GitDir: admin})
		}
	}
	if found.Path == "" {
		return Checkout{}, fmt.Errorf("%s is %w", dir, errNoWorkTree)
	}
	return found, nil
}

// Head is the commit that a work tree has checked out, by the HEAD in its git directory. It
// fails with [ErrNoSuchRef] before the first commit and where there is no such commit, or as Do does.
func (r *Repo) Head(ctx context.Context, gitDir string) (Commit, error) {
	head, ok := readHead(gitDir)
	if !ok {
		return "", fmt.Errorf("%w: HEAD of %s", ErrNoSuchRef, gitDir)
	}
	if ref, symbolic := strings.CutPrefix(head, "ref: "); symbolic {
		head = ref
	}
	return r.Resolve(ctx, head)
}

// has reports whether a work tree has branch checked out, as git sees that: by its HEAD, or by what
// goes on there.
func has(gitDir, branch string) (busy string, ok bool) {
	if headIs(gitDir, branch) {
		return "", true
	}
	for _, name := range []string{"rebase-merge", "rebase-apply"} {
		of := filepath.Join(gitDir, name)
		if firstLine(filepath.Join(of, "head-name")) == branch {
			return "is in the middle of a rebase", true
		}
		updates, err := readRegular(filepath.Join(of, "update-refs"), maxUpdates)
		if err == nil && slices.Contains(strings.Split(string(updates), "\n"), branch) {
			return "is in the middle of a rebase", true
		}
	}
	if start := firstLine(filepath.Join(gitDir, "BISECT_START")); start != "" && (start == branch || "refs/heads/"+start == branch) {
		return "is in the middle of a bisect", true
	}
	return "", false
}

// oursOf reports whether orch has made a worktree, for an agent: what that goes on with there ends with
// it, and never holds the branch.
func oursOf(admin string) bool {
	info, err := os.Lstat(filepath.Join(admin, "orch"))
	return err == nil && info.Mode().IsRegular()
}

// maxUpdates bounds the list of references that a rebase moves.
const maxUpdates = 1 << 20

// firstLine is the first line of a small file; "" where there is none.
func firstLine(path string) string {
	content, err := readRegular(path, maxSmall)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimSpace(line)
}

// headIs reports whether the HEAD in gitDir is branch.
func headIs(gitDir, branch string) bool {
	head, ok := readHead(gitDir)
	return ok && head == "ref: "+branch
}

// Short is a reference's name without refs/heads/.
func Short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }
