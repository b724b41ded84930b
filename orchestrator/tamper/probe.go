package tamper

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/private"
)

// What is in settings may be nothing that git can go by: a truth that is none, a style that it does not know. Commands
// end at that before they do anything, those of the person as well as orch's own, so that such a value has no use to
// anybody.

// maxProbed bounds the settings that git is asked about, in bytes; what is more is put back unasked.
const maxProbed = 32 << 10

// noValue stands for a setting that is only named, as [core] bare: true to git, and not the same as an empty one.
const noValue = "\x00"

// probes are commands by which git reads its settings, and that change nothing: what they are about is not there.
func probes() [][]string {
	const nothing = "orch-asks-git"
	return [][]string{
		{"status", "--porcelain", "--untracked-files=no", "--", nothing},
		{"log", "-1", "--no-show-signature", "--format=%H"},
		{"diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv", "--", nothing},
		{"branch", "--list", nothing},
		{"tag", "--list", nothing},
		{"for-each-ref", "refs/" + nothing},
		{"stash", "list", "-1"},
		{"checkout", "--quiet", "--", nothing},
		{"merge", "--quiet", nothing},
		{"rebase", "--show-current-patch"},
		{"commit", "--dry-run", "--porcelain", "--", nothing},
		{"grep", "-q", nothing, "--", nothing},
		{"fetch", "--dry-run", "--quiet", "./" + nothing},
		{"push", "--dry-run", "--quiet", "./" + nothing},
	}
}

// broken are those of the keys whose values git refuses. It fails with a fault of the machine.
func (g *Guard) broken(ctx context.Context, keys []string, now map[string][]string) (bad []string, err error) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return len(now[key]) == 0 }) // what is gone breaks nothing
	if len(keys) == 0 {
		return nil, nil
	}
	if len(parameters(keys, now)) > maxProbed {
		return keys, nil
	}
	scratch, err := g.Repo.Scratch("probe-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, private.Refused(os.RemoveAll(scratch))) }()
	for _, args := range probes() {
		left := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return slices.Contains(bad, key) })
		refused, err := g.refuses(ctx, scratch, args, left, now)
		if err != nil {
			return nil, err
		}
		if !refused {
			continue
		}
		for _, key := range left {
			refused, err := g.refuses(ctx, scratch, args, []string{key}, now)
			if err != nil {
				return nil, err
			}
			if refused {
				bad = append(bad, key)
			}
		}
	}
	slices.Sort(bad)
	return bad, nil
}

// refuses reports whether a command fails by the values of keys: git names one of them, or the command fails that
// would not without them.
func (g *Guard) refuses(ctx context.Context, dir string, args, keys []string, now map[string][]string) (bool, error) {
	if len(keys) == 0 {
		return false, nil
	}
	with, err := g.probe(ctx, dir, args, parameters(keys, now))
	if with == nil || err != nil {
		return false, err
	}
	said := strings.ToLower(with.Stderr)
	if slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(said, strings.ToLower(key)) }) {
		return true, nil
	}
	without, err := g.probe(ctx, dir, args, "")
	return without == nil && err == nil, err
}

// probe runs a command with settings, and gives its exit where it is not 0.
func (g *Guard) probe(ctx context.Context, dir string, args []string, parameters string) (*command.ExitError, error) {
	call := git.Call{Args: args, WorkTree: dir}
	if parameters != "" {
		call.Env = []string{"GIT_CONFIG_PARAMETERS=" + parameters}
	}
	_, err := g.Repo.Do(ctx, call)
	var exit *command.ExitError
	if errors.As(err, &exit) && fault.Of(err) == nil {
		return exit, nil
	}
	return nil, err
}

// parameters are settings as git takes them from its environment.
func parameters(keys []string, now map[string][]string) string {
	var b strings.Builder
	for _, key := range keys {
		for _, value := range now[key] {
			b.WriteString(inQuotes(key) + "=")
			if value != noValue {
				b.WriteString(inQuotes(value))
			}
			b.WriteByte(' ')
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// inQuotes is text in single quotes, as git quotes it.
func inQuotes(text string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(text) + "'"
}
