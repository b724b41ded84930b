package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
)

// SettingsFile is where the settings are, in the main work tree.
const SettingsFile = "project.yaml"

// maxSettings bounds the file of the settings, in bytes.
const maxSettings = 1 << 20

// Settings reads the settings of the repository whose main work tree is root, which may name these
// kinds. It fails with a [*config.Error] for what is not understood, and when a file cannot be read.
func Settings(p cli.Process, root string, kinds config.Kinds) (config.Config, config.Origins, error) {
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
	return config.Sources{Own: own, Repo: repo, Env: p.Env, Agents: agents, Kinds: kinds}.Load()
}

// KnowSecrets adds the variables that the settings call secret, for who needs nothing else of them: settings that cannot
// be read, it does without. root is as for [Settings]; "" outside of a repository.
func KnowSecrets(a *cli.Invocation, root string, kinds config.Kinds) {
	if root == "" {
		return
	}
	c, _, err := Settings(a.Process, root, kinds)
	if err == nil {
		err = a.AddSecrets(c.Secrets)
	}
	_ = err // whoever needs them says so
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
		inside := slices.ContainsFunc(not, func(folder string) bool { return folder != "" && isWithin(dir, folder) })
		if filepath.IsAbs(dir) && !inside {
			return filepath.Clean(dir)
		}
	}
	return ""
}

// isWithin reports whether a path is a folder, or is or will be below it.
func isWithin(path, folder string) bool {
	path, folder = resolveLinks(path), resolveLinks(folder)
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// resolveLinks is a path with its links resolved, as far as it is there.
func resolveLinks(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(resolveLinks(up), filepath.Base(path))
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
