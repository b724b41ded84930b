package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/protect"
)

// protection is what no task changes by itself, as it was at the first landing of this run,
// and what is to be said of candidates when they land.
type protection struct {
	mu    sync.Mutex
	set   *protect.Set
	notes map[epic.Commit]string
}

// refuse looks at what a candidate changes on the tip that it was built on, before the gate
// runs anything of it. It refuses one that touches protected paths which nobody has accepted;
// nil where it does not. It fails as git does.
func (x *Effects) refuse(ctx context.Context, t *epic.Task, tip, candidate epic.Commit) (*epic.Event, error) {
	a := t.Last()
	touched, changes, err := x.touches(ctx, tip, candidate)
	if err != nil {
		return nil, err
	}
	left := protect.Allowed(touched, x.AllowProtected[t.ID])
	if len(left) > 0 && (a.Accepted == "" || a.Accepted != a.Head) {
		return &epic.Event{Task: t.ID, Attempt: a.Number, Code: epic.Protected,
			Reason: "it changes " + epic.FirstOf(left) + ", which settles how work is judged or what runs",
			Fact: epic.LandingRefused{Old: tip, Files: left,
				Feedback: "Your work changes paths that no task may change by itself: " + strings.Join(left, ", ") + ".\nLeave them as they are."}}, nil
	}
	note := protect.TestNote(changes, func(id string) ([]byte, error) { return x.blob(ctx, id) })
	if len(touched) > 0 {
		note = strings.TrimPrefix(note+"; changes "+epic.FirstOf(touched)+", as a person has allowed", "; ")
	}
	x.note(candidate, note)
	return nil, nil
}

// touches lists the protected paths that differ between two commits, and all changes.
func (x *Effects) touches(ctx context.Context, from, to epic.Commit) (paths []string, changes []protect.Change, err error) {
	out, err := x.Repo.Out(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options", string(from), string(to), "--")
	if err != nil {
		return nil, nil, fmt.Errorf("listing what changes: %w", err)
	}
	if changes, err = protect.Parse(out); err != nil {
		return nil, nil, err
	}
	set, err := x.protection(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	paths, err = set.Touched(changes, func(id string) ([]byte, error) { return x.blob(ctx, id) })
	return paths, changes, err
}

// protection is what is protected in this run.
func (x *Effects) protection(ctx context.Context, tip epic.Commit) (*protect.Set, error) {
	x.guarded.mu.Lock()
	defer x.guarded.mu.Unlock()
	if x.guarded.set != nil {
		return x.guarded.set, nil
	}
	links, err := x.linksAt(ctx, tip)
	if err != nil {
		return nil, err
	}
	set, err := protect.New(x.Protect, x.Gate, links, func(paths []string) (map[string][]byte, error) { return x.filesAt(ctx, tip, paths) })
	if err == nil {
		x.guarded.set = set
	}
	return set, err
}

// maxLooked bounds a file that is looked into for what it names, in bytes.
const maxLooked = 1 << 20

// filesAt reads those of the paths that are plain files in a commit.
func (x *Effects) filesAt(ctx context.Context, c epic.Commit, paths []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	const batch = 500 // of paths on one command line
	for len(paths) > 0 {
		n := min(len(paths), batch)
		args := append([]string{"--literal-pathspecs", "ls-tree", "-z", "--full-tree", string(c), "--"}, paths[:n]...)
		paths = paths[n:]
		out, err := x.Repo.Out(ctx, args...)
		if err != nil {
			return nil, fmt.Errorf("looking for the files that the gate names: %w", err)
		}
		for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			about, name, _ := strings.Cut(entry, "\t")
			fields := strings.Fields(about)
			if len(fields) != 3 || fields[1] != "blob" {
				continue
			}
			text, err := x.blob(ctx, fields[2])
			if err != nil {
				return nil, err
			}
			found[name] = text[:min(len(text), maxLooked)]
		}
	}
	return found, nil
}

// maxLinks is how many symbolic links of a tree are looked at.
const maxLinks = 2000

// linksAt are the symbolic links in a commit, with what they contain.
func (x *Effects) linksAt(ctx context.Context, c epic.Commit) (map[string]string, error) {
	out, err := x.Repo.Out(ctx, "ls-tree", "-r", "-z", "--full-tree", string(c))
	if err != nil {
		return nil, fmt.Errorf("looking for links: %w", err)
	}
	links := map[string]string{}
	for entry := range strings.SplitSeq(out, "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(about)
		if len(fields) != 3 || fields[0] != "120000" || len(links) == maxLinks {
			continue
		}
		to, err := x.blob(ctx, fields[2])
		if err != nil {
			return nil, err
		}
		links[name] = string(to)
	}
	return links, nil
}

func (x *Effects) blob(ctx context.Context, id string) ([]byte, error) {
	out, err := x.Repo.Out(ctx, "cat-file", "blob", id)
	if err != nil {
		return nil, fmt.Errorf("reading a file: %w", err)
	}
	return []byte(out), nil
}

// note keeps what is to be said when a candidate lands.
func (x *Effects) note(c epic.Commit, text string) {
	x.guarded.mu.Lock()
	defer x.guarded.mu.Unlock()
	notes := map[epic.Commit]string{c: text}
	maps.Copy(notes, x.guarded.notes)
	x.guarded.notes = notes
}

// noted is what is to be said of a stack that lands; "" nothing.
func (x *Effects) noted(l epic.Candidates) string {
	x.guarded.mu.Lock()
	defer x.guarded.mu.Unlock()
	var out []string
	for n, c := range l.Commits {
		if text := x.guarded.notes[c]; text != "" {
			if len(l.Tasks) > 1 {
				text = l.Tasks[n].String() + " " + text
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}
