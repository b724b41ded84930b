package shadow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// RefusedError says that what is in a shadow was not taken back, since it is not what git makes. The shadow is left as it is.
type RefusedError struct {
	// Dir is the shadow.
	Dir string
	// Why it was refused.
	Why string
	// Err is the failure of git; nil where it was not asked.
	Err error
}

// Error is one line.
func (e *RefusedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("what was committed in the sandbox is refused: %s: %s", e.Why, e.Err)
	}
	return "what was committed in the sandbox is refused: " + e.Why
}

// Unwrap is the failure of git.
func (e *RefusedError) Unwrap() error { return e.Err }

// Returned is what was taken back from a shadow, and what was not.
type Returned struct {
	// Branch is where the attempt's branch is now; "" where the attempt has none any more.
	Branch git.Commit
	// Kept are commits that are nowhere on the branch, and were taken back too: where HEAD has been, and what is merged.
	Kept []git.Commit
	// Dropped are the other references that were made or moved there, by their full names; their commits are not taken back.
	Dropped []string
}

const (
	maxPacked = 64 << 20
	maxLog    = 16 << 20
	// maxKept bounds how many places of HEAD are looked at.
	maxKept = 4096
)

// Return takes back what was committed in the shadow, once no process works there: objects that git has checked, the attempt's
// branch, and HEAD with the index of its worktree. maxBytes bounds the size of the new objects, 0 for no bound. It fails with a [*RefusedError],
// or as git does; then the real repository has at most objects more.
func (s *Shadow) Return(ctx context.Context, maxBytes int64) (r Returned, err error) {
	dir, err := private.Open(s.Dir)
	if err != nil {
		return r, err
	}
	defer dir.Close()
	refs, err := s.readRefs(dir)
	if err != nil {
		return r, err
	}
	all, was := maps.Clone(refs), git.Commit("")
	if s.options.Branch != "" {
		r.Branch, was = refs[s.options.Branch], s.refs[s.options.Branch]
		delete(refs, s.options.Branch)
	}
	for name, id := range refs {
		if s.refs[name] != id {
			r.Dropped = append(r.Dropped, name)
		}
	}
	slices.Sort(r.Dropped)
	head := s.head(dir, all)
	places := s.places(dir)
	if head.id != "" {
		places = append(places, head.id)
	}
	indexed, err := s.takeObjects(ctx, dir, &r, places, maxBytes)
	if err != nil {
		return r, err
	}
	if head.id != r.Branch && !slices.Contains(r.Kept, head.id) {
		head.id = ""
	}
	if r.Branch != "" && r.Branch != was {
		if err := s.options.Repo.UpdateRefs(ctx, []git.RefChange{{Name: s.options.Branch, New: r.Branch, Old: was}}); err != nil {
			return r, err
		}
	}
	return r, s.returnAdmin(dir, head, indexed)
}

var objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// readRefs reads all references of the shadow, packed and loose. Symbolic ones, links and what else is there are passed over, but
// for the attempt's branch, which has to be what git makes.
func (s *Shadow) readRefs(dir *private.Dir) (map[string]git.Commit, error) {
	content, err := dir.ReadFile("packed-refs", maxPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &RefusedError{Dir: s.Dir, Why: "its references cannot be read", Err: err}
	}
	loose := looseRefs{refs: parsePacked(content), symbolic: map[string]string{}}
	if err := loose.read(dir, "refs", 0); err != nil {
		return nil, &RefusedError{Dir: s.Dir, Why: "its references cannot be read", Err: err}
	}
	refs := loose.refs
	if s.options.Branch == "" {
		return refs, nil
	}
	switch info, err := dir.Lstat(s.options.Branch); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, &RefusedError{Dir: s.Dir, Why: "its branch cannot be read", Err: err}
	case !info.Mode().IsRegular():
		return nil, &RefusedError{Dir: s.Dir, Why: "its branch is no file"}
	default:
		content, err := dir.ReadFile(s.options.Branch, maxSmall)
		if id := strings.TrimSpace(string(content)); err != nil || !objectID().MatchString(id) {
			return nil, &RefusedError{Dir: s.Dir, Why: "its branch points at no object", Err: err}
		}
	}
	return refs, nil
}

// parsePacked reads a file packed-refs; lines that are none of git's are passed over.
func parsePacked(content []byte) map[string]git.Commit {
	refs := map[string]git.Commit{}
	for line := range strings.Lines(string(content)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if objectID().MatchString(id) && strings.HasPrefix(name, "refs/") {
			refs[name] = git.Commit(id)
		}
	}
	return refs
}

// maxDepth bounds the folders of references.
const maxDepth = 32

// looseRefs are references that are a file each.
type looseRefs struct {
	refs     map[string]git.Commit
	symbolic map[string]string // what the others lead to
}

func (l looseRefs) read(dir *private.Dir, folder string, depth int) error {
	entries, err := dir.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || depth > maxDepth {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := folder + "/" + e.Name()
		switch {
		case e.IsDir():
			if err := l.read(dir, name, depth+1); err != nil {
				return err
			}
		case e.Type().IsRegular():
			content, err := dir.ReadFile(name, maxSmall)
			if err != nil {
				continue
			}
			line := strings.TrimSpace(string(content))
			if to, ok := strings.CutPrefix(line, "ref: "); ok {
				l.symbolic[name] = to
			} else if objectID().MatchString(line) {
				l.refs[name] = git.Commit(line)
			}
		}
	}
	return nil
}

// adminName is the path of a file of the worktree's administrative folder, below the shadow.
func (s *Shadow) adminName(file string) string {
	return filepath.Join("worktrees", filepath.Base(s.options.Admin), file)
}

// places are the commits that HEAD of the worktree was at, and those that it merges, as far as the files say so.
func (s *Shadow) places(dir *private.Dir) (ids []git.Commit) {
	add := func(id string) {
		if objectID().MatchString(id) && strings.Trim(id, "0") != "" && !slices.Contains(ids, git.Commit(id)) && len(ids) < maxKept {
			ids = append(ids, git.Commit(id))
		}
	}
	for _, name := range []string{"HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		content, err := dir.ReadFile(s.adminName(name), maxSmall)
		if err != nil {
			continue
		}
		for _, id := range strings.Fields(string(content)) {
			add(id)
		}
	}
	log, err := dir.ReadFile(s.adminName("logs/HEAD"), maxLog)
	if err != nil {
		return ids
	}
	for line := range strings.Lines(string(log)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			add(fields[1])
		}
	}
	return ids
}
