package tamper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/refname"
)

// A person commits, fetches and tags while a run goes: that is not reported. What is reported of
// their references is what takes commits away from them: a move that is not forward, a
// reference that is gone, a stash that is dropped; and a move that nobody would make who
// works there: to the work of an attempt, or without a word in the reflog.

// guardedRef reports whether a reference is compared: attempts' and epics' own branches, and
// what other epics keep, are not.
func (g *Guard) guardedRef(name string) bool {
	return strings.HasPrefix(name, g.Attic) || g.Misplaced(name) || !refname.IsOrchs(name)
}

// references are all guarded ones.
func (g *Guard) references(ctx context.Context) (map[string]git.Commit, error) {
	refs, err := g.Repo.Refs(ctx, "refs/")
	if err != nil {
		return nil, fmt.Errorf("reading the references: %w", err)
	}
	all := map[string]git.Commit{}
	for _, r := range refs {
		if g.guardedRef(r.Name) {
			all[r.Name] = r.Commit
		}
	}
	return all, nil
}

// refsSignature changes when a guarded reference may have changed, by files' metadata alone.
func (g *Guard) refsSignature() (string, error) {
	var b strings.Builder
	b.WriteString(g.signature("packed-refs"))
	err := filepath.WalkDir(g.at("refs"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(g.Repo.CommonDir(), path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if e.IsDir() {
			if !g.guardedRef(name+"/") && !strings.HasPrefix(g.Attic, name+"/") && !strings.HasPrefix(name+"/", refname.Attempts) {
				return fs.SkipDir
			}
			return nil
		}
		if !g.guardedRef(name) {
			return nil
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintf(&b, "\n%s %s", name, signature(info))
		}
		return nil
	})
	return b.String(), err
}

// checkRefs compares the references.
func (g *Guard) checkRefs(ctx context.Context) (found []Change, err error) {
	sig, err := g.refsSignature()
	if err != nil || sig == g.refs {
		return nil, err
	}
	now, err := g.references(ctx)
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(g.was.Refs))
	for name := range now {
		if _, known := g.was.Refs[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	restored := false
	for _, name := range names {
		was, is := g.was.Refs[name], now[name]
		if was == is {
			continue
		}
		c, err := g.checkRef(ctx, name, was, is)
		if err != nil {
			return found, err
		}
		if c.Path != "" {
			found = append(found, c)
		}
		if c.Restored {
			restored = true
			continue
		}
		if g.was.Refs[name] = is; is == "" {
			delete(g.was.Refs, name)
		}
	}
	if g.refs = sig; restored {
		g.refs = "" // read once more
	}
	return found, nil
}

// checkRef looks at one reference that has changed; a Change without a path means that a
// person may well have done it.
func (g *Guard) checkRef(ctx context.Context, name string, was, is git.Commit) (Change, error) {
	c := Change{Path: name, What: describeMove(was, is)}
	switch {
	case g.Misplaced(name):
		return g.checkMisplaced(ctx, c, was, is)
	case strings.HasPrefix(name, g.Attic):
		return g.checkAttic(ctx, c, was, is)
	case strings.HasPrefix(name, "refs/replace/"):
		return g.putRef(ctx, c, was, is)
	case name == "refs/stash":
		return g.checkStash(ctx, c, was, is)
	case was == "":
		return Change{}, nil // a new branch or tag
	case is == "":
		c.Fix = fmt.Sprintf("git update-ref %s %s ''", name, was)
		return c, nil
	}
	ordinary, err := g.isOrdinaryMove(ctx, name, was, is)
	if err != nil || ordinary {
		return Change{}, err
	}
	c.Fix = fmt.Sprintf("git update-ref %s %s %s", name, was, is)
	return c, nil
}

func describeMove(was, is git.Commit) string {
	switch {
	case was == "":
		return fmt.Sprintf("was made, at %.12s", is)
	case is == "":
		return fmt.Sprintf("was removed; it was at %.12s", was)
	}
	return fmt.Sprintf("was moved from %.12s to %.12s", was, is)
}

// checkAttic holds that what keeps the epic's work only grows.
func (g *Guard) checkAttic(ctx context.Context, c Change, was, is git.Commit) (Change, error) {
	if was == "" {
		return Change{}, nil
	}
	if is != "" {
		if grown, err := g.Repo.IsAncestor(ctx, was, is); err != nil || grown {
			return Change{}, err
		}
	}
	return g.putRef(ctx, c, was, is)
}

// checkMisplaced gives another name to a reference that was made where those of attempts are to be.
func (g *Guard) checkMisplaced(ctx context.Context, c Change, was, is git.Commit) (Change, error) {
	if was != "" || is == "" {
		return Change{}, nil
	}
	name := strings.ReplaceAll(strings.TrimPrefix(c.Path, "refs/"), "/", "-")
	aside := fmt.Sprintf("%saside/%s-%.12s", strings.TrimSuffix(g.Attic, "attic/"), name, is)
	c.What, c.Fix = c.What+", where orch keeps what attempts make", "git log -1 "+shellQuoted(aside)
	if c.Restored = true; g.dry {
		return c, nil
	}
	changes := []git.RefChange{{Name: c.Path, Old: is}}
	if _, err := g.Repo.Resolve(ctx, aside); errors.Is(err, git.ErrNoSuchRef) {
		changes = append(changes, git.RefChange{Name: aside, New: is})
	}
	err := g.Repo.UpdateRefs(ctx, changes)
	if errors.Is(err, git.ErrRefMoved) {
		return Change{}, nil // it moves again; the next time
	}
	c.Restored = err == nil
	return c, err
}

// putRef puts a reference back.
func (g *Guard) putRef(ctx context.Context, c Change, was, is git.Commit) (Change, error) {
	if is != "" {
		c.Fix = "git log -1 " + string(is)
	}
	if c.Restored = true; g.dry {
		return c, nil
	}
	err := g.Repo.UpdateRefs(ctx, []git.RefChange{{Name: c.Path, New: was, Old: is}})
	if errors.Is(err, git.ErrRefMoved) {
		return Change{}, nil // it moves again; the next time
	}
	c.Restored = err == nil
	return c, err
}

// checkStash reports entries that are gone, and one that an agent has made.
func (g *Guard) checkStash(ctx context.Context, c Change, was, is git.Commit) (Change, error) {
	if is == "" {
		c.Fix = "git stash store -m kept " + string(was)
		return c, nil
	}
	log, err := g.Files.ReadFile(g.at("logs/refs/stash"), maxFile)
	if err != nil {
		return Change{}, dropMissing(err)
	}
	if was != "" && !strings.Contains(string(log), " "+string(was)+" ") {
		c.Fix = "git stash store -m kept " + string(was)
		return c, nil
	}
	last := lastWord(log)
	ofAttempt := strings.Contains(last, " on orch/") || strings.Contains(last, "On orch/")
	if strings.Contains(last, "n (no branch): ") {
		if ofAttempt, err = g.fromNoHead(ctx, is); err != nil {
			return Change{}, err
		}
	}
	if ofAttempt {
		c.What = fmt.Sprintf("got an entry, %.12s, from an attempt's worktree", is)
		c.Fix = "git stash list"
		return c, nil
	}
	return Change{}, nil
}

// fromNoHead reports whether a stash was made where no work tree of a person's is: none has its base checked out by its
// id.
func (g *Guard) fromNoHead(ctx context.Context, stash git.Commit) (bool, error) {
	base, err := g.Repo.Resolve(ctx, string(stash)+"^")
	if err != nil {
		return false, dropUnknown(err)
	}
	heads, err := filepath.Glob(g.at("worktrees/*/HEAD")) // of a folder with a name that is a pattern: none
	if err != nil {
		heads = nil
	}
	for _, path := range append(heads, g.at("HEAD")) {
		admin := filepath.Dir(path)
		why, err := g.Files.ReadFile(filepath.Join(admin, "locked"), maxFile)
		if err == nil && strings.HasPrefix(string(why), "orch: ") && admin != g.Repo.CommonDir() {
			continue
		}
		if at, err := g.Files.ReadFile(path, maxFile); err == nil && strings.TrimSpace(string(at)) == string(base) {
			return false, nil
		}
	}
	return true, nil
}

// dropUnknown drops that there is no such object.
func dropUnknown(err error) error {
	if errors.Is(err, git.ErrNoSuchRef) {
		return nil
	}
	return err
}

// isOrdinaryMove reports whether a person could have moved a branch or tag so.
func (g *Guard) isOrdinaryMove(ctx context.Context, name string, was, is git.Commit) (bool, error) {
	if strings.HasPrefix(name, "refs/remotes/") {
		return true, nil // a fetch says what the other side has
	}
	forward, err := g.Repo.IsAncestor(ctx, was, is)
	if err != nil || !forward {
		return false, passedExit(ctx, err)
	}
	log, err := g.Files.ReadFile(g.at("logs/"+name), maxHashed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, dropMissing(err)
	}
	if len(log) > 0 && lastWord(log) == "" {
		return false, nil
	}
	return g.notAnAttempts(ctx, is)
}

// notAnAttempts reports whether no attempt's branch leads to a commit, or an epic's does too.
func (g *Guard) notAnAttempts(ctx context.Context, is git.Commit) (bool, error) {
	out, err := g.Repo.Out(ctx, "for-each-ref", "--contains="+string(is), "--format=%(refname)", refname.Attempts, refname.Epics)
	if err != nil {
		return true, passedExit(ctx, err)
	}
	return out == "" || strings.Contains(out, refname.Epics), nil
}

// lastWord is what the last line of a reflog says of itself.
func lastWord(log []byte) string {
	text := strings.TrimSuffix(string(log), "\n")
	_, word, _ := strings.Cut(text[strings.LastIndex(text, "\n")+1:], "\t")
	return word
}

// passedExit drops what git itself says, as of an object that is none.
func passedExit(ctx context.Context, err error) error {
	if ctx.Err() == nil && exitCode(err) > 0 {
		return nil
	}
	return err
}

// exitCode is git's exit status, -1 when err is none of git's, or a fault of the machine.
func exitCode(err error) int {
	var exit *command.ExitError
	if errors.As(err, &exit) && fault.Of(err) == nil {
		return exit.ExitCode
	}
	return -1
}
