// Package workspace is a repository with its settings, its tracker and its epics.
package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Workspace is a repository with its settings and its tracker.
type Workspace struct {
	*cli.App
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
	// Root is where project.yaml and .beads are: the main work tree, or a bare repository
	// itself.
	Root string
	// Home is the folder of orch's own, in the git directory that all work trees share.
	Home string

	hasty bool // there is no time
}

// Open finds the repository that holds the process's folder, and reads the settings. The
// tracker is opened when it is asked for. It fails where there is no repository that orch can
// work in, and with a [*config.Error].
func Open(ctx context.Context, a *cli.App) (*Workspace, error) {
	w, err := open(ctx, a)
	if err != nil {
		return w, err
	}
	return w, w.Broken
}

// Read is Open for a command that runs nothing by the settings: those that cannot be read do
// not keep it from its work, and it says so on standard error.
func Read(ctx context.Context, a *cli.App) (*Workspace, error) {
	w, err := open(ctx, a)
	if err != nil {
		return w, err
	}
	w.warnBroken()
	return w, nil
}

// warnBroken says that the settings cannot be read, and why.
func (w *Workspace) warnBroken() {
	if w.Broken != nil {
		w.Warn("the settings are broken, and this goes without them: " + cli.FirstLine(explain.Error(w.Broken).What))
	}
}

func open(ctx context.Context, a *cli.App) (*Workspace, error) {
	var err error
	w := &Workspace{App: a}
	plain := a.System("")
	if w.Repo, err = git.Open(ctx, plain.Run, a.Dir, systemEnv(a.Process, gitNames()...)); err != nil {
		return nil, err
	}
	a.AtEnd(func() { _ = w.Repo.Close() }) // what is left is removed by a later run
	w.Root, w.Home = cmp.Or(w.Repo.WorkTree(), w.Repo.CommonDir()), filepath.Join(w.Repo.CommonDir(), "orch")
	w.Proc = a.System(w.Marker())
	w.Repo = w.Repo.RunBy(w.Proc.Run)
	w.settle()
	return w, a.AlsoSecret(w.Config.Secrets)
}

// settle reads the settings, or takes what holds without those that cannot be read.
func (w *Workspace) settle() {
	if w.Config, w.Origins, w.Broken = Settings(w.Process, w.Root); w.Broken == nil {
		return
	}
	own, _ := ownFile(w.Process, w.Root)
	repo, _ := settingsFile(filepath.Join(w.Root, SettingsFile))
	none := config.File{}
	for _, env := range [][]string{w.Env, nil} { // a variable may be what is broken
		for _, files := range [][2]config.File{{own, repo}, {none, repo}, {own, none}, {none, none}} {
			var err error
			if w.Config, w.Origins, err = config.LoadBoth(files[0], files[1], env); err == nil {
				return
			}
		}
	}
}

// Glance is a workspace for a hook, which has no time to ask git: only the settings and the
// tracker can be read. Settings that cannot be read it does without, and says so on standard
// error.
func Glance(a *cli.App, root, common string) *Workspace {
	w := &Workspace{App: a, Root: root, Home: filepath.Join(common, "orch"), Proc: a.Hasty(), hasty: true}
	w.settle()
	w.warnBroken()
	if err := a.AlsoSecret(w.Config.Secrets); err != nil {
		fmt.Fprintf(w.Stderr, "warning: %s\n", cli.FirstLine(err.Error()))
	}
	return w
}

// Marker is in the environment of every process that orch starts for this repository, so
// that a later run finds what a killed one left.
func (w *Workspace) Marker() string {
	sum := sha256.Sum256([]byte(filepath.Dir(w.Home)))
	return cli.MarkName + "=" + hex.EncodeToString(sum[:8])
}

// SettingsFile is where the settings are, in the main work tree.
const SettingsFile = "project.yaml"

// maxSettings bounds the file of the settings, in bytes.
const maxSettings = 1 << 20

// Settings reads the settings of the repository whose main work tree is root. It fails with
// a [*config.Error] for what is not understood, and when a file cannot be read.
func Settings(p cli.Process, root string) (config.Config, config.Origins, error) {
	repo, err := settingsFile(filepath.Join(root, SettingsFile))
	if err != nil {
		return config.Config{}, nil, err
	}
	own, err := ownFile(p, root)
	if err != nil {
		return config.Config{}, nil, err
	}
	agents, err := agentFiles(root)
	if err != nil {
		return config.Config{}, nil, err
	}
	return config.LoadBoth(own, repo, p.Env, agents...)
}

// ownFile reads a person's own settings, which need not be there.
func ownFile(p cli.Process, root string) (config.File, error) {
	path := OwnSettings(p, root)
	if path == "" {
		return config.File{}, nil
	}
	own, err := settingsFile(path)
	own.Name = path
	return own, err
}

// OwnSettings is where a person has settings of their own, for all repositories; "" where
// the environment does not say. A place within one of the repository's folders is not the
// person's, and does not count.
func OwnSettings(p cli.Process, root string) string {
	dir := PersonDir(p, "XDG_CONFIG_HOME", ".config", root)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "orch", "config.yaml")
}

// PersonDir is a folder of the person's: the value of a variable of the XDG base directories,
// or the default below HOME; "" where neither is usable. What is not absolute, or lies below
// one of the folders in not, once links are followed, is passed over.
func PersonDir(p cli.Process, variable, below string, not ...string) string {
	dirs := []string{p.Getenv(variable)}
	if home := p.Getenv("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, below))
	}
	for _, dir := range dirs {
		inside := slices.ContainsFunc(not, func(folder string) bool { return folder != "" && within(dir, folder) })
		if filepath.IsAbs(dir) && !inside {
			return filepath.Clean(dir)
		}
	}
	return ""
}

// within reports whether a path is a folder, or is or will be below it.
func within(path, folder string) bool {
	path, folder = existing(path), existing(folder)
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// existing is a path with its links resolved, as far as it is there.
func existing(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(existing(up), filepath.Base(path))
	}
	return path
}

// settingsFile reads a file with settings, which need not be there.
func settingsFile(path string) (config.File, error) {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return config.File{}, &config.Error{File: path, What: "is no plain file", Fix: "put the settings into a file of that name, or take it away"}
	case err == nil && info.Size() > maxSettings:
		return config.File{}, &config.Error{File: path, What: fmt.Sprintf("has %d bytes, and settings have %d at most", info.Size(), maxSettings), Fix: "look what wrote it"}
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrPermission) {
		return config.File{}, &config.Error{File: path, What: "cannot be read: permission denied", Fix: "chmod u+r " + path}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return config.File{}, fmt.Errorf("reading the settings: %w", err)
	}
	return config.File{Path: path, Text: data}, nil
}

// maxAgentFile bounds the definition of an agent, in bytes.
const maxAgentFile = 1 << 20

// agentFiles are the definitions of agents that the repository has as files. What is no plain
// file, or too large, defines nothing: a hook must not wait for it.
func agentFiles(root string) (files []config.AgentFile, err error) {
	paths, err := filepath.Glob(filepath.Join(root, config.AgentsFolder, "*.md"))
	for _, path := range paths {
		if info, statErr := os.Stat(path); statErr != nil || !info.Mode().IsRegular() || info.Size() > maxAgentFile {
			continue
		}
		text, readErr := os.ReadFile(path)
		if readErr != nil {
			return nil, fmt.Errorf("reading the agents: %w", readErr)
		}
		files = append(files, config.AgentFile{Path: path, Text: text})
	}
	return files, err
}

// EpicDir is where an epic's journal, logs and requests are.
func (w *Workspace) EpicDir(epicID epic.TaskID) string {
	return filepath.Join(w.Home, "epics", slug.Of(string(epicID)))
}

// Epics lists the folders of the epics that orch has a journal of, newest first. It fails
// when they cannot be listed.
func (w *Workspace) Epics() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(w.Home, "epics"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for epics: %w", err)
	}
	var dirs []string
	newest := map[string]time.Time{}
	for _, e := range entries {
		dir := filepath.Join(w.Home, "epics", e.Name())
		info, err := os.Lstat(filepath.Join(dir, journal.File))
		if err != nil || info.Mode().IsRegular() && info.Size() == 0 { // a run that got no further
			continue
		}
		dirs = append(dirs, dir)
		newest[dir] = info.ModTime()
	}
	slices.SortFunc(dirs, func(a, b string) int { return newest[b].Compare(newest[a]) })
	return dirs, nil
}

// Emptied lists the folders of epics whose journal is empty or gone, though there was one, and that nobody has mended: the
// reference to the tip of the branch is made after the first record. It fails as [Workspace.Epics] and git do.
func (w *Workspace) Emptied(ctx context.Context) (dirs []string, err error) {
	entries, err := os.ReadDir(filepath.Join(w.Home, "epics"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for epics: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(w.Home, "epics", e.Name())
		if info, err := os.Lstat(filepath.Join(dir, journal.File)); !e.IsDir() || err == nil && (!info.Mode().IsRegular() || info.Size() > 0) {
			continue
		}
		if _, held, err := epicstore.HeldBy(dir); held || err != nil {
			continue // a run begins
		}
		if kept, err := filepath.Glob(filepath.Join(dir, journal.Damaged+"*")); err != nil || len(kept) > 0 {
			continue // orch doctor has put it aside
		}
		if c, err := land.Tip(ctx, w.Repo, "refs/orch/"+e.Name()+"/tip"); err != nil {
			return nil, err
		} else if c != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// EmptiedError says that the journal in an epic's folder is empty or gone, and what helps.
func EmptiedError(dir string) error {
	name := filepath.Base(dir)
	return &cli.Error{Code: "JOURNAL_CORRUPT", What: "the journal of " + name + " is empty or gone", Exit: cli.ExitFailed,
		Why: "git has the tip of that epic's branch, so there was one; what it said is lost, and the work is not",
		Fix: []string{"bring " + cli.Quote(filepath.Join(dir, journal.File)) + " back from a backup", "or orch run EPIC: it finds by git and the tracker what has landed"}}
}
