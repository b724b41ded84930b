package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Options is what a shadow is made for.
type Options struct {
	// Repo is the real repository.
	Repo *git.Repo
	// Admin is the administrative folder of the attempt's worktree, below the worktrees folder of the real one.
	Admin string
	// Branch is the full name of the attempt's branch; "" where HEAD is detached, as for a gate.
	Branch string
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

// Make makes the shadow of a repository as it is now, in its folder for scratch files. It runs one git. The caller calls Remove.
func Make(ctx context.Context, o Options) (s *Shadow, err error) {
	refs, err := o.Repo.Refs(ctx, "refs/")
	if err != nil {
		return nil, err
	}
	dir, err := o.Repo.Scratch("shadow-")
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
	for _, r := range refs {
		if !strings.HasPrefix(r.Name, "refs/orch/") { // of orch's own; nobody's work
			s.refs[r.Name] = r.Commit
			fmt.Fprintf(&packed, "%s %s\n", r.Commit, r.Name)
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
		"objects/info/alternates": strings.Join(append([]string{borrowed}, s.Alternates...), "\n") + "\n",
	}
	if twin.Shallow != nil {
		files["shallow"] = string(twin.Shallow)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return s, err
		}
	}
	return s, copyFolder(o.Admin, s.admin(), adminSkips())
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
	return out.Close()
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
	return errors.Join(above.RemoveAll(s.Dir), above.Close())
}
