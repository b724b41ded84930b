package tamper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
)

// A person may change settings while a run goes, so of a file of settings only those keys are
// put back that run a program, or lead git or what it sends elsewhere. A file that git cannot
// read is put back as a whole.

// checkConfig compares settings.
func (g *Guard) checkConfig(ctx context.Context, c Change, was, is entry) (Change, error) {
	_, known := g.was.Files[c.Path]
	if c.What == "was removed" {
		return g.restore(c, was, known, true)
	}
	now, err := g.settings(ctx, c.Path, is)
	if err != nil {
		if ctx.Err() != nil {
			return Change{}, context.Cause(ctx)
		}
		c.What += " so that git cannot read it"
		return g.restore(c, was, known, false)
	}
	old := map[string][]string{}
	if known {
		if old, err = g.oldSettings(ctx, was); err != nil {
			return Change{}, err
		}
	}
	risky, others := differing(old, now)
	if len(risky) == 0 {
		g.was.Files[c.Path] = is
		if others = slices.DeleteFunc(others, func(key string) bool { return strings.HasPrefix(key, "branch.") }); len(others) == 0 {
			return Change{}, nil // where a branch pushes to, or the mode alone
		}
		c.What = "was changed: " + strings.Join(others, ", ")
		c.Fix = "git config --list --show-origin"
		return c, nil
	}
	c.What = "was changed: " + strings.Join(risky, ", ")
	if len(others) == 0 {
		return g.restore(c, was, known, false)
	}
	if c.Kept, err = g.copyAside(c.Path, is); err != nil {
		return c, err
	}
	if c.Restored = g.dry; g.dry {
		return c, nil
	}
	if err := g.resetKeys(ctx, c.Path, risky, old); err != nil {
		return c, err
	}
	c.Restored = true
	g.was.Files[c.Path], err = g.read(c.Path)
	return c, err
}

// resetKeys gives keys the values again that they had.
func (g *Guard) resetKeys(ctx context.Context, path string, keys []string, old map[string][]string) error {
	for _, key := range keys {
		if err := g.config(ctx, path, "--unset-all", key); err != nil && exitCode(err) != 5 { // 5: it is not set
			return err
		}
		for _, value := range old[key] {
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
		return nil, fmt.Errorf("%s is %s", path, kind(is.Mode))
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
		if key, value, _ := strings.Cut(item, "\n"); key != "" {
			set[key] = append(set[key], value)
		}
	}
	return set, nil
}

// differing are the keys whose values differ, sorted: those that are put back, and the others.
func differing(old, now map[string][]string) (risky, others []string) {
	keys := slices.Sorted(maps.Keys(now))
	for key := range old {
		if _, both := now[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		switch was, known := old[key]; {
		case slices.Equal(was, now[key]):
		case executes(key) || known && redirects(key) || slices.ContainsFunc(now[key], func(v string) bool { return redirects(key) && strings.Contains(v, "::") }):
			risky = append(risky, key)
		default:
			others = append(others, key)
		}
	}
	return risky, others
}

// executes reports whether a setting runs a program, or changes what git takes for the
// repository, its files or a server.
func executes(key string) bool {
	first := strings.Index(key, ".")
	if first < 0 {
		return false
	}
	section, name := key[:first], key[strings.LastIndex(key, ".")+1:]
	switch section {
	case "alias", "filter", "include", "includeif", "pager", "gpg", "credential", "extensions", "protocol", "url", "http", "safe",
		"mergetool", "difftool", "browser", "man", "guitool", "trailer", "sendemail", "tar", "uploadpack", "imap", "instaweb", "transfer", "fsck", "receive", "gc", "maintenance", "hook":
		return true
	case "core":
		switch name {
		case "hookspath", "fsmonitor", "sshcommand", "pager", "editor", "bare", "worktree", "attributesfile", "excludesfile",
			"gitproxy", "askpass", "alternaterefscommand", "alternaterefsprefixes", "repositoryformatversion", "checkstat", "trustctime",
			"symlinks", "protecthfs", "protectntfs", "sparsecheckout", "ignorestat", "createobject", "logallrefupdates":
			return true
		}
	case "merge":
		return name == "driver" || name == "recursive" || name == "tool" || name == "guitool"
	case "diff":
		return name == "external" || name == "command" || name == "textconv" || name == "tool" || name == "guitool"
	case "remote":
		return name == "uploadpack" || name == "receivepack" || name == "promisor" || name == "partialclonefilter" || name == "vcs" || name == "proxy"
	case "submodule":
		return name == "update" || name == "recurse"
	case "init":
		return name == "templatedir"
	case "sequence":
		return name == "editor"
	case "interactive":
		return name == "difffilter"
	case "web", "help":
		return name == "browser"
	case "user", "commit", "tag":
		return name == "signingkey" || name == "gpgsign"
	}
	return false
}

// redirects reports whether a setting says where git sends what to: a person adds such a one
// while a run goes, and rarely changes one.
func redirects(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return (section == "remote" || section == "submodule") && (strings.HasSuffix(key, ".url") || strings.HasSuffix(key, ".pushurl"))
}

// copyAside keeps what settings were changed to.
func (g *Guard) copyAside(path string, is entry) (string, error) {
	kept := g.place(path)
	if g.dry {
		return kept, nil
	}
	return kept, g.Files.WriteFile(kept, is.Data)
}
