package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// AtticPrefix is what the names of the references begin with that keep work which landed nowhere.
func (s *Store) AtticPrefix() string { return s.attic() }

// Mend puts back the files that lead from the epic's worktrees to the repository and back, which
// have one right value, puts aside what looks like an operation of git that waits to be gone on with and is none, and
// reports what it was. A .git that is a folder stays: it may
// hold work, and orch's own git does not read it. It fails when a file cannot be written.
func (s *Store) Mend(ctx context.Context, say func([]engine.Leftover) error) (found []engine.Leftover, err error) {
	entries, err := s.files.ReadDir(s.root)
	var unsafe *private.UnsafeError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &unsafe) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), dirPrefix) && e.Name() != verifyOwner {
			continue
		}
		l := s.linked(filepath.Join(s.root, e.Name()))
		if len(s.wrong(l)) == 0 {
			continue
		}
		err = errors.Join(err, s.locked(ctx, func() error { // or it is being made or removed
			wrong := s.wrong(l)
			var all []engine.Leftover
			for _, w := range wrong {
				all = append(all, w.Leftover)
			}
			if len(all) > 0 && say != nil {
				if err := say(all); err != nil {
					return err
				}
			}
			for i, w := range wrong {
				if err := w.mend(); err != nil {
					return err
				}
				found = append(found, all[i])
			}
			return nil
		}))
	}
	return found, err
}

// wrong is a file of a worktree that is not as it has to be, and what makes it right.
type wrong struct {
	engine.Leftover
	mend func() error
}

// wrong lists what of a worktree is not as it has to be.
func (s *Store) wrong(l linked) (all []wrong) {
	for _, p := range l.wrongPointers() {
		all = append(all, wrong{Leftover: engine.Leftover{Path: p.path, What: p.what, Fixed: true}, mend: p.mend})
	}
	if w, ok := s.wrongFolder(l); ok {
		all = append(all, w)
	}
	return append(all, s.wrongOperations(l)...)
}

// wrongFolder is what stands where a worktree is to be made and is no folder; it gets another name.
func (s *Store) wrongFolder(l linked) (w wrong, ok bool) {
	info, err := l.trees.Lstat(l.dir)
	if err != nil || info.IsDir() || l.hasAdmin() {
		return w, false
	}
	aside := filepath.Join(s.root, KeptPrefix+filepath.Base(l.dir))
	for n := 2; ; n++ {
		if _, err := l.trees.Lstat(aside); err != nil {
			break
		}
		aside = filepath.Join(s.root, fmt.Sprintf("%s%s-%d", KeptPrefix, filepath.Base(l.dir), n))
	}
	what := "was made, and is no folder; it is " + aside + " now"
	if to, err := os.Readlink(l.dir); err == nil {
		what = "was made, a link to " + text.Cut(text.Clean(to), 200) + "; it is " + aside + " now"
	}
	return wrong{Leftover: engine.Leftover{Path: l.dir, What: what, Fixed: true}, mend: func() error { return l.trees.Rename(l.dir, aside) }}, true
}

// pointer is a file that leads from one git directory to another.
type pointer struct {
	in   *private.Dir
	path string
	text string // "" where there is to be none
	what string // how it differs
}

// wrongPointers lists the files of a whole worktree that are not as they should be.
func (l linked) wrongPointers() (all []pointer) {
	if l.owner() == "" || !l.hasDir() {
		return nil
	}
	for _, p := range []pointer{
		{l.trees, filepath.Join(l.dir, ".git"), l.pointer(), ""},
		{l.common, filepath.Join(l.admin, "gitdir"), l.pointsBack(), ""},
		{l.common, filepath.Join(l.admin, "commondir"), adminCommon, ""},
		{l.common, filepath.Join(l.admin, "config.worktree"), "", ""},
	} {
		info, err := p.in.Lstat(p.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.what = "was removed"
		case err != nil, filepath.Base(p.path) == ".git" && info.IsDir():
			continue
		case p.text == "":
			p.what = "was planted"
		default:
			text, err := p.in.ReadFile(p.path, maxPointer)
			if err == nil && (string(text) == p.text || p.path == filepath.Join(l.dir, ".git") && l.pointsAtShadow(string(text))) {
				continue
			}
			p.what = "was changed"
		}
		if p.what != "was removed" || p.text != "" {
			all = append(all, p)
		}
	}
	return all
}

// pointsAtShadow reports whether a .git file leads to a shadow of the git directory, which an agent in a sandbox without mounts has.
func (l linked) pointsAtShadow(text string) bool {
	admin, ok := strings.CutPrefix(strings.TrimSuffix(text, "\n"), "gitdir: ")
	rel, below := strings.CutPrefix(admin, filepath.Join(l.repo.CommonDir(), "orch")+"/")
	return ok && below && filepath.IsLocal(rel) && filepath.Clean(rel) == rel && strings.HasSuffix(rel, "/shadow/worktrees/"+filepath.Base(l.admin))
}

func (p pointer) mend() error {
	if p.text == "" {
		return p.in.RemoveAll(p.path)
	}
	return p.in.WriteFile(p.path, []byte(p.text))
}
