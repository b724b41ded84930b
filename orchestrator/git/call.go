package git

import (
	"context"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/orchestrator/proc"
)

// Call is one run of git.
type Call struct {
	// Args is the command with its arguments, without "git" and without global options.
	Args []string
	// Stdin is what git reads.
	Stdin []byte
	// Dir is the working directory; empty means the work tree, or the git directory without one.
	Dir string
	// GitDir is the git directory; empty means the repository's common one.
	GitDir string
	// WorkTree is the work tree; empty means that there is none, and git refuses what needs one.
	WorkTree string
	// Env is added to the environment; it may set what the package itself has set.
	Env []string
}

// Do runs git. It fails with a [*proc.ExitError], with a Result that is valid all the
// same, or as the runner does.
func (r *Repo) Do(ctx context.Context, c Call) (proc.Result, error) {
	gitDir, dir := c.GitDir, c.Dir
	if gitDir == "" {
		gitDir = r.commonDir
	}
	if dir == "" {
		dir = c.WorkTree
	}
	if dir == "" {
		dir = gitDir
	}
	argv := []string{"git", "--git-dir=" + gitDir}
	if c.WorkTree != "" {
		argv = append(argv, "--work-tree="+c.WorkTree)
	}
	env := append(append(make([]string, 0, len(r.env)+len(c.Env)), r.env...), c.Env...)
	return r.run(ctx, proc.Cmd{Dir: dir, Argv: append(argv, c.Args...), Env: env, Stdin: c.Stdin})
}

// Out runs git on the repository, without a work tree, and returns what it printed
// without the last newline. It fails as Do does.
func (r *Repo) Out(ctx context.Context, args ...string) (string, error) {
	res, err := r.Do(ctx, Call{Args: args})
	return strings.TrimSuffix(string(res.Stdout), "\n"), err
}

// settings are in force for every git that orch starts, and for what that git starts.
func settings() [][2]string {
	return [][2]string{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.fsync", "committed,reference"},
		{"core.filesRefLockTimeout", "10000"}, // ms that a lock of someone else is waited for
		{"core.packedRefsTimeout", "10000"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"submodule.recurse", "false"},
		{"commit.gpgSign", "false"},
		{"advice.detachedHead", "false"},
	}
}

// baseEnv is the environment of every git: base without what would redirect or translate it.
func baseEnv(base []string) []string {
	var env []string
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" {
			continue
		}
		env = append(env, entry)
	}
	env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_EDITOR=:",
		"GIT_IMPLICIT_WORK_TREE=0", // the working directory is never taken for a work tree
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings())))
	for i, s := range settings() {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}
