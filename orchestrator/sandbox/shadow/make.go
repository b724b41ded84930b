package shadow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Options is what a shadow is made for.
type Options struct {
	// Repo is the real repository.
	Repo *git.Repo
	// Admin is the administrative folder of the attempt's worktree, below the worktrees folder of the real one; "" where what is worked in
	// is the main work tree.
	Admin string
	// Branch is the full name of the attempt's branch; "" where HEAD is detached, as for a gate.
	Branch string
	// Dir is where the shadow is made; nothing is there yet, the folder above it is, and no command within bounds writes that. "" is a
	// scratch folder, which is swept once this process has ended.
	Dir string
	// Mounted says that the shadow is mounted over the real git directory, with the real objects in it under the name
	// [sandbox.Borrowed]. Elsewhere the worktree has to point to it: see [Shadow.Point].
	Mounted bool
}

// Shadow is a shadow repository on disk.
type Shadow struct {
	// Dir is where it is.
	Dir string
	// Alternates are folders of objects that the real repository itself borrows from, absolute; the attempt has to be able to
	// read them.
	Alternates []string

	options Options
	refs    map[string]git.Commit // as they were when it was made
}

// Bounds on what is read of a git directory that an agent may have written, in bytes.
const (
	maxSmall = 64 << 10
	maxAdmin = 256 << 20
)

// marker is a file of no content in each shadow, and in no other git directory.
const marker = "orch-shadow"

// Is reports whether the git directory at commonDir is a shadow, as it is for a command within a sandbox. Who works there can have it say anything.
func Is(commonDir string) bool {
	_, err := os.Lstat(filepath.Join(commonDir, marker))
	return err == nil
}

// Make makes the shadow of a repository as it is now. It starts no git. The caller calls Remove.
func Make(o Options) (s *Shadow, err error) {
	refs, err := realRefs(o.Repo.CommonDir())
	if err != nil {
		return nil, err
	}
	dir := o.Dir
	if dir == "" {
		dir, err = o.Repo.Scratch("shadow-")
	} else {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	s = &Shadow{Dir: dir, options: o, refs: map[string]git.Commit{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Remove())
		}
	}()
	var packed strings.Builder
	packed.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if !ownRef(name) {
			s.refs[name] = refs[name]
			fmt.Fprintf(&packed, "%s %s\n", refs[name], name)
		}
	}
	for _, name := range []string{"refs/heads", "refs/tags", "objects/info", "objects/pack", "info", "hooks", "logs", "worktrees"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return s, err
		}
	}
	borrowed, err := s.borrow()
	if err != nil {
		return s, err
	}
	twin := o.Repo.Twin()
	files := map[string]string{
		"HEAD": mainHead(o.Repo.CommonDir()), "packed-refs": packed.String(), "config": twin.Config, "info/attributes": string(twin.Attributes), "info/exclude": string(twin.Exclude),
		marker: "", "objects/info/alternates": strings.Join(append([]string{borrowed}, s.Alternates...), "\n") + "\n",
	}
	if twin.Shallow != nil {
		files["shallow"] = string(twin.Shallow)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return s, err
		}
	}
	if o.Admin == "" {
		err = s.copyIndex()
	} else {
		err = copyFolder(o.Admin, s.admin(), adminSkips())
	}
	if err != nil {
		return s, err
	}
	return s, s.record()
}

// ownRef reports whether a reference is left out of a shadow: one of orch's own, or one that git keeps for each work tree separately.
func ownRef(name string) bool {
	return slices.ContainsFunc([]string{refname.Own, "refs/bisect/", "refs/worktree/", "refs/rewritten/"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// realRefs are the references of a git directory, with what symbolic ones lead to. The loose ones are read first: git moves them into
// the packed ones, and never back.
func realRefs(commonDir string) (map[string]git.Commit, error) {
	dir, err := private.Open(commonDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	loose := looseRefs{refs: map[string]git.Commit{}, symbolic: map[string]string{}}
	if err := loose.read(dir, "refs", 0); err != nil {
		return nil, fmt.Errorf("reading references: %w", err)
	}
	content, err := dir.ReadFile("packed-refs", maxPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading references: %w", err)
	}
	refs := parsePacked(content)
	maps.Copy(refs, loose.refs)
	for name, to := range loose.symbolic {
		delete(refs, name)
		if id, ok := refs[to]; ok {
			refs[name] = id
		}
	}
	return refs, nil
}

// copyIndex has the shadow have the index of the main work tree.
func (s *Shadow) copyIndex() error {
	common, err := private.Open(s.options.Repo.CommonDir())
	if err != nil {
		return err
	}
	defer common.Close()
	err = copyFile(common, "index", filepath.Join(s.Dir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Worktree is the folder whose administrative folder the shadow has a copy of; "" where there is none, or it is not known any more.
func (s *Shadow) Worktree() string {
	if s.options.Admin == "" {
		return ""
	}
	content, err := private.ReadFile(filepath.Join(s.options.Admin, "gitdir"), maxSmall)
	if err != nil {
		return ""
	}
	return filepath.Dir(strings.TrimSpace(string(content)))
}

// recorded is what a later process has to know of a shadow that was left.
type recorded struct {
	Branch  string                `json:"branch"`
	Admin   string                `json:"admin"`
	Mounted bool                  `json:"mounted"`
	Refs    map[string]git.Commit `json:"refs"`
}

// recordPath is the file beside a shadow that has it.
func recordPath(dir string) string { return dir + ".json" }

// record makes a shadow one that [Open] finds, unless it is in a scratch folder.
func (s *Shadow) record() error {
	if s.options.Dir == "" {
		return nil
	}
	content, err := json.Marshal(recorded{Branch: s.options.Branch, Admin: s.options.Admin, Mounted: s.options.Mounted, Refs: s.refs})
	if err != nil {
		return err
	}
	above, err := private.OpenAbove(s.Dir, 1)
	if err != nil {
		return err
	}
	return errors.Join(above.WriteFile(recordPath(s.Dir), content), above.Close())
}

// Open is a shadow that a process before this one has made at dir. It fails with [fs.ErrNotExist] where that one was not finished: nothing
// has worked in it then.
func Open(repo *git.Repo, dir string) (*Shadow, error) {
	content, err := private.ReadFile(recordPath(dir), maxAdmin)
	if err != nil {
		return nil, err
	}
	var r recorded
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", recordPath(dir), err)
	}
	return &Shadow{Dir: dir, options: Options{Repo: repo, Admin: r.Admin, Branch: r.Branch, Dir: dir, Mounted: r.Mounted}, refs: r.Refs}, nil
}

// admin is the administrative folder of the worktree in the shadow.
func (s *Shadow) admin() string {
	return filepath.Join(s.Dir, "worktrees", filepath.Base(s.options.Admin))
}

// adminSkips are files that git does not need there, or would obey: who has written them is not known.
func adminSkips() []string { return []string{"orch", "config.worktree"} }

// borrow gives the place where git finds the real objects, and looks where these borrow from.
func (s *Shadow) borrow() (at string, err error) {
	objects := filepath.Join(s.options.Repo.CommonDir(), "objects")
	at = objects
	if s.options.Mounted {
		at = filepath.Join(s.options.Repo.CommonDir(), sandbox.Borrowed)
		if err := os.Mkdir(filepath.Join(s.Dir, sandbox.Borrowed), 0o700); err != nil {
			return "", err
		}
	}
	list, err := private.ReadFile(filepath.Join(objects, "info", "alternates"), maxSmall)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return at, nil
		}
		return "", err
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		s.Alternates = append(s.Alternates, filepath.Clean(line))
	}
	return at, nil
}

// mainHead is the HEAD of the main work tree, if it names a branch.
func mainHead(commonDir string) string {
	content, err := private.ReadFile(filepath.Join(commonDir, "HEAD"), maxSmall)
	if err == nil && strings.HasPrefix(string(content), "ref: refs/heads/") {
		return string(content)
	}
	return "ref: refs/heads/main\n"
}

// copyFolder copies the regular files and folders of a folder, and nothing else.
func copyFolder(from, to string, skip []string) error {
	source, err := private.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return copyBelow(source, from, to, skip)
}

func copyBelow(source *private.Dir, from, to string, skip []string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := source.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, at := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		switch {
		case slices.Contains(skip, e.Name()):
		case e.IsDir():
			err = copyBelow(source, name, at, nil)
		case e.Type().IsRegular():
			err = copyFile(source, name, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(source *private.Dir, from, to string) error {
	in, err := source.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if n, err := io.Copy(out, io.LimitReader(in, maxAdmin+1)); err != nil || n > maxAdmin {
		return errors.Join(err, out.Close(), fmt.Errorf("%s is larger than %d bytes", from, maxAdmin))
	}
	info, err := in.Stat()
	return errors.Join(err, out.Close(), keepTime(info, func(at time.Time) error { return os.Chtimes(to, at, at) }))
}

// keepTime gives a copy the time of what it is a copy of: git goes by the time of an index, where a file was changed in the second in which
// it was looked at.
func keepTime(info fs.FileInfo, set func(time.Time) error) error {
	if info == nil {
		return nil
	}
	return set(info.ModTime())
}

// Point has the worktree at dir use the shadow, where it is not mounted; PointBack has it use the real repository again.
func (s *Shadow) Point(dir string) error { return s.pointTo(dir, s.admin()) }

// PointBack is the end of Point; whatever the .git file has become, it is that file again.
func (s *Shadow) PointBack(dir string) error { return s.pointTo(dir, s.options.Admin) }

func (s *Shadow) pointTo(dir, admin string) error {
	worktree, err := private.OpenAbove(dir, 1)
	if err != nil {
		return err
	}
	return errors.Join(worktree.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+admin+"\n")), worktree.Close())
}

// Remove removes the shadow with all that is in it.
func (s *Shadow) Remove() error {
	above, err := private.OpenAbove(s.Dir, 1)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return errors.Join(above.RemoveAll(s.Dir), above.RemoveAll(recordPath(s.Dir)), above.Close())
}
