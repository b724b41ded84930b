package tamper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
)

// A person may change settings while a run goes, so of a file of settings only those keys are
// put back that run a program, or lead git or what it sends elsewhere, or that git fails with. A file
// that git cannot read is put back as a whole.

// maxRisky is how many keys of one file are put back one by one; where more have changed it is put back as a whole.
const maxRisky = 30

// checkConfig compares settings: a change of what is put back, and one of what is not.
func (g *Guard) checkConfig(ctx context.Context, c Change, was, is entry) ([]Change, error) {
	_, known := g.was.Files[c.Path]
	if c.What == "was removed" {
		return changeList(g.restore(c, look{was: was, planted: !known, gone: true}))
	}
	now, err := g.settings(ctx, c.Path, is)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := fault.Of(err); err != nil {
			return nil, err
		}
		c.What += " so that git cannot read it"
		return changeList(g.restore(c, look{was: was, planted: !known}))
	}
	old := map[string][]string{}
	if known {
		if old, err = g.oldSettings(ctx, was); err != nil {
			return nil, err
		}
	}
	risky, others := changedKeys(old, now, func(branch string) bool { return g.unborn(ctx, "refs/heads/"+branch) })
	if len(risky) > maxRisky { // no person does that, and each by itself would take long
		c.What = fmt.Sprintf("was changed: %s, and %d more keys", strings.Join(risky[:maxRisky], ", "), len(risky)-maxRisky+len(others))
		return changeList(g.restore(c, look{was: was, planted: !known}))
	}
	bad, err := g.broken(ctx, others, now)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(key string) bool { return slices.Contains(bad, key) })
	left := Change{Path: c.Path, What: "was changed: " + strings.Join(others, ", "), Fix: "git config --list --show-origin"}
	if len(risky)+len(bad) == 0 {
		g.was.Files[c.Path] = is
		if len(others) == 0 {
			return nil, nil // the mode alone, or what a person's work leaves
		}
		return []Change{left}, nil
	}
	said := slices.Clone(risky)
	for _, key := range bad {
		said = append(said, key+" (with which git fails)")
	}
	c.What = "was changed: " + strings.Join(said, ", ")
	if len(others) == 0 {
		return changeList(g.restore(c, look{was: was, planted: !known}))
	}
	if c.Kept, err = g.copyAside(c.Path, is); err != nil {
		return []Change{c, left}, err
	}
	if c.Restored = g.dry; g.dry {
		return []Change{c, left}, nil
	}
	if err := g.resetKeys(ctx, c.Path, append(risky, bad...), old); err != nil {
		return []Change{c, left}, err
	}
	c.Restored = true
	g.was.Files[c.Path], err = g.read(c.Path)
	return []Change{c, left}, err
}

// changeList is a list of the change, empty where it has no path.
func changeList(c Change, err error) ([]Change, error) {
	if c.Path == "" {
		return nil, err
	}
	return []Change{c}, err
}

// resetKeys gives keys the values again that they had.
func (g *Guard) resetKeys(ctx context.Context, path string, keys []string, old map[string][]string) error {
	for _, key := range keys {
		if err := g.config(ctx, path, "--unset-all", key); err != nil && exitCode(err) != 5 { // 5: it is not set
			return err
		}
		for _, value := range old[key] {
			if value == noValue {
				value = "true" // which it means
			}
			if err := g.config(ctx, path, "--add", key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// config runs git config on a file of settings; nothing of the repository is read but that file.
func (g *Guard) config(ctx context.Context, path string, args ...string) error {
	_, err := g.Repo.Do(ctx, git.Call{Args: append([]string{"config", "--file", g.at(path)}, args...)})
	return err
}

// settings reads a file's keys with their values, as git does; includes are not followed.
func (g *Guard) settings(ctx context.Context, path string, is entry) (map[string][]string, error) {
	if !is.Mode.IsRegular() || is.TooLarge {
		return nil, fmt.Errorf("%s is %s", path, kindOf(is.Mode))
	}
	return g.parse(ctx, is.Data)
}

// oldSettings reads what settings were.
func (g *Guard) oldSettings(ctx context.Context, was entry) (map[string][]string, error) {
	if !was.Mode.IsRegular() || was.TooLarge {
		return map[string][]string{}, nil
	}
	return g.parse(ctx, was.Data)
}

// parse has git read settings from its standard input: no file can be swapped meanwhile.
func (g *Guard) parse(ctx context.Context, text []byte) (map[string][]string, error) {
	if text == nil {
		text = []byte{}
	}
	res, err := g.Repo.Do(ctx, git.Call{Args: []string{"config", "--file", "-", "--no-includes", "--list", "-z"}, Stdin: text})
	if err != nil {
		return nil, err
	}
	set := map[string][]string{}
	for item := range strings.SplitSeq(strings.TrimSuffix(string(res.Stdout), "\x00"), "\x00") {
		key, value, valued := strings.Cut(item, "\n")
		if !valued {
			value = noValue
		}
		if key != "" {
			set[key] = append(set[key], value)
		}
	}
	return set, nil
}

// changedKeys are the keys whose values differ, sorted: those that are put back, and the others
// that are only reported. gone reports whether a branch was deleted.
func changedKeys(old, now map[string][]string, gone func(branch string) bool) (risky, others []string) {
	keys := slices.Collect(maps.Keys(now))
	for key := range old {
		if _, both := now[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		switch section, _, _ := splitKey(key); {
		case slices.Equal(old[key], now[key]):
		case section == "branch" && isOrdinary(key, old, now, gone):
		case runsProgram(key), redirects(key, old, now):
			risky = append(risky, key)
		default:
			others = append(others, key)
		}
	}
	return risky, others
}

// splitKey splits a key, as git lists it: the section and the name are in lower case.
func splitKey(key string) (section, middle, name string) {
	section, rest, _ := strings.Cut(key, ".")
	if dot := strings.LastIndex(rest, "."); dot >= 0 {
		middle, rest = rest[:dot], rest[dot+1:]
	}
	return section, middle, rest
}

// isOrdinary reports whether a change of a branch's settings need not be reported: a new branch follows one
// of this repository, a branch was deleted, or it is a key that git does nothing by.
func isOrdinary(key string, old, now map[string][]string, gone func(branch string) bool) bool {
	_, branch, name := splitKey(key)
	remote := "branch." + branch + ".remote"
	switch name {
	case "remote", "merge":
		if _, known := old[remote]; !known && slices.Equal(now[remote], []string{"."}) {
			return true
		}
	case "pushremote", "rebase", "mergeoptions":
	default:
		return branch != ""
	}
	_, there := now[key]
	return !there && branch != "" && gone(branch)
}

// runsProgram reports whether a setting runs a program, or changes what git considers the
// repository, its files or a server.
func runsProgram(key string) bool {
	section, middle, name := splitKey(key)
	if section == "lfs" && (strings.HasPrefix(middle, "customtransfer.") || strings.HasPrefix(middle, "extension.")) {
		return true
	}
	for _, row := range programSettings() {
		if slices.Contains(row.sections, section) {
			return row.names == nil || slices.Contains(row.names, name)
		}
	}
	return false
}

// sectionKeys are settings of some names, in any of some sections of git's configuration; of all names where names is nil.
type sectionKeys struct {
	sections, names []string
}

// programSettings are the settings that [runsProgram] speaks of. A section has one row.
func programSettings() []sectionKeys {
	return []sectionKeys{
		{[]string{"alias", "filter", "include", "includeif", "pager", "gpg", "credential", "extensions", "protocol", "url", "http", "safe",
			"mergetool", "difftool", "browser", "man", "guitool", "trailer", "sendemail", "tar", "uploadpack", "imap", "instaweb", "transfer", "fsck", "receive", "gc", "maintenance", "hook"}, nil},
		{[]string{"core"}, []string{"hookspath", "fsmonitor", "sshcommand", "pager", "editor", "bare", "worktree", "attributesfile", "excludesfile",
			"gitproxy", "askpass", "alternaterefscommand", "alternaterefsprefixes", "repositoryformatversion", "checkstat", "trustctime",
			"symlinks", "protecthfs", "protectntfs", "sparsecheckout", "ignorestat", "createobject", "logallrefupdates"}},
		{[]string{"merge"}, []string{"driver", "recursive", "tool", "guitool"}},
		{[]string{"blame"}, []string{"ignorerevsfile"}},
		{[]string{"mailmap"}, []string{"file"}},
		{[]string{"diff"}, []string{"orderfile", "external", "command", "textconv", "tool", "guitool"}},
		{[]string{"remote"}, []string{"uploadpack", "receivepack", "promisor", "partialclonefilter", "vcs", "proxy"}},
		{[]string{"submodule"}, []string{"update", "recurse"}},
		{[]string{"lfs"}, []string{"standalonetransferagent"}},
		{[]string{"init"}, []string{"templatedir"}},
		{[]string{"sequence"}, []string{"editor"}},
		{[]string{"interactive"}, []string{"difffilter"}},
		{[]string{"web", "help"}, []string{"browser"}},
		{[]string{"user", "commit", "tag"}, []string{"signingkey", "gpgsign"}},
	}
}

// redirects reports whether a change of a setting leads git, or what it sends, elsewhere. A person
// adds a remote, a submodule or an upstream while a run goes, and rarely changes one.
func redirects(key string, old, now map[string][]string) bool {
	_, known := old[key]
	program := slices.ContainsFunc(now[key], func(v string) bool { return strings.Contains(v, "::") }) // a helper of git's that is named
	switch section, middle, name := splitKey(key); section {
	case "remote":
		return program || middle == "" || hasRemote(old, middle)
	case "submodule":
		return (name == "url" || name == "pushurl") && (known || program)
	case "branch":
		elsewhere := slices.ContainsFunc(now[key], func(v string) bool { return v != "." && !hasRemote(now, v) })
		return name == "pushremote" || name == "remote" && (known || elsewhere)
	case "lfs":
		return strings.HasSuffix(name, "url")
	}
	return false
}

// hasRemote reports whether settings have a remote of that name.
func hasRemote(set map[string][]string, name string) bool {
	for key := range set {
		if section, middle, _ := splitKey(key); section == "remote" && middle == name {
			return true
		}
	}
	return false
}

// copyAside keeps what settings were changed to.
func (g *Guard) copyAside(path string, is entry) (string, error) {
	kept := g.place(path)
	if g.dry {
		return kept, nil
	}
	return kept, g.Files.WriteFile(kept, is.Data)
}
