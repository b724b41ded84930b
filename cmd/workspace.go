package cmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/config"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/worktree"
)

// What of orch's environment its children see. Nothing else does.
var (
	systemEnv = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_*", "TZ", "XDG_*", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	gitEnv    = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}
	toolEnv   = []string{"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOTOOLCHAIN", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "NODE_EXTRA_CA_CERTS"}
	netEnv    = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
)

// workspace is a repository with its settings and its tracker.
type workspace struct {
	*app
	repo    *git.Repo // nil where git was not asked
	sys     *proc.System
	cfg     config.Config
	origins config.Origins
	main    string // the main work tree; that of a bare repository is the repository
	dir     string // <git common dir>/orch
}

// open finds the repository and reads the settings. The tracker is opened when
// it is asked for.
func (a *app) open(ctx context.Context) (*workspace, error) {
	var err error
	w := &workspace{app: a}
	plain := proc.New(proc.Options{Now: a.Now})
	if w.repo, err = git.Open(ctx, plain.Run, a.Dir, a.Pick(append(systemEnv, gitEnv...)...)); err != nil {
		return nil, err
	}
	w.main, w.dir = cmp.Or(w.repo.WorkTree(), w.repo.CommonDir()), filepath.Join(w.repo.CommonDir(), "orch")
	w.sys = proc.New(proc.Options{Marker: w.marker(), Guard: a.Guard(), Now: a.Now})
	w.repo = w.repo.RunBy(w.sys.Run)
	w.cfg, w.origins, err = a.settings(w.root())
	return w, err
}

// glance is a workspace for a hook, which has no time to ask git: only the settings and
// the tracker can be read.
func (a *app) glance(root, common string) (*workspace, error) {
	w := &workspace{app: a, main: root, dir: filepath.Join(common, "orch"), sys: proc.New(proc.Options{Now: a.Now})}
	var err error
	w.cfg, w.origins, err = a.settings(root)
	return w, err
}

// marker is in the environment of every process that orch starts for this
// repository, so that a later run finds what a killed one left.
func (w *workspace) marker() string {
	sum := sha256.Sum256([]byte(filepath.Dir(w.dir)))
	return "ORCH_MARK=" + hex.EncodeToString(sum[:8])
}

// root is where project.yaml and .beads are: the main work tree.
func (w *workspace) root() string { return w.main }

const settingsFile = "project.yaml"

func (a *app) settings(root string) (config.Config, config.Origins, error) {
	path := filepath.Join(root, settingsFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return config.Config{}, nil, fmt.Errorf("reading the settings: %w", err)
	}
	agents, err := agentFiles(root)
	if err != nil {
		return config.Config{}, nil, err
	}
	return config.Load(path, data, a.Env, agents...)
}

// agentFiles are the definitions of agents that the repository has as files.
func agentFiles(root string) (files []config.AgentFile, err error) {
	paths, err := filepath.Glob(filepath.Join(root, ".claude", "agents", "*.md"))
	for _, path := range paths {
		text, readErr := os.ReadFile(path)
		if readErr != nil {
			return nil, fmt.Errorf("reading the agents: %w", readErr)
		}
		files = append(files, config.AgentFile{Path: path, Text: text})
	}
	return files, err
}

// epicDir is where an epic's journal, logs and requests are.
func (w *workspace) epicDir(epic core.TaskID) string {
	return filepath.Join(w.dir, "epics", slug.Of(string(epic)))
}

// tracker opens the one that the settings name: bd where it is installed and has
// a database here, else the embedded file.
func (w *workspace) tracker(ctx context.Context) (orchestrator.Tracker, error) {
	beadsDir, hasBD, _ := beads.Find(w.root())
	if w.usesBD() {
		return w.openBD(ctx, w.bdPath(), beadsDir)
	}
	if w.cfg.Tracker.Kind == "auto" && hasBD {
		return nil, &cli.Error{Code: "NO_BD", What: "the tasks here are kept by bd, and bd is not on PATH", Exit: cli.ExitNotReady,
			Fix: []string{"install bd, or use the embedded tracker: workflow.tracker.kind: file"}}
	}
	return w.files()
}

// usesBD reports whether the tracker is bd.
func (w *workspace) usesBD() bool {
	_, hasBD, _ := beads.Find(w.root())
	kind := w.cfg.Tracker.Kind
	return kind == "bd" || kind == "auto" && hasBD && w.bdPath() != ""
}

func (w *workspace) openBD(ctx context.Context, bd, beadsDir string) (orchestrator.Tracker, error) {
	if bd == "" {
		return nil, &cli.Error{Code: "NO_BD", What: "bd is not on PATH", Exit: cli.ExitNotReady, Why: "workflow.tracker.kind is bd",
			Fix: []string{"install bd, or use the embedded tracker: workflow.tracker.kind: file"}}
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making orch's folder: %w", err)
	}
	return beads.OpenBD(ctx, w.bdOptions(bd, beadsDir))
}

func (w *workspace) bdOptions(bd, beadsDir string) beads.BDOptions {
	return beads.BDOptions{
		Run: w.sys.Run, Binary: bd, Dir: w.root(), BeadsDir: beadsDir, Env: w.Pick(systemEnv...),
		Timeout: bdTimeout, Lock: filepath.Join(w.dir, "bd.lock"),
	}
}

// found is an epic with all that the tracker had when it was found.
type found struct {
	beads.Issue
	issues  []beads.Issue
	tracker orchestrator.Tracker
}

// findEpic looks an epic up in the tracker.
func (w *workspace) findEpic(ctx context.Context, id core.TaskID) (f found, err error) {
	if f.tracker, err = w.tracker(ctx); err != nil {
		return f, err
	}
	if f.issues, err = f.tracker.Survey(ctx); err != nil {
		return f, trackerError(err)
	}
	f.Issue, err = core.FindEpic(f.issues, id)
	return f, err
}

// survey reads the tracker once, as cheaply as can be.
func (w *workspace) survey(ctx context.Context) ([]beads.Issue, error) {
	if w.usesBD() {
		beadsDir, _, _ := beads.Find(w.root())
		return beads.SurveyBD(ctx, w.bdOptions(w.bdPath(), beadsDir))
	}
	t, err := w.tracker(ctx)
	if err != nil {
		return nil, err
	}
	return t.Survey(ctx)
}

// bdTimeout is how long one call of bd may take; it waits for ever by itself
// when another process holds its database.
const bdTimeout = 60 * time.Second

// files opens the embedded tracker.
func (w *workspace) files() (*beads.File, error) {
	beadsDir, _, _ := beads.Find(w.root())
	if beadsDir == "" {
		beadsDir = filepath.Join(w.root(), ".beads")
	}
	return beads.OpenFile(beads.FileOptions{Dir: beadsDir, Now: w.Now, Actor: w.person()})
}

// person is who gives the commands, as far as the environment tells.
func (w *workspace) person() string {
	for _, name := range []string{"BD_ACTOR", "BEADS_ACTOR", "GIT_AUTHOR_NAME", "USER", "LOGNAME"} {
		if v := w.Getenv(name); v != "" {
			return v
		}
	}
	return "person"
}

func (w *workspace) bdPath() string { return w.LookPath("bd") }

// tasksCommand is what agents and people type to see the tracker.
func (w *workspace) tasksCommand() string {
	if w.usesBD() {
		return "bd"
	}
	return "orch tasks"
}

// agentEnv is the whole environment of an agent: what the system and its tools
// need, a git identity, and what the settings let through.
func (w *workspace) agentEnv(ctx context.Context) []string {
	names := append(append(append(append([]string{"TERM"}, systemEnv...), gitEnv...), toolEnv...), netEnv...)
	if c, ok := clientOf(w.cfg.Agent.Harness); ok {
		names = append(names, c.env...)
	}
	env := w.Pick(append(names, w.cfg.Agent.Env...)...)
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false")
	if _, err := w.repo.Out(ctx, "var", "GIT_AUTHOR_IDENT"); err != nil || w.noIdentity(ctx) {
		env = append(env, "GIT_AUTHOR_NAME=orch", "GIT_AUTHOR_EMAIL=orch@localhost", "GIT_COMMITTER_NAME=orch", "GIT_COMMITTER_EMAIL=orch@localhost")
	}
	return env
}

// noIdentity reports whether git would refuse to commit for want of a name.
func (w *workspace) noIdentity(ctx context.Context) bool {
	if w.Getenv("GIT_AUTHOR_EMAIL") != "" && w.Getenv("GIT_COMMITTER_EMAIL") != "" {
		return false
	}
	_, err := w.repo.Out(ctx, "config", "user.email")
	return err != nil
}

// gateEnv is the whole environment of a gate's command.
func (w *workspace) gateEnv() []string {
	return w.Pick(append(append(append(append([]string{}, systemEnv...), toolEnv...), netEnv...), w.cfg.Agent.Env...)...)
}

// store is the epic's worktrees and branches.
func (w *workspace) store(epic core.TaskID) (*worktree.Store, error) {
	root := w.cfg.Worktree.Dir
	switch {
	case root == "":
		root = w.besides()
	case !filepath.IsAbs(root):
		root = filepath.Join(w.root(), root)
	}
	return worktree.Open(worktree.Options{
		Repo: w.repo, Root: filepath.Join(root, slug.Of(string(epic))), Epic: string(epic),
		Lock: filepath.Join(w.dir, "worktree.lock"), Run: w.sys.Run, Now: w.Now,
	})
}

// besides is the folder next to the repository that holds worktrees by default.
func (w *workspace) besides() string { return w.root() + ".worktrees" }

// giveBack closes the epic, and takes the default folder of worktrees away when
// that was the last one in it.
func (w *workspace) giveBack(ctx context.Context, o *orchestrator.Orchestrator) error {
	err := o.Close(ctx)
	if w.cfg.Worktree.Dir != "" {
		return err
	}
	rm := os.Remove(w.besides())
	if errors.Is(rm, os.ErrNotExist) || errors.Is(rm, syscall.ENOTEMPTY) || errors.Is(rm, syscall.EEXIST) {
		rm = nil
	}
	return errors.Join(err, rm)
}

// deps is all that an Orchestrator of the epic works with.
func (w *workspace) deps(ctx context.Context, epic core.TaskID, t orchestrator.Tracker) (orchestrator.Deps, error) {
	store, err := w.store(epic)
	if err != nil {
		return orchestrator.Deps{}, err
	}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return orchestrator.Deps{}, fmt.Errorf("making orch's folder: %w", err)
	}
	return orchestrator.Deps{
		Epic: epic, Dir: w.epicDir(epic), Tracker: t, Repo: w.repo, Store: store, Proc: w.sys, Marker: w.marker(),
		Gate: w.cfg.Gate, AgentEnv: w.agentEnv(ctx), GateEnv: w.gateEnv(), Rules: w.agentRules(), Limits: w.limits(epic),
		Patience: orchestrator.Patience{Task: w.cfg.Limits.TaskTime, NoProgress: w.cfg.Limits.NoProgress},
		Tasks:    w.tasksCommand(), Now: w.Now,
	}, nil
}

func (w *workspace) limits(epic core.TaskID) core.Limits {
	run, cap := w.cfg.Run, w.cfg.Limits
	byAgent := agentIterations(w.cfg.Agents)
	return core.Limits{
		MaxParallel: run.MaxParallel, Attempts: run.Attempts, Iterations: byAgent[core.DefaultAgent], ByAgent: byAgent, MaxIterations: run.MaxIterations,
		MaxDuration: run.MaxDuration, MaxFailures: run.MaxConsecutiveFailures, MaxCostUSD: cap.CostUSD, MaxTokens: cap.Tokens,
		SurveyEvery: 5 * time.Second, Resumes: w.cfg.Agent.Harness != "command", Into: run.Into,
		Actor:       core.ActorPrefix + string(epic) + "/" + rand.Text()[:8],
		PoolBackOff: 30 * time.Second, CrashBackOff: time.Second, BreakerBackOff: 10 * time.Second,
	}
}

// agentRules are the rules that agents' definitions name, of those of the gate.
func (w *workspace) agentRules() map[string][]validation.Rule {
	rules := map[string][]validation.Rule{}
	for name, d := range w.cfg.Agents {
		for _, r := range w.cfg.Gate {
			if d.Enabled && slices.Contains(d.ValidationRules, r.Name) {
				rules[name] = append(rules[name], r)
			}
		}
	}
	return rules
}

// agentIterations is how often each agent may go on in one attempt.
func agentIterations(agents map[string]config.Definition) map[string]int {
	out := map[string]int{}
	for name, d := range agents {
		out[name] = d.Iterations()
	}
	return out
}

// epics lists the epics that orch has a journal of, newest first.
func (w *workspace) epics() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(w.dir, "epics"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for epics: %w", err)
	}
	var dirs []string
	newest := map[string]time.Time{}
	for _, e := range entries {
		dir := filepath.Join(w.dir, "epics", e.Name())
		info, err := os.Stat(filepath.Join(dir, "journal.jsonl"))
		if err != nil {
			continue
		}
		dirs = append(dirs, dir)
		newest[dir] = info.ModTime()
	}
	slices.SortFunc(dirs, func(a, b string) int { return newest[b].Compare(newest[a]) })
	return dirs, nil
}
