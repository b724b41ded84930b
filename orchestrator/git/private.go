package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/private"
)

// private is the git directory that every git of orch runs with. It has a configuration, an
// info folder and a HEAD of its own; references are links to the real ones, so that locks,
// packed references and reflogs are shared with all, and objects come by the environment. So nothing
// that is written into the real configuration, into info, or into a worktree's pointers is
// ever read.
//
// It is made when it is needed first, once a process, under a name that cannot be foreseen.
// Who can write in it after all (every process of the same user) is found out by the
// next call, which makes another.
type privateDir struct {
	from   source
	mu     sync.Mutex
	dir    string
	env    []string
	head   string
	seal   map[string]stamp
	closed bool
}

// source is what a private git directory is made from; all of it was read before.
type source struct {
	gitDir    string // whose HEAD it has
	commonDir string // whose references and objects it has
	format    string // its configuration: what git reads from nowhere else
	files     map[string][]byte
	base      []string    // the environment
	pairs     [][2]string // the settings that are in force, in order
	lfs       bool        // keep the folder of large files
	scratch   func(prefix string) (string, error)
}

// Names in a private git directory.
const (
	globalAttributes = "attributes"
	globalExcludes   = "exclude"
	ownFolder        = "own"
)

// errClosed is what a repository answers after Close.
var errClosed = errors.New("the repository has been closed")

// ready is the directory with the environment that goes with it.
func (p *privateDir) ready() (dir string, env []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return "", nil, errClosed
	}
	if p.dir != "" && !p.sealed() {
		if err := removeBelow(p.dir); err != nil {
			return "", nil, fmt.Errorf("removing a git directory that somebody has changed: %w", err)
		}
		p.dir = ""
	}
	if p.dir == "" {
		if err := p.make(); err != nil {
			return "", nil, fmt.Errorf("making a git directory: %w", err)
		}
	}
	if head, ok := readHead(p.from.gitDir); ok && head != p.head {
		if err := p.writeHead(head); err != nil {
			return "", nil, fmt.Errorf("following HEAD: %w", err)
		}
	}
	return p.dir, p.env, nil
}

func (p *privateDir) make() (err error) {
	dir, err := p.from.scratch("git-")
	if err != nil {
		if dir, err = os.MkdirTemp("", "orch-git-"); err != nil { // a repository that cannot be written
			return err
		}
	}
	defer func() {
		if err != nil {
			err = private.Refused(errors.Join(err, drop(dir)))
		}
	}()
	for _, name := range []string{"info", ownFolder} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	shared := sharedNames()
	if p.from.lfs {
		if err := os.Mkdir(filepath.Join(p.from.commonDir, "lfs"), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		shared = append(shared, "lfs")
	}
	for _, name := range shared {
		if err := os.Symlink(filepath.Join(p.from.commonDir, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(p.from.format), 0o600); err != nil {
		return err
	}
	for name, content := range p.from.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return err
		}
	}
	p.dir = dir
	if err := p.writeHead(noHead); err != nil {
		return err
	}
	pairs := append(slices.Clone(p.from.pairs),
		[2]string{"core.attributesFile", filepath.Join(dir, globalAttributes)}, [2]string{"core.excludesFile", filepath.Join(dir, globalExcludes)})
	p.env = append(append(slices.Clone(p.from.base), configEnv(pairs)...), "GIT_OBJECT_DIRECTORY="+filepath.Join(p.from.commonDir, "objects"))
	p.seal = p.stamps()
	return nil
}

// sharedNames are what a private git directory shares with the repository.
func sharedNames() []string { return []string{"refs", "packed-refs", "logs"} }

// noHead stands where there is no HEAD that can be read; there is no such branch.
const noHead = "ref: refs/heads/.invalid"

func (p *privateDir) writeHead(head string) error {
	next := filepath.Join(p.dir, ownFolder, "HEAD")
	if err := os.WriteFile(next, []byte(head+"\n"), 0o600); err != nil {
		return err
	}
	p.head = head
	return os.Rename(next, filepath.Join(p.dir, "HEAD"))
}

// sealed reports whether the directory is as it was made.
func (p *privateDir) sealed() bool {
	now := p.stamps()
	for name, was := range p.seal {
		if now[name] != was {
			return false
		}
	}
	head, ok := readHead(p.dir)
	return ok && head == p.head
}

// stamps is how everything is that git could read, also what must not be there.
func (p *privateDir) stamps() map[string]stamp {
	all := map[string]stamp{}
	for _, name := range []string{"config", "config.worktree", "commondir", "info", "info/attributes", "info/exclude", "info/sparse-checkout", "refs", "packed-refs",
		"logs", "lfs", "hooks", "modules", "worktrees", "shallow", globalAttributes, globalExcludes} {
		all[name] = stampOf(filepath.Join(p.dir, name))
	}
	return all
}

func (p *privateDir) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.dir == "" {
		return nil
	}
	dir := p.dir
	p.dir = ""
	return removeBelow(dir)
}

// removeBelow removes a directory from the folder that it was made in. What stands in that
// folder's place by now is not waited for, and not followed.
func removeBelow(dir string) error {
	if info, err := os.Lstat(filepath.Dir(dir)); err != nil || !info.IsDir() {
		return nil
	}
	return drop(dir)
}

// readHead is the content of the HEAD in gitDir, if it is what one can have.
func readHead(gitDir string) (string, bool) {
	path := filepath.Join(gitDir, "HEAD")
	if target, err := os.Readlink(path); err == nil { // as git wrote it before 2005, and still reads
		return "ref: " + target, isRefName(target)
	}
	content, err := readRegular(path, maxSmall)
	if err != nil {
		return "", false
	}
	head := strings.TrimSpace(string(content))
	if target, symbolic := strings.CutPrefix(head, "ref:"); symbolic {
		target = strings.TrimSpace(target)
		return "ref: " + target, isRefName(target)
	}
	return head, objectID().MatchString(head)
}

// isRefName reports whether name is fit to be a path below a git directory; what else makes a
// name is git's to say.
func isRefName(name string) bool {
	return strings.HasPrefix(name, "refs/") && !strings.Contains(name, "..") && !strings.Contains(name, "//") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// maxSmall bounds a file that has one line, in bytes.
const maxSmall = 64 << 10

// Close removes what the repository has on disk of its own; it cannot be used any more. It may
// be called again, and fails when something cannot be removed.
func (r *Repo) Close() error {
	err := r.private.close()
	if rmErr := os.Remove(r.ScratchDir()); errors.Is(rmErr, fs.ErrPermission) {
		err = errors.Join(err, rmErr) // else it is in use, or was never made
	}
	return err
}

// Own is the path of a file that orch keeps for as long as the process goes, where no agent is
// told of: an index for example. It may be gone at the next call. It fails when there can be none.
func (r *Repo) Own(name string) (string, error) {
	dir, _, err := r.private.ready()
	return filepath.Join(dir, ownFolder, name), err
}

// Foreign is a repository that another has made, a submodule for example: its references
// and its commits can be read, and nothing of its configuration is. The caller closes it.
func (r *Repo) Foreign(gitDir string) *Repo {
	from := r.private.from
	from.gitDir, from.commonDir, from.lfs = gitDir, commonOf(gitDir), false
	from.format, from.files = formatOf(from.commonDir), map[string][]byte{}
	if shallow, err := readRegular(filepath.Join(from.commonDir, "shallow"), maxList); err == nil {
		from.files["shallow"] = onlyIDs(shallow)
	}
	of := *r
	of.private = &privateDir{from: from}
	return &of
}

// commonOf is the directory that has the references of the repository whose git directory this is.
func commonOf(gitDir string) string {
	link, err := readRegular(filepath.Join(gitDir, "commondir"), maxSmall)
	if err != nil {
		return gitDir
	}
	common := strings.TrimSuffix(string(link), "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return common
}
