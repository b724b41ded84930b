package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/object"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Commit is the full id of an object, of a commit unless stated otherwise.
type Commit = object.Commit

// Repo is a repository. It is safe for concurrent use.
type Repo struct {
	run       command.Runner
	openEnv   []string // while the person's configuration is read
	env       []string // without configuration
	commonDir string
	workTree  string
	drivers   []Driver
	partial   bool // a clone that has left objects at its remote
	private   *privateDir
	settings  []setting // as they were when it was opened
}

// oldest is the first git that has merge-tree --write-tree.
const oldestMajor, oldestMinor = 2, 38

var versionLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^git version (\d+)\.(\d+)`) })

// Open finds the repository that holds dir, which may be a linked worktree, a directory
// below one, or a bare repository. env is the environment that git gets, of whose GIT_* only
// what says where the person's configuration is counts. The configuration, attributes and
// excludes are read now and never again: whatever is written there afterwards changes nothing
// for this Repo (see [Repo.Drivers]). The caller closes it.
// It fails with [ErrNotRepository], or with an [*UnsupportedError] when git is missing or
// older than 2.38, when git does not trust the owner of the repository, or when its
// references are not kept in files.
func Open(ctx context.Context, run command.Runner, dir string, env []string) (*Repo, error) {
	r := &Repo{run: run, openEnv: openEnv(env), env: baseEnv(env)}
	if err := r.checkVersion(ctx); err != nil {
		return nil, err
	}
	top, err := r.discover(ctx, dir)
	if err != nil {
		return nil, err
	}
	return r, r.configure(ctx, top)
}

// RunBy is the same repository, with another runner of its git processes; closing one closes both.
func (r *Repo) RunBy(run command.Runner) *Repo {
	c := *r
	c.run = run
	return &c
}

// CommonDir is the directory that all worktrees share, absolute, with symlinks resolved.
func (r *Repo) CommonDir() string { return r.commonDir }

// WorkTree is the main work tree, the user's; empty when the repository is bare.
func (r *Repo) WorkTree() string { return r.workTree }

func (r *Repo) checkVersion(ctx context.Context) error {
	const fix = "install git 2.38 or later"
	res, err := r.start(ctx, command.Cmd{Env: r.openEnv}, "version")
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if _, machine := fault.Machine(err); machine {
			return fmt.Errorf("starting git: %w", err)
		}
		var exit *command.ExitError
		if errors.As(err, &exit) && strings.Contains(exit.Stderr, "config") {
			return brokenConfig(exit)
		}
		return &UnsupportedError{Reason: "git does not run: " + err.Error(), Fix: fix}
	}
	m := versionLine().FindSubmatch(res.Stdout)
	if m == nil {
		return &UnsupportedError{Reason: fmt.Sprintf("git says that it is %q", text.FirstLine(string(res.Stdout), "")), Fix: fix}
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return &UnsupportedError{Reason: fmt.Sprintf("git is %d.%d, which has no merge-tree --write-tree", major, minor), Fix: fix}
	}
	return nil
}

// discover fills in the common directory; top is the work tree when dir is in the main one.
func (r *Repo) discover(ctx context.Context, dir string) (top string, err error) {
	if path := blockingAbove(dir); path != "" {
		return "", &UnsupportedError{Reason: path + " is no plain file, and git would wait for it", Fix: "rm " + path}
	}
	at := func(args ...string) (command.Result, error) {
		return r.start(ctx, command.Cmd{Dir: dir, Env: r.openEnv}, append([]string{"rev-parse", "--path-format=absolute"}, args...)...)
	}
	res, err := at("--git-common-dir", "--git-dir", "--show-toplevel")
	if lines := strings.Split(string(res.Stdout), "\n"); err == nil && len(lines) == 4 {
		own, err := r.shares(lines[0], lines[1])
		if !own {
			return "", err
		}
		return lines[2], nil
	}
	res, err = at("--git-common-dir", "--git-dir") // each by itself: to say what is wrong, or that there is no work tree
	if err != nil {
		return "", discoveryError(dir, err)
	}
	common, gitDir, _ := strings.Cut(strings.TrimSuffix(string(res.Stdout), "\n"), "\n")
	if strings.Count(string(res.Stdout), "\n") != 2 { // git separates paths by newlines, here and elsewhere
		alone, err := at("--git-common-dir")
		if err != nil {
			return "", discoveryError(dir, err)
		}
		return "", &UnsupportedError{Reason: fmt.Sprintf("the path of the repository has a line break: %q", strings.TrimSuffix(string(alone.Stdout), "\n")),
			Fix: "rename the folder whose name has it"}
	}
	if own, err := r.shares(common, gitDir); !own {
		return "", err
	}
	res, err = at("--show-toplevel")
	var exit *command.ExitError
	if errors.As(err, &exit) && fault.Of(err) == nil { // bare, or inside the git directory
		return "", nil
	}
	return strings.TrimSuffix(string(res.Stdout), "\n"), err
}

// shares fills in the common directory, and reports whether gitDir is it, as it is outside of linked worktrees.
func (r *Repo) shares(common, gitDir string) (bool, error) {
	var err error
	if r.commonDir, err = filepath.EvalSymlinks(common); err != nil {
		return false, fmt.Errorf("resolving the git directory: %w", err)
	}
	own, err := filepath.EvalSymlinks(gitDir)
	return err == nil && own == r.commonDir, err
}

func discoveryError(dir string, err error) error {
	var exit *command.ExitError
	switch {
	case !errors.As(err, &exit), fault.Of(err) != nil:
		return err
	case strings.Contains(exit.Stderr, "dubious ownership"):
		return &UnsupportedError{Reason: "git does not trust " + dir + ", which belongs to someone else",
			Fix: "git config --global --add safe.directory " + dir}
	case strings.Contains(exit.Stderr, "not a git repository"):
		if at := closedAbove(dir); at != "" {
			return &UnsupportedError{Reason: "git does not take " + at + " for a repository: it is damaged, or closed to you", Fix: "ls -la " + at}
		}
		return fmt.Errorf("%s: %w", dir, ErrNotRepository)
	case strings.Contains(exit.Stderr, "bad config") || strings.Contains(exit.Stderr, "bad numeric config") || strings.Contains(exit.Stderr, "bad boolean config"):
		return brokenConfig(exit)
	case strings.Contains(exit.Stderr, "extension"): // "unknown repository extension found"
		return &UnsupportedError{Reason: exit.Error(), Fix: "install a newer git"}
	}
	return exit
}

// mainWorkTree is where the main checkout is, without asking git for the list of
// worktrees: one half-made worktree makes that fail for the whole repository.
func mainWorkTree(common, top, setting string, bare bool) string {
	switch {
	case top != "":
		return top
	case setting != "":
		if !filepath.IsAbs(setting) {
			setting = filepath.Join(common, setting)
		}
		return filepath.Clean(setting)
	case !bare && filepath.Base(common) == ".git":
		return filepath.Dir(common)
	}
	return ""
}

// closedAbove is what looks like a git directory, at dir or above; empty where there is none.
func closedAbove(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		info, err := os.Lstat(at)
		if err == nil && info.IsDir() {
			_, err = os.Lstat(filepath.Join(at, "HEAD"))
		}
		if err == nil || errors.Is(err, fs.ErrPermission) {
			return at
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// blockingAbove is what git would wait for as it finds the repository that holds dir; empty where there is none.
func blockingAbove(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"", "HEAD", "config", "config.worktree", "commondir"} {
			at := filepath.Join(dir, ".git", name)
			if info, err := os.Stat(at); err == nil && Special(info.Mode()) {
				return at
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// brokenConfig is for a configuration that git refuses to read; git names the file and the line.
func brokenConfig(exit *command.ExitError) error {
	return &UnsupportedError{Reason: "git cannot read its configuration: " + text.FirstLine(strings.TrimPrefix(exit.Stderr, "fatal: "), ""),
		Fix: "mend the line that git names; git config --list tells whether it is right then"}
}
