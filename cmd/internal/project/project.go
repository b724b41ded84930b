// Package project is a repository with its settings: what they are, where orch keeps its own
// things, and which environment is passed on.
package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Project is a repository with its settings.
type Project struct {
	// Invocation is the invocation that it was opened by.
	Invocation *cli.Invocation
	// Repo is the repository; nil where git was not asked.
	Repo *git.Repo
	// Proc starts processes here.
	Proc *proc.System
	// Config is the settings.
	Config config.Config
	// Origins says where each setting comes from.
	Origins config.Origins
	// Broken is why the settings are not all that somebody wrote: a file or a variable of them
	// cannot be read, and Config goes by the others. It is nil where all can be.
	Broken error
	// Kinds are the engines and trackers that the settings may name.
	Kinds config.Kinds
	// Root is where project.yaml and .beads are: the main work tree, or a bare repository
	// itself.
	Root string
	// Home is the folder of orch's own, in the git directory that all work trees share.
	Home string
	// Hasty says that there is no time, as in a hook.
	Hasty bool
}

// Open finds the repository that holds the process's folder, and reads the settings, which may name
// these kinds. It fails where there is no repository that orch can
// work in, and with a [*config.Error].
func Open(ctx context.Context, a *cli.Invocation, kinds config.Kinds) (*Project, error) {
	p, err := openProject(ctx, a, kinds)
	if err != nil {
		return p, err
	}
	return p, p.Broken
}

// Read is Open for a command that runs nothing by the settings: those that cannot be read do
// not keep it from its work, and it says so on standard error.
func Read(ctx context.Context, a *cli.Invocation, kinds config.Kinds) (*Project, error) {
	p, err := openProject(ctx, a, kinds)
	if err != nil {
		return p, err
	}
	p.warnBroken()
	return p, nil
}

// why is why the settings are broken.
func (p *Project) why() string {
	if why, ok := fault.Machine(p.Broken); ok {
		return why
	}
	return p.Broken.Error()
}

// warnBroken says that the settings cannot be read, and why.
func (p *Project) warnBroken() {
	if p.Broken != nil {
		p.Invocation.Warn("the settings are broken, and this goes without them: " + text.Head(p.why()))
	}
}

func openProject(ctx context.Context, a *cli.Invocation, kinds config.Kinds) (*Project, error) {
	var err error
	p := &Project{Invocation: a, Kinds: kinds}
	plain := a.System("")
	if p.Repo, err = git.Open(ctx, plain.Run, a.Dir, systemEnv(a.Process, gitNames()...)); err != nil {
		return nil, err
	}
	a.OnEnd(func() { _ = p.Repo.Close() }) // what is left is removed by a later run
	p.Root, p.Home = cmp.Or(p.Repo.WorkTree(), p.Repo.CommonDir()), filepath.Join(p.Repo.CommonDir(), "orch")
	p.Proc = a.System(p.Marker())
	p.Repo = p.Repo.RunBy(p.Proc.Run)
	p.settle()
	return p, a.AddSecrets(p.Config.Secrets)
}

// ReadSettings reads the settings as they are now. It fails as [Settings] does.
func (p *Project) ReadSettings() (config.Config, config.Origins, error) {
	return Settings(p.Invocation.Process, p.Root, p.Kinds)
}

// settle reads the settings, or takes what holds without those that cannot be read.
func (p *Project) settle() {
	if p.Config, p.Origins, p.Broken = p.ReadSettings(); p.Broken == nil {
		return
	}
	own, _ := ownFile(p.Invocation.Process, p.Root)
	repo, _ := settingsFile(filepath.Join(p.Root, SettingsFile))
	none := config.File{}
	for _, env := range [][]string{p.Invocation.Env, nil} { // a variable may be what is broken
		for _, files := range [][2]config.File{{own, repo}, {none, repo}, {own, none}, {none, none}} {
			var err error
			from := config.Sources{Own: files[0], Repo: files[1], Env: env, Kinds: p.Kinds}
			if p.Config, p.Origins, err = from.Load(); err == nil {
				return
			}
		}
	}
}

// OpenForHook is a project for a hook, which has no time to ask git: only the settings
// can be read. Settings that cannot be read it does without, and says so on standard
// error.
func OpenForHook(a *cli.Invocation, root, common string, kinds config.Kinds) *Project {
	p := &Project{Invocation: a, Kinds: kinds, Root: root, Home: filepath.Join(common, "orch"), Proc: a.QuickSystem(), Hasty: true}
	p.settle()
	p.warnBroken()
	if err := a.AddSecrets(p.Config.Secrets); err != nil {
		fmt.Fprintf(p.Invocation.Stderr, "warning: %s\n", text.Head(err.Error()))
	}
	return p
}

// Marker is in the environment of every process that orch starts for this repository, so
// that a later run finds what a killed one left.
func (p *Project) Marker() string {
	sum := sha256.Sum256([]byte(filepath.Dir(p.Home)))
	return cli.MarkName + "=" + hex.EncodeToString(sum[:8])
}

// Worktrees is the folder that holds the worktrees of all epics.
func (p *Project) Worktrees() string {
	switch root := p.Config.Worktree.Dir; {
	case root == "":
		return p.Besides()
	case filepath.IsAbs(root):
		return root
	default:
		return filepath.Join(p.Root, root)
	}
}

// Besides is the folder next to the repository that holds worktrees by default.
func (p *Project) Besides() string { return p.Root + ".worktrees" }
