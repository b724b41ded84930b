package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gitKeys are all settings that git knows, each with a name in the place of what a person chooses.
func gitKeys(t *testing.T) (keys []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "help", "--config").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		key := strings.TrimSpace(line)
		if i, j := strings.Index(key, "<"), strings.Index(key, ">"); i >= 0 && j > i {
			key = key[:i] + "x" + key[j+1:]
		}
		key = strings.NewReplacer("*", "x", "(", "", ")", "").Replace(key)
		if strings.Contains(key, ".") && !strings.ContainsAny(key, " <>'") {
			keys = append(keys, key)
		}
	}
	require.Greater(t, len(keys), 500)
	return keys
}

// hostileValues are those of settings for which neither a program nor the usual words are the worst that git takes.
func hostileValues() map[string]string {
	return map[string]string{
		"core.autocrlf": "true", "core.eol": "crlf", "core.safecrlf": "true", "core.compression": "0", "core.bigfilethreshold": "1", "core.abbrev": "4",
		"core.sharedrepository": "0666", "core.commentchar": "e", "core.whitespace": "cr-at-eol", "core.logallrefupdates": "false", "core.notesref": "refs/heads/main",
		"core.ignorecase": "true", "core.filemode": "false", "core.symlinks": "false", "core.prefersymlinkrefs": "true", "core.packedgitlimit": "1",
		"core.filesreflocktimeout": "0", "core.packedrefstimeout": "0", "core.splitindex": "true", "core.sparsecheckout": "true", "core.quotepath": "false",
		"diff.noprefix": "true", "diff.renames": "copies", "diff.algorithm": "histogram", "diff.context": "0", "diff.submodule": "log", "diff.ignoresubmodules": "all",
		"merge.ff": "only", "merge.renames": "false", "merge.directoryrenames": "true", "merge.conflictstyle": "diff3", "merge.renormalize": "true", "merge.verbosity": "5", "merge.renamelimit": "1", "diff.renamelimit": "1",
		"pull.rebase": "true", "pull.ff": "only", "rebase.autosquash": "true", "rebase.updaterefs": "true", "rebase.abbreviatecommands": "true",
		"gc.auto": "1", "gc.pruneexpire": "now", "gc.reflogexpire": "now", "gc.autodetach": "false", "maintenance.auto": "true", "log.showsignature": "true", "log.follow": "true",
		"log.date": "relative", "log.diffmerges": "off", "format.pretty": "raw", "i18n.commitencoding": "ISO-8859-1", "i18n.logoutputencoding": "UTF-16", "init.defaultbranch": "evil",
		"init.defaultobjectformat": "sha256", "status.relativepaths": "false", "status.showuntrackedfiles": "no", "status.short": "true", "push.default": "matching", "transfer.hiderefs": "refs/",
		"receive.denycurrentbranch": "ignore", "submodule.recurse": "true", "commit.gpgsign": "true", "tag.gpgsign": "true", "user.useconfigonly": "true", "user.name": "Evil", "user.email": "e@localhost",
		"index.version": "4", "index.sparse": "true", "index.skiphash": "true", "feature.experimental": "true", "checkout.workers": "8", "checkout.thresholdforparallelism": "1", "protocol.allow": "always",
		"fsck.skiplist": "/dev/null", "trailer.separators": "#", "uploadpack.hiderefs": "refs/", "sequence.editor": "false", "column.ui": "always", "color.ui": "always", "color.branch": "always", "core.precomposeunicode": "true",
	}
}

// settingsFile is a file of settings: each key has its worst value that git goes by, else the trap.
func settingsFile(t *testing.T, trap string, without ...string) string {
	t.Helper()
	dir := t.TempDir()
	run := func(args ...string) bool {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost")
		return c.Run() == nil
	}
	require.True(t, run("init", "-q") && run("commit", "-q", "--allow-empty", "-m", "x"))
	hostile := hostileValues()
	var text strings.Builder
	for _, key := range gitKeys(t) {
		if slices.Contains(without, strings.ToLower(key)) || strings.HasPrefix(strings.ToLower(key), "extensions.") {
			continue
		}
		for _, value := range []string{hostile[strings.ToLower(key)], trap, "true", "1", "always"} {
			if value == "" || !run("-c", key+"="+value, "log", "-1", "--no-show-signature", "--format=%H") || !run("-c", key+"="+value, "-c", "core.fsmonitor=", "status", "--porcelain") ||
				!run("-c", key+"="+value, "merge-tree", "--write-tree", "HEAD", "HEAD") {
				continue
			}
			section, name, _ := strings.Cut(key, ".")
			if i := strings.LastIndex(name, "."); i >= 0 {
				section, name = fmt.Sprintf("%s %q", section, name[:i]), name[i+1:]
			}
			fmt.Fprintf(&text, "[%s]\n\t%s = %q\n", section, name, value)
			break
		}
	}
	return text.String()
}

// writesOnly is an agent that uses no git, which would be a victim itself.
const writesOnly = `cd "$ORCH_WORKTREE" && echo "$ORCH_TASK" >"$ORCH_TASK"`

// TestEverySetting: each setting that git knows has a hostile value, of the person's or planted by each agent, and the
// epic lands as if there were none. No program runs by them.
func TestEverySetting(t *testing.T) {
	t.Parallel()
	world := func(t *testing.T, agent string) (f *fixture, trap, ran string) {
		f = newFixture(t, agent, "true")
		f.task("one")
		f.task("two")
		f.task("three", ".1", ".2")
		trap, ran = filepath.Join(filepath.Dir(f.dir), "trap"), filepath.Join(filepath.Dir(f.dir), "ran")
		f.write(trap, "#!/bin/sh\necho \"$0 $*\" >>"+ran+"\nexit 1\n")
		require.NoError(t, os.Chmod(trap, 0o700))
		return f, trap, ran
	}
	landed := func(t *testing.T, f *fixture, out string) {
		require.Contains(t, out, "LOOP_DONE")
		f.allLanded(out)
		require.Empty(t, f.must("git", "status", "--porcelain"))
		f.must("git", "fsck", "--no-dangling")
	}
	t.Run("persons", func(t *testing.T) {
		t.Parallel()
		f, trap, ran := world(t, writesOnly)
		global := filepath.Join(filepath.Dir(f.dir), "gitconfig")
		f.write(global, settingsFile(t, trap, "core.bare", "core.worktree", "core.repositoryformatversion", "safe.barerepository", "safe.directory", "include.path"))
		require.NoError(t, os.RemoveAll(ran)) // git, as it was asked whether it takes them
		was := f.checkout()
		extra := []string{"GIT_CONFIG_GLOBAL=" + global}
		out, code := f.run(extra, "orch", "trust", "--show", "--json")
		require.Zero(t, code, out)
		out, code = f.run(extra, "orch", "run", f.epic, "--trust", digestIn(out))
		require.Zero(t, code, out)
		landed(t, f, out)
		require.Equal(t, was, f.checkout())
		require.NoFileExists(t, ran)
	})
	for name, file := range map[string]func(t *testing.T, trap string) string{
		"planted-values": func(t *testing.T, trap string) string {
			return settingsFile(t, trap) + "[core]\n\tbare = true\n\tworktree = /nowhere\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n\tobjectFormat = sha256\n"
		},
		"planted-programs": func(t *testing.T, trap string) string {
			var text strings.Builder
			for _, key := range gitKeys(t) {
				section, name, _ := strings.Cut(key, ".")
				if i := strings.LastIndex(name, "."); i >= 0 {
					section, name = fmt.Sprintf("%s %q", section, name[:i]), name[i+1:]
				}
				fmt.Fprintf(&text, "[%s]\n\t%s = %q\n", section, name, trap)
			}
			return text.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, trap, ran := world(t, writesOnly+`; cat ../../../planted >>../../../repo/.git/config`)
			f.write(filepath.Join(filepath.Dir(f.dir), "planted"), file(t, trap))
			require.NoError(t, os.RemoveAll(ran))
			config := filepath.Join(f.dir, ".git", "config")
			was, err := os.ReadFile(config)
			require.NoError(t, err)
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, out)
			require.NoFileExists(t, ran)
			require.Contains(t, out, "tampered")
			for _, key := range []string{"core.hooksPath", "core.fsmonitor", "core.bare", "core.worktree", "filter.x.clean", "alias.x", "core.sshCommand", "gpg.program", "credential.helper", "merge.x.driver", "diff.external"} {
				if value := f.must("git", "config", "--default", "none", "--get", key); value != "none" && value != "false" {
					t.Errorf("%s is still %s", key, value)
				}
			}
			require.NoError(t, os.WriteFile(config, was, 0o600)) // what is only said stays, and this test's own git reads it
			landed(t, f, out)
		})
	}
}
