package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// takeObjects copies what is new below the branch, the places of HEAD and in the index, after git has checked each object. indexed
// says that all of the index is there.
func (s *Shadow) takeObjects(ctx context.Context, dir *private.Dir, r *Returned, places []git.Commit, maxBytes int64) (indexed bool, err error) {
	// Where the objects say that they borrow from is no word to go by.
	if err := dir.Remove("objects/info/alternates"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	total, err := plainBelow(dir, "objects", 0)
	if err != nil {
		return false, &RefusedError{Dir: s.Dir, Why: "its objects cannot be read", Err: err}
	}
	if maxBytes > 0 && total > maxBytes {
		return false, &RefusedError{Dir: s.Dir, Why: fmt.Sprintf("its objects have %d bytes, more than %d", total, maxBytes)}
	}
	if total == 0 && s.asItWas(dir, r.Branch, places) {
		return false, nil
	}
	env := []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(s.Dir, "objects")}
	found, err := s.existing(ctx, "commit", slices.Concat([]git.Commit{r.Branch}, places, s.before()), env)
	if err != nil {
		return false, err
	}
	there := map[git.Commit]bool{}
	for _, id := range found {
		there[id] = true
	}
	var commits, known []git.Commit
	for _, id := range append([]git.Commit{r.Branch}, places...) {
		if there[id] && !slices.Contains(commits, id) {
			commits = append(commits, id)
		}
	}
	for _, id := range s.before() {
		if there[id] {
			known = append(known, id)
		}
	}
	if r.Branch != "" && !there[r.Branch] {
		return false, &RefusedError{Dir: s.Dir, Why: "its branch points at no commit that is there"}
	}
	for _, id := range commits {
		if id != r.Branch {
			r.Kept = append(r.Kept, id)
		}
	}
	at := r.Branch
	if len(commits) > 0 && at == "" {
		at = commits[0]
	}
	staged, indexed := s.staged(ctx, dir, at, env)
	if len(commits)+len(staged) == 0 {
		return indexed, nil
	}
	return indexed, s.copyObjects(ctx, append(commits, staged...), known, env)
}

// asItWas reports whether nothing was committed or staged: all places are where the branch was, and the index is the real one.
func (s *Shadow) asItWas(dir *private.Dir, branch git.Commit, places []git.Commit) bool {
	if branch == "" || branch != s.refs[s.options.Branch] || slices.ContainsFunc(places, func(id git.Commit) bool { return id != branch }) {
		return false
	}
	index, err := dir.ReadFile(s.adminName("index"), maxAdmin)
	if err != nil {
		return false
	}
	real, err := private.ReadFile(filepath.Join(s.options.Admin, "index"), maxAdmin)
	return err == nil && bytes.Equal(index, real)
}

// staged are the objects that the index of the worktree has and the commit does not, where all of them are there; else ok is false.
func (s *Shadow) staged(ctx context.Context, dir *private.Dir, commit git.Commit, env []string) (ids []git.Commit, ok bool) {
	info, err := dir.Lstat(s.adminName("index"))
	if err != nil || !info.Mode().IsRegular() || commit == "" {
		return nil, false
	}
	res, err := s.options.Repo.Do(ctx, git.Call{Args: []string{"diff-index", "--cached", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=d", "-r", "-z", string(commit)},
		Index: filepath.Join(s.Dir, s.adminName("index")), Env: env})
	if err != nil {
		return nil, false
	}
	seen := map[string]bool{}
	for record := range strings.SplitSeq(string(res.Stdout), "\x00") {
		fields := strings.Fields(record)
		if len(fields) != 5 || record[0] != ':' || fields[1] == gitlink || !objectID().MatchString(fields[3]) {
			continue // a path
		}
		if id := fields[3]; strings.Trim(id, "0") != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, git.Commit(id))
		}
	}
	there, err := s.existing(ctx, "blob", ids, env)
	return there, err == nil && len(there) == len(ids)
}

// gitlink is the mode of a submodule, whose commit is elsewhere.
const gitlink = "160000"

// existing are those of ids that are objects of a kind and can be read.
func (s *Shadow) existing(ctx context.Context, want string, ids []git.Commit, env []string) (found []git.Commit, err error) {
	var list bytes.Buffer
	for _, id := range ids {
		if id != "" {
			fmt.Fprintln(&list, id)
		}
	}
	if list.Len() == 0 {
		return nil, nil
	}
	res, err := s.options.Repo.Do(ctx, git.Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, Stdin: list.Bytes(), Env: env})
	if err != nil {
		return nil, s.refusal("git cannot read what it has", err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(res.Stdout)) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == want && !seen[id] {
			seen[id] = true
			found = append(found, git.Commit(id))
		}
	}
	return found, nil
}

// copyObjects packs what the commits need and the known ones do not have, has git check each object by the rules of fsck and
// that none is missing, and puts the pack into the real repository.
func (s *Shadow) copyObjects(ctx context.Context, commits, known []git.Commit, env []string) (err error) {
	scratch, err := s.options.Repo.Scratch("pack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var revs bytes.Buffer
	for _, id := range commits {
		fmt.Fprintln(&revs, id)
	}
	for _, id := range known {
		fmt.Fprintf(&revs, "^%s\n", id)
	}
	res, err := s.options.Repo.Do(ctx, git.Call{Args: []string{"pack-objects", "--revs", "--quiet", "--delta-base-offset", filepath.Join(scratch, "pack")}, Stdin: revs.Bytes(), Env: env})
	if err != nil {
		return s.refusal("git cannot pack it", err)
	}
	name := strings.TrimSpace(string(res.Stdout))
	if name == "" {
		return nil
	}
	if !objectID().MatchString(name) {
		return fmt.Errorf("git pack-objects: an answer that is no name of a pack: %q", name)
	}
	pack := filepath.Join(scratch, "pack-"+name)
	if empty, err := noObjects(pack + ".pack"); err != nil || empty {
		return err
	}
	if err := os.Remove(pack + ".idx"); err != nil {
		return err
	}
	if _, err := s.options.Repo.Do(ctx, git.Call{Args: []string{"index-pack", "--strict", pack + ".pack"}}); err != nil {
		return s.refusal("git finds faults in it", err)
	}
	return s.install(pack)
}

// before are the objects that references pointed at when the shadow was made.
func (s *Shadow) before() (ids []git.Commit) {
	for _, id := range s.refs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// refusal is err of git as a refusal, where it is git's word on what it read and no fault of the machine.
func (s *Shadow) refusal(why string, err error) error {
	var exit *command.ExitError
	if errors.As(err, &exit) && exit.Signal == "" {
		return &RefusedError{Dir: s.Dir, Why: why, Err: err}
	}
	return err
}

// noObjects reports whether a pack is empty: its header says how many objects it has.
func noObjects(pack string) (bool, error) {
	f, err := os.Open(pack)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var header [12]byte
	if _, err := f.ReadAt(header[:], 0); err != nil {
		return false, err
	}
	return bytes.Equal(header[8:], make([]byte, 4)), nil
}

// install puts a checked pack where git finds it: the pack first, since its index makes it known.
func (s *Shadow) install(pack string) error {
	common, err := private.Open(s.options.Repo.CommonDir())
	if err != nil {
		return err
	}
	defer common.Close()
	folder := filepath.Join(s.options.Repo.CommonDir(), "objects", "pack")
	for _, ext := range []string{".pack", ".rev", ".idx"} {
		from, to := pack+ext, filepath.Join(folder, filepath.Base(pack)+ext)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := common.Lstat(to); err == nil {
			continue // of the same name is the same content
		}
		if err := errors.Join(os.Chmod(from, 0o444), syncFile(from), common.Rename(from, to)); err != nil {
			return err
		}
	}
	return syncFile(folder)
}

// syncFile has what was written be there after a crash.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// plainBelow is the size of all files of a folder. It fails where something is neither a file nor a folder: git would follow it.
func plainBelow(dir *private.Dir, folder string, depth int) (total int64, err error) {
	entries, err := dir.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		name := folder + "/" + e.Name()
		switch {
		case e.IsDir() && depth < maxDepth:
			size, err := plainBelow(dir, name, depth+1)
			if err != nil {
				return 0, err
			}
			total += size
		case e.Type().IsRegular():
			info, err := dir.Lstat(name)
			if err != nil {
				return 0, err
			}
			total += info.Size()
		default:
			return 0, fmt.Errorf("%s is neither a file nor a folder", name)
		}
	}
	return total, nil
}
