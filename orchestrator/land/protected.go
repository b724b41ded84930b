package land

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/protect"
)

// protection is what no task changes by itself, as it was at the first landing of this run,
// and notes on candidates for when they land.
type protection struct {
	mu    sync.Mutex
	set   *protect.Set
	notes map[git.Commit]string
}

// refuse inspects what a candidate changes on the tip that it was built on, before the gate
// runs anything of it. It lists the protected paths that it touches and that no person has accepted. It
// fails as git does.
func (l *Lander) refuse(ctx context.Context, t Task, tip, candidate git.Commit) ([]string, error) {
	touched, changes, err := l.touches(ctx, tip, candidate)
	if err != nil {
		return nil, err
	}
	if left := protect.Allowed(touched, l.AllowProtected[t.ID]); len(left) > 0 && !t.Accepted {
		return left, nil
	}
	note := protect.TestNote(changes, func(id string) ([]byte, error) { return l.blob(ctx, id) })
	if len(touched) > 0 {
		note = strings.TrimPrefix(note+"; changes "+epic.FirstOf(touched)+", as a person has allowed", "; ")
	}
	l.note(candidate, note)
	return nil, nil
}

// touches lists the protected paths that differ between two commits, and all changes.
func (l *Lander) touches(ctx context.Context, from, to git.Commit) (paths []string, changes []protect.Change, err error) {
	files, err := l.difference(ctx, from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("listing what changes: %w", err)
	}
	for _, f := range files {
		changes = append(changes, protect.Change{Path: f.Path, OldMode: f.OldMode, NewMode: f.NewMode, Old: f.Old, New: f.New})
	}
	set, err := l.protection(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	paths, err = set.Touched(changes, func(id string) ([]byte, error) { return l.blob(ctx, id) })
	return paths, changes, err
}

// protection is what is protected in this run.
func (l *Lander) protection(ctx context.Context, tip git.Commit) (*protect.Set, error) {
	l.guarded.mu.Lock()
	defer l.guarded.mu.Unlock()
	if l.guarded.set != nil {
		return l.guarded.set, nil
	}
	tree, err := l.treeAt(ctx, tip)
	if err != nil {
		return nil, err
	}
	set, err := protect.New(l.Protect, slices.Concat(l.Gate, l.Before), tree)
	if err == nil {
		l.guarded.set = set
	}
	return set, err
}

// maxLooked bounds a file that is looked into for what it names, in bytes.
const maxLooked = 1 << 20

// filesAt reads those of the paths that are plain files in a commit.
func (l *Lander) filesAt(ctx context.Context, c git.Commit, paths []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	const batch = 500 // of paths on one command line
	for len(paths) > 0 {
		n := min(len(paths), batch)
		args := append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", string(c), "--"}, paths[:n]...)
		paths = paths[n:]
		out, err := l.Repo.Out(ctx, args...)
		if err != nil {
			return nil, fmt.Errorf("looking for the files that the gate names: %w", err)
		}
		for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			about, name, _ := strings.Cut(entry, "\t")
			fields := strings.Fields(about)
			if len(fields) != 3 || fields[1] != "blob" {
				continue
			}
			text, err := l.blob(ctx, fields[2])
			if err != nil {
				return nil, err
			}
			found[name] = text[:min(len(text), maxLooked)]
		}
	}
	return found, nil
}

// maxLinks is how many symbolic links of a tree are read.
const maxLinks = 2000

// treeAt is a commit's tree, with its symbolic links read.
func (l *Lander) treeAt(ctx context.Context, c git.Commit) (protect.Tree, error) {
	out, err := l.Repo.Out(ctx, "ls-tree", "-r", "-z", "--full-tree", string(c))
	if err != nil {
		return protect.Tree{}, fmt.Errorf("listing the files of the tree: %w", err)
	}
	tree := protect.Tree{Links: map[string]string{}, Files: func(paths []string) (map[string][]byte, error) { return l.filesAt(ctx, c, paths) }}
	for entry := range strings.SplitSeq(out, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(about)
		switch {
		case len(fields) != 3:
		case fields[1] == "blob" && fields[0] != "120000":
			tree.Paths = append(tree.Paths, name)
		case fields[0] == "120000" && len(tree.Links) < maxLinks:
			to, err := l.blob(ctx, fields[2])
			if err != nil {
				return protect.Tree{}, err
			}
			tree.Links[name] = string(to)
		}
	}
	return tree, nil
}

func (l *Lander) blob(ctx context.Context, id string) ([]byte, error) {
	out, err := l.Repo.Out(ctx, "cat-file", "blob", id)
	if err != nil {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return []byte(out), nil
}

// note stores a note on a candidate for when it lands.
func (l *Lander) note(c git.Commit, text string) {
	l.guarded.mu.Lock()
	defer l.guarded.mu.Unlock()
	notes := map[git.Commit]string{c: text}
	maps.Copy(notes, l.guarded.notes)
	l.guarded.notes = notes
}

// notes are the notes on a stack that lands, in one text; "" for none.
func (l *Lander) notes(s Stack) string {
	l.guarded.mu.Lock()
	defer l.guarded.mu.Unlock()
	var out []string
	for n, c := range s.Candidates {
		if text := l.guarded.notes[c]; text != "" {
			if len(s.Tasks) > 1 {
				text = s.Tasks[n].ID.String() + " " + text
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}
