package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Call is one run of git.
type Call struct {
	// Args is the command with its arguments, without "git" and without global options.
	Args []string
	// Stdin is what git reads.
	Stdin []byte
	// WorkTree is the work tree, and the working directory; empty means that there is none, and git
	// refuses what needs one.
	WorkTree string
	// At, where it is set, is the work tree, open: git works in that very directory, whatever is at
	// its path by then.
	At *os.File
	// Index is the index file; empty means one that does not exist.
	Index string
	// Env is added to the environment; it may set what the package itself has set.
	Env []string
}

// Do runs git, in a git directory of orch's own; nothing that is configured in the repository
// now, or in a work tree, has any effect. It fails with a [*command.ExitError], with a
// Result that is valid all the same, or as the runner does, or when there can be no such directory.
func (r *Repo) Do(ctx context.Context, c Call) (command.Result, error) {
	dir, base, err := r.private.ready()
	if err != nil {
		return command.Result{}, err
	}
	args, cwd := []string{"--git-dir=" + dir}, filepath.Join(dir, ownFolder)
	switch {
	case c.At != nil && handles:
		cwd, args = fmt.Sprintf("/proc/self/fd/%d", c.At.Fd()), append(args, "--work-tree=.")
	case c.WorkTree != "":
		cwd, args = c.WorkTree, append(args, "--work-tree="+c.WorkTree)
	}
	index := c.Index
	if index == "" {
		index = filepath.Join(dir, ownFolder, "no-index")
	}
	env := append(slices.Concat(base, c.Env), "GIT_INDEX_FILE="+index)
	res, err := r.start(ctx, command.Cmd{Dir: cwd, Env: env, Stdin: c.Stdin}, append(args, c.Args...)...)
	runtime.KeepAlive(c.At)
	return res, r.named(dir, err)
}

// named has git's words name the files of the repository, and not the links to them in the git directory of orch's own.
func (r *Repo) named(dir string, err error) error {
	var exit *command.ExitError
	if errors.As(err, &exit) {
		for _, link := range sharedNames() {
			exit.Stderr = strings.ReplaceAll(exit.Stderr, filepath.Join(dir, link), filepath.Join(r.private.from.commonDir, link))
		}
	}
	return err
}

// handles says that a process can be started in a directory that is open.
const handles = runtime.GOOS == "linux"

// quietTimeout is how long a git may neither print anything nor use processor time before it is ended: it waits for a pipe
// that was planted, or for a file system whose server is gone.
const quietTimeout = 3 * time.Minute

// start is the one place where a command line of git is made.
func (r *Repo) start(ctx context.Context, c command.Cmd, args ...string) (command.Result, error) {
	c.Argv = append([]string{"git"}, args...)
	c.Quiet = quietTimeout
	if readsOnly(args) { // a pipe that it waits for may have been taken away by the time that it is asked again
		c.Quiet = firstQuietTimeout
	}
	c.Bound = !slices.Contains(args, "update-ref") // its transaction is whole or not begun, whichever process dies
	res, err := r.run(ctx, c)
	var quiet *command.QuietError
	if c.Quiet == firstQuietTimeout && errors.As(err, &quiet) && quiet.After >= firstQuietTimeout {
		c.Quiet = quietTimeout
		return r.run(ctx, c)
	}
	return res, err
}

// firstQuietTimeout is quietTimeout for a command that changes nothing, the first time.
const firstQuietTimeout = 10 * time.Second

// readsOnly reports whether a command line is of a git that can be asked again.
func readsOnly(args []string) bool {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			return slices.Contains([]string{"rev-parse", "for-each-ref", "rev-list", "merge-base", "merge-tree", "cat-file", "log", "ls-tree", "diff-tree", "ls-files"}, arg)
		}
	}
	return false
}

// Plain runs git in dir as a person would, and what is configured there runs. It is for a
// repository that its caller has made itself, and never for one that others work in. It fails as Do does.
func Plain(ctx context.Context, run command.Runner, dir string, env []string, args ...string) error {
	_, err := (&Repo{run: run}).start(ctx, command.Cmd{Dir: dir, Env: env}, args...)
	return err
}

// Out runs git on the repository, without a work tree, and returns what it printed
// without the last newline. It fails as Do does.
func (r *Repo) Out(ctx context.Context, args ...string) (string, error) {
	res, err := r.Do(ctx, Call{Args: args})
	return strings.TrimSuffix(string(res.Stdout), "\n"), err
}

// graphDepth is how many commits are read to see whether a commit-graph can be.
const graphDepth = 100

// DamagedGraph reports whether git fails at the commit-graph of the repository, on the way from a
// commit to those before it, and describes that in a clause. Orch's own git reads none, but others do.
func (r *Repo) DamagedGraph(ctx context.Context, c Commit) (why string, ok bool) {
	info := filepath.Join(r.commonDir, "objects", "info")
	there := slices.ContainsFunc([]string{"commit-graph", "commit-graphs"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(info, name))
		return err == nil
	})
	if !there {
		return "", false
	}
	walk := func(graph string) error {
		_, err := r.Do(ctx, Call{Args: []string{"log", "-n", strconv.Itoa(graphDepth), "--no-show-signature", "--format=%H", "--end-of-options", string(c)},
			Env: []string{"GIT_CONFIG_PARAMETERS='core.commitgraph=" + graph + "'"}}) // which counts after GIT_CONFIG_COUNT
		return err
	}
	with := walk("true")
	var exit *command.ExitError
	if !errors.As(with, &exit) || walk("false") != nil {
		return "", false
	}
	return "git cannot read the commit-graph in " + info + " (" + text.Clause(with.Error(), maxClause) + "); remove it, and git commit-graph write makes it anew", true
}

// maxClause is how much of git's words is put into a clause, in cells.
const maxClause = 200

// fixedSettings apply to every git that orch starts, and to what that git starts.
func fixedSettings() [][2]string {
	return [][2]string{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.fsync", "committed,reference"},
		{"core.safecrlf", "false"},            // which has git refuse files that an agent has written
		{"core.commitGraph", "false"},         // a file that says what commits are, beside them
		{"core.filesRefLockTimeout", "10000"}, // ms that a lock of someone else is waited for
		{"core.packedRefsTimeout", "10000"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"submodule.recurse", "false"},
		{"commit.gpgSign", "false"},
		{"advice.detachedHead", "false"},
	}
}

// baseEnv is base without what would redirect or translate git, and with what forbids it to
// ask anyone, to fetch anything, and to read any configuration but that of its call.
func baseEnv(base []string) []string {
	env := plainEnv(base, func(string) bool { return false })
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
}

// openEnv is the environment of those few gits that read the person's configuration, which
// find the repository and run nothing.
func openEnv(base []string) []string {
	env := plainEnv(base, func(name string) bool {
		return name == "GIT_CONFIG_GLOBAL" || name == "GIT_CONFIG_SYSTEM" || name == "GIT_CONFIG_NOSYSTEM"
	})
	return append(env, configEnv(fixedSettings())...)
}

func plainEnv(base []string, allowed func(name string) bool) (env []string) {
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GIT_") && !allowed(name) || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" {
			continue
		}
		env = append(env, entry)
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=:", "GIT_PAGER=cat",
		"GIT_IMPLICIT_WORK_TREE=0", // the working directory is never taken for a work tree
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_REPLACE_OBJECTS=1") // an object is what its id says
}

// configEnv hands settings to git by its environment, the last of the same key counting.
func configEnv(pairs [][2]string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs))}
	for i, s := range pairs {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}
