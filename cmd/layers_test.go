package cmd_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/beadsorch/orch/"

// layer is a row of the table: which packages of the module the packages whose path begins with
// prefix may import, and which powers they may link; a / at the end leaves out prefix itself. The longest prefix counts. Every arrow that
// is not here is refused, so none runs up and none makes a circle.
type layer struct {
	prefix string
	may    []string // prefixes of what it may import besides what is below its own path
	links  []string // of powers
	why    string
}

// powers are packages that reach out of the process, or are heavy: who links one has a reason.
func powers() []string { return []string{"os/exec", "net", "github.com/go-git/go-git/v5/plumbing"} }

func layers() []layer {
	values := []string{"orchestrator/command", "orchestrator/object", "orchestrator/refname", "orchestrator/slug", "orchestrator/text"}
	middle := append([]string{"orchestrator/iteration", "orchestrator/promise", "orchestrator/reason", "orchestrator/tracker", "orchestrator/validation"}, values...)
	return []layer{
		{"cmd/orch-stop-hook", []string{"stophook/session"}, nil, "the hook of every session: it starts in the time that git takes to"},
		{"cmd", []string{"beads", "worktree", "stophook", "orchestrator", "templates"}, powers(), "wires everything"},
		{"beads", append([]string{"orchestrator/tracker", "orchestrator/private"}, values...), nil, "an adapter"},
		{"worktree", append([]string{"orchestrator"}, values...), []string{"os/exec", "github.com/go-git/go-git/v5/plumbing"}, "an adapter; git is told who owns a scratch folder by proc"},
		{"stophook/session", []string{"orchestrator/slug"}, nil, "each stop of every session pays for it"},
		{"stophook/registry", append([]string{"orchestrator/private", "orchestrator/promise"}, values...), nil, "an adapter"},
		{"stophook", append([]string{"orchestrator/epic"}, middle...), nil, "a policy over how an epic stands"},
		{"orchestrator/epic", middle, nil, "the pure middle"},
		{"orchestrator/tracker", values, nil, "pure"},
		{"orchestrator/promise", values, nil, "pure"},
		{"orchestrator/reason", nil, nil, "a table"},
		{"orchestrator/iteration", middle, nil, "pure"},
		{"orchestrator/validation", values, nil, "is handed what runs a command"},
		{"orchestrator/text", nil, nil, "pure"},
		{"orchestrator/slug", nil, nil, "pure"},
		{"orchestrator/object", nil, nil, "a word"},
		{"orchestrator/refname", []string{"orchestrator/slug"}, nil, "names"},
		{"orchestrator/command", nil, nil, "values"},
		{"orchestrator/redact", nil, nil, "pure"},
		{"orchestrator/protect", []string{"orchestrator/validation"}, []string{"os/exec"}, "pure, but for what the expansion of braces links"},
		{"orchestrator/journal", []string{"orchestrator/private"}, nil, "files"},
		{"orchestrator/private", nil, nil, "files"},
		{"orchestrator/fault", []string{"orchestrator/command", "orchestrator/private", "orchestrator/text"}, nil, "reads errors"},
		{"orchestrator/setup", append([]string{"orchestrator/validation"}, values...), nil, "is handed what runs a command"},
		{"orchestrator/harness", values, nil, "a client is data: command lines, and readers of output"},
		{"orchestrator/harness/modeltest", nil, []string{"net"}, "a model on loopback, for tests"},
		{"orchestrator/snapshot", append([]string{"orchestrator/epic", "orchestrator/private"}, values...), nil, "files"},
		{"orchestrator/checkpoint", append([]string{"orchestrator/journal", "orchestrator/private", "orchestrator/redact"}, middle...), nil, "files"},
		{"orchestrator/proc", []string{"orchestrator/command", "orchestrator/text"}, []string{"os/exec"}, "the one that starts processes"},
		{"orchestrator/sandbox", []string{"orchestrator/command", "orchestrator/private", "orchestrator/text"}, nil, "makes command lines, and becomes the command: it starts none"},
		{"orchestrator/sandbox/egress", []string{"orchestrator/sandbox"}, []string{"net"}, "the way out of a sandbox: a proxy"},
		{"orchestrator/sandbox/sandboxtest", nil, nil, "skips tests"},
		{"orchestrator/sandbox/cell", append([]string{"orchestrator/engine", "orchestrator/git", "orchestrator/harness", "orchestrator/private", "orchestrator/sandbox"}, values...), powers(), "by git, with a proxy"},
		{"orchestrator/sandbox/shadow", []string{"orchestrator/command", "orchestrator/git", "orchestrator/private", "orchestrator/refname", "orchestrator/sandbox"}, []string{"os/exec", "github.com/go-git/go-git/v5/plumbing"}, "by git"},
		{"orchestrator/git", append([]string{"orchestrator/fault", "orchestrator/private", "orchestrator/proc"}, values...), []string{"os/exec", "github.com/go-git/go-git/v5/plumbing"}, "proc tells whether the owner of a scratch folder lives"},
		{"orchestrator/epicdir", []string{"orchestrator/private", "orchestrator/slug"}, nil, "names of files"},
		{"orchestrator/engine", append([]string{"orchestrator/epic", "templates"}, middle...), nil, "the words between the orchestrator and an engine: data"},
		{"orchestrator/engine/", append([]string{"orchestrator/engine", "orchestrator/epic", "orchestrator/epicdir", "orchestrator/checkpoint", "orchestrator/fault", "orchestrator/git", "orchestrator/harness",
			"orchestrator/private", "orchestrator/proc", "orchestrator/redact", "orchestrator/setup", "templates"}, middle...), powers(), "an engine: by proc and git, or by asking another machine"},
		{"orchestrator/land", append([]string{"orchestrator/epic", "orchestrator/epicdir", "orchestrator/git", "orchestrator/fault", "orchestrator/protect", "orchestrator/redact", "orchestrator/setup"}, middle...), []string{"os/exec", "github.com/go-git/go-git/v5/plumbing"}, "by git"},
		{"orchestrator/tamper", append([]string{"orchestrator/fault", "orchestrator/git", "orchestrator/private"}, values...), []string{"os/exec", "github.com/go-git/go-git/v5/plumbing"}, "by git"},
		{"orchestrator/epicstore", append([]string{"orchestrator/epic", "orchestrator/epicdir", "orchestrator/journal", "orchestrator/private"}, values...), nil, "files"},
		{"orchestrator/watch", append([]string{"orchestrator/epic", "orchestrator/epicstore", "orchestrator/journal", "orchestrator/private", "orchestrator/redact", "orchestrator/tracker"}, values...), nil, "by the replay of a journal: files"},
		{"orchestrator", []string{"templates"}, []string{"os/exec", "github.com/go-git/go-git/v5/plumbing"}, "the loop, and what its decisions do"},
		{"templates", nil, nil, "text"},
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) (packages []listed) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Deps", module+"...")
	out, err := c.Output()
	require.NoError(t, err)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		if strings.HasPrefix(p.ImportPath, module) {
			packages = append(packages, p)
		}
	}
}

// below reports whether path is prefix, or in its folder; with a / at its end, only the latter.
func below(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, strings.TrimSuffix(prefix, "/")+"/")
}

// TestLayers: every package imports what its row allows, and links no power that it has no reason for.
func TestLayers(t *testing.T) {
	t.Parallel()
	chains := map[string][]string{}
	for _, p := range list(t) { // each after what it imports
		path := strings.TrimPrefix(p.ImportPath, module)
		row := layer{}
		for _, l := range layers() {
			if below(path, l.prefix) && len(l.prefix) > len(row.prefix) {
				row = l
			}
		}
		require.NotEmpty(t, row.prefix, "%s has no row in the table of layers", path)
		require.True(t, row.prefix != "orchestrator" || path == "orchestrator" || test(path), "%s has no row of its own in the table of layers", path)
		for _, i := range p.Imports {
			to, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			if len(chains[to]) > len(chains[path]) {
				chains[path] = chains[to]
			}
			if below(to, row.prefix) || test(path) {
				continue
			}
			require.True(t, slices.ContainsFunc(row.may, func(may string) bool { return below(to, may) }), "%s must not import %s: %s", path, to, row.why)
		}
		for _, power := range powers() {
			if slices.Contains(p.Deps, power) && !test(path) {
				require.Contains(t, row.links, power, "%s links %s: %s", path, power, row.why)
			}
		}
		chains[path] = append([]string{path}, chains[path]...)
		require.LessOrEqual(t, len(chains[path]), maxChain, "a chain of %d packages: %s", len(chains[path]), strings.Join(chains[path], " > "))
	}
	require.Greater(t, len(chains), 30)
}

// TestTopLevel: what is committed at the top of the repository is what is listed here and nothing
// else, so that a stray file is noticed.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "-c", "safe.directory=*", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is no checkout, so git does not say what is committed")
	}
	have := map[string]bool{}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, _, _ := strings.Cut(path, "/")
		have[name] = true
	}
	require.Equal(t, []string{
		".ci", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "beads", "cmd", "docs",
		"go.mod", "go.sum", "orchestrator", "stophook", "templates", "worktree",
	}, slices.Sorted(maps.Keys(have)))
}

// maxChain is how many packages import each other in a row at most: who reads down from the
// command line has understood it in so many steps.
const maxChain = 10

// test reports whether a package is a helper of tests, which nobody's program links.
func test(path string) bool { return strings.HasSuffix(path, "test") }
