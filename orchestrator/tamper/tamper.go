// Package tamper remembers the files and references of a repository that have one right value
// while a run goes, finds those that have changed since, and puts them back. Agents and gates
// have the rights of the person who started them, and a repository's settings, hooks and
// references are shared by all of its worktrees.
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
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// Change is one thing that was found changed.
type Change struct {
	// Path is a file below the git directory, or the name of a reference.
	Path string
	// What says in a clause how it has changed.
	What string
	// Restored says that it is again as it was.
	Restored bool
	// Kept is where what was there instead is kept; "" nowhere.
	Kept string
	// Fix is what a person can do about it; where it was put back, what shows what was there.
	Fix string
}

// String is the change in one line.
func (c Change) String() string {
	s := c.Path + " " + c.What
	switch {
	case c.Restored && c.Kept != "":
		s += "; put back, and this shows what was there: cat " + shellQuoted(c.Kept)
	case c.Restored && c.Fix != "":
		s += "; put back, and this shows what was there: " + c.Fix
	case c.Restored:
		s += "; put back"
	case c.Fix != "":
		s += "; left as it is: " + c.Fix
	default:
		s += "; left as it is"
	}
	return s
}

// shellQuoted is a path as a shell reads it.
func shellQuoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// Say is called with what will be put back, before anything is: when it fails nothing is. Nil
// reports nothing.
type Say func([]Change) error

// Options is what a Guard is made of; all of it has to be set.
type Options struct {
	// Repo is the repository.
	Repo *git.Repo
	// Files holds the repository's git directory, or a folder above it.
	Files *private.Dir
	// Dir is the epic's folder in it, where the record and what was planted are kept.
	Dir string
	// Attic is what the names of the references begin with that keep the epic's work, and only ever grow.
	Attic string
	// Misplaced reports whether a name is among those that only orch gives references of the epic's attempts, and is
	// none that it gives.
	Misplaced func(ref string) bool
	// Now is the clock.
	Now func() time.Time
}

// Guard remembers how a repository was. It is safe for concurrent use.
type Guard struct {
	Options
	mu   sync.Mutex
	was  record
	sigs map[string]string // how files looked from outside when they were last read
	refs string            // the same for all references
	kept int               // things put aside
	dry  bool              // nothing is put back: it is only looked what would be
	to   map[string]string // where things go that are moved aside, as was reported
}

// New remembers nothing yet.
func New(o Options) *Guard { return &Guard{Options: o, sigs: map[string]string{}} }

// Begin remembers how the repository is now, for [Guard.Check], and durably, with a digest that
// the caller keeps where agents cannot forge it. before is the digest of a run that was
// killed, "" for none: what has changed since that run began is put back first, if the record of
// it still has that digest, and say is called. It fails as say does, and when the repository
// cannot be read or written.
func (g *Guard) Begin(ctx context.Context, before string, say Say) (found []Change, digest string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if before == "" {
		if found, err = g.clear(nil); err != nil {
			return found, "", err
		}
	}
	if before != "" {
		old, ok := g.load(before)
		if ok {
			g.was = old
			for path := range old.Files {
				g.sigs[path] = "not looked at" // what is gone now looks like nothing too
			}
			if found, err = g.check(ctx, say); err != nil {
				return found, "", err
			}
		} else {
			if found, err = g.clear(say); err != nil {
				return found, "", err
			}
			found = append(found, Change{Path: g.recordPath(), What: "is not what the run that was killed had written, so what changed since is not known", Fix: "look at the hooks and at git config --list"})
		}
	}
	g.sigs, g.refs = map[string]string{}, ""
	if g.was, err = g.take(ctx); err != nil {
		return found, "", err
	}
	digest, err = g.save()
	return found, digest, err
}

// Restore puts back what has changed since a run began that was killed, as Begin does, and
// remembers nothing. The record has to have the digest; without it only what [Guard.Clear] finds is taken away. It
// fails when the repository cannot be read or written.
func (g *Guard) Restore(ctx context.Context, digest string, say Say) (found []Change, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old, ok := g.load(digest)
	if digest == "" || !ok {
		return g.clear(say)
	}
	g.was = old
	for path := range old.Files {
		g.sigs[path] = "not looked at"
	}
	return g.check(ctx, say)
}

// Foresee says what [Guard.Restore] would find, and changes nothing. It fails as that does.
func (g *Guard) Foresee(ctx context.Context, digest string) ([]Change, error) {
	only := errors.New("only to look")
	var seen []Change
	_, err := g.Restore(ctx, digest, func(found []Change) error {
		seen = found
		return only
	})
	if errors.Is(err, only) {
		err = nil
	}
	return seen, err
}

// Check compares the repository with what is remembered, puts back what has one right value,
// and returns all that had changed, each once; say is called before. It fails as say does, and
// when something cannot be read or put back; what was found by then is returned.
func (g *Guard) Check(ctx context.Context, say Say) ([]Change, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.was.Files == nil {
		return nil, nil
	}
	return g.check(ctx, say)
}

// check finds what has changed, reports it, and puts it back.
func (g *Guard) check(ctx context.Context, say Say) ([]Change, error) {
	cleared, err := g.checkFolders(say)
	if err != nil {
		return cleared, err
	}
	special, err := g.clear(say)
	if cleared = append(cleared, special...); err != nil {
		return cleared, err
	}
	if say != nil {
		found, err := g.foresee(ctx)
		if err == nil && len(found) == 0 {
			return cleared, nil
		}
		if len(found) > 0 {
			if err := say(found); err != nil {
				return cleared, err
			}
		} // what cannot be read is found again, and reported then
	}
	found, err := g.compare(ctx)
	return append(cleared, found...), err
}

// foresee compares, and leaves all as it is. Where nothing was found that holds as a comparison.
func (g *Guard) foresee(ctx context.Context) (found []Change, err error) {
	was, sigs, refs, kept := record{maps.Clone(g.was.Files), maps.Clone(g.was.Refs), g.was.Folders, maps.Clone(g.was.Ongoing)}, maps.Clone(g.sigs), g.refs, g.kept
	g.dry, g.to = true, map[string]string{}
	defer func() {
		if g.dry = false; err != nil || len(found) > 0 {
			g.was, g.sigs, g.refs, g.kept = was, sigs, refs, kept
		}
	}()
	return g.compare(ctx)
}

func (g *Guard) compare(ctx context.Context) ([]Change, error) {
	found, err := g.checkFiles(ctx)
	ongoing, ongoingErr := g.checkOngoing()
	refs, refErr := g.checkRefs(ctx)
	return slices.Concat(found, ongoing, refs), errors.Join(err, ongoingErr, refErr)
}

// take reads everything anew.
func (g *Guard) take(ctx context.Context) (record, error) {
	r := record{Files: map[string]entry{}, Refs: map[string]git.Commit{}, Folders: g.takeFolders()}
	paths, err := g.guarded()
	if err != nil {
		return r, err
	}
	for _, path := range paths {
		e, err := g.read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return r, fmt.Errorf("remembering %s: %w", path, err)
		}
		r.Files[path] = e
	}
	g.sigs[fetchHead] = g.signature(fetchHead)
	if r.Ongoing, err = g.takeOngoing(); err != nil {
		return r, err
	}
	r.Refs, err = g.references(ctx)
	return r, err
}

// fetchHead is written by each git fetch.
const fetchHead = "FETCH_HEAD"

// checkFiles compares the files.
func (g *Guard) checkFiles(ctx context.Context) (found []Change, err error) {
	now, err := g.guarded()
	if err != nil {
		return nil, err
	}
	all := append(now, slices.Collect(maps.Keys(g.was.Files))...)
	slices.Sort(all)
	for _, path := range slices.Compact(all) {
		sig := g.signature(path)
		if sig == g.sigs[path] {
			continue
		}
		looked := g.sigs[path]
		changes, fileErr := g.checkFile(ctx, path)
		found = append(found, changes...)
		g.sigs[path] = g.signature(path)
		if fileErr != nil {
			err = errors.Join(err, fmt.Errorf("putting %s back: %w", path, fileErr))
		}
		if Transient(fileErr) {
			g.sigs[path] = looked // the next look has to see it
		}
	}
	return found, err
}

// Transient reports whether err is a fault of the machine, after which the next look compares again. That something in
// the git directory cannot be moved is no such fault: whoever put it there may have caused that.
func Transient(err error) bool {
	var refused *private.RefusedError
	return fault.Of(err) != nil && !errors.As(err, &refused)
}

// checkFile compares one file whose looks have changed; most often that is one change, or none.
func (g *Guard) checkFile(ctx context.Context, path string) ([]Change, error) {
	was, known := g.was.Files[path]
	is, err := g.read(path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return nil, err
	}
	if known && !gone && was.equal(is) || !known && gone {
		return nil, nil
	}
	if !known && g.comesLater(path) {
		return nil, nil
	}
	seen := look{was: was, is: is, planted: !known, gone: gone}
	c := Change{Path: path, What: describeChange(seen)}
	if gone && strings.HasPrefix(path, "worktrees/") {
		return nil, nil // a person has removed a worktree
	}
	switch base := filepath.Base(path); {
	case base == "config" || base == "config.worktree":
		return g.checkConfig(ctx, c, was, is)
	case path == "HEAD" && is.isHead():
		return g.checkHead(ctx, c, was, is), nil
	case path == "shallow" && g.fetched():
		g.was.Files[path] = is // a person who fetches
		return nil, nil
	}
	if known && was.TooLarge {
		c.Fix = "it is too large to be kept by orch; look at it"
		g.was.Files[path] = is
		return []Change{c}, nil
	}
	return changeList(g.restore(c, seen))
}

// checkHead compares a HEAD that is one still: a person who switches, unless there is no such branch.
func (g *Guard) checkHead(ctx context.Context, c Change, was, is entry) []Change {
	branch, ok := strings.CutPrefix(strings.TrimSpace(string(is.Data)), "ref: ")
	if !ok || !g.unborn(ctx, branch) {
		return nil
	}
	c.What, c.Fix = "names the branch "+branch+", which does not exist", "git symbolic-ref HEAD "+strings.TrimSpace(strings.TrimPrefix(string(was.Data), "ref: "))
	g.was.Files[c.Path] = is
	return []Change{c}
}

// fetched reports whether something was fetched since it was last asked.
func (g *Guard) fetched() bool {
	sig := g.signature(fetchHead)
	if sig == g.sigs[fetchHead] {
		return false
	}
	g.sigs[fetchHead] = sig
	return true
}

// unborn reports whether there is no such branch.
func (g *Guard) unborn(ctx context.Context, ref string) bool {
	_, err := g.Repo.Resolve(ctx, ref)
	return errors.Is(err, git.ErrNoSuchRef)
}

// comesLater reports whether a path is in the admin directory of a worktree that was not there
// when the repository was remembered: a person's, or one of orch's that is being made.
func (g *Guard) comesLater(path string) bool {
	rest, ok := strings.CutPrefix(path, "worktrees/")
	name, _, below := strings.Cut(rest, "/")
	_, known := g.was.Files["worktrees/"+name+"/commondir"]
	return ok && below && !known
}

// look is a file as it was remembered, and as it was found.
type look struct {
	was, is entry
	planted bool // there was none
	gone    bool // there is none any more
}

// describeChange says what has happened to a file.
func describeChange(l look) string {
	was, is := l.was, l.is
	switch {
	case l.gone:
		return "was removed"
	case l.planted:
		return "was planted"
	case was.Mode.Type() != is.Mode.Type():
		return "was replaced by " + kindOf(is.Mode)
	case was.Mode != is.Mode && was.Link == is.Link && string(was.Data) == string(is.Data):
		return fmt.Sprintf("got the mode %04o in place of %04o", is.Mode.Perm(), was.Mode.Perm())
	}
	return "was changed"
}

// restore puts a file back as it was, and what is there now aside.
func (g *Guard) restore(c Change, l look) (Change, error) {
	var err error
	if !l.gone {
		info, statErr := g.Files.Lstat(g.at(c.Path))
		if c.Kept, err = g.aside(c.Path); err != nil {
			return c, err
		}
		if statErr == nil && git.Special(info.Mode()) { // which cat would wait for
			c.Fix, c.Kept = "ls -l "+shellQuoted(c.Kept), ""
		}
	}
	if g.dry {
		c.Restored = true
		return c, nil
	}
	if !l.planted {
		err = g.write(c.Path, l.was)
	}
	c.Restored = err == nil
	return c, err
}
