package cmd

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// registry is a server on loopback that plays one of packages, and counts who asks.
func registry(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("package\n")) }))
	t.Cleanup(s.Close)
	return s.URL
}

// setUp has a fixture with workflow.setup.
func setUp(f *fixture, commands ...string) {
	f.t.Helper()
	f.write(filepath.Join(f.dir, "project.yaml"), strings.Replace(f.read("project.yaml"), "workflow:\n", "workflow:\n  setup: ['"+strings.Join(commands, "', '")+"']\n", 1))
	f.trust()
}

// TestSetup: the setup fetches in each worktree, with the network and without secrets; agent and gate find in the worktree and in caches what it has
// fetched, and the gate has no network, where the level can deny it. Nothing is left.
func TestSetup(t *testing.T) {
	t.Parallel()
	bounded(t, func(t *testing.T) *fixture {
		url := registry(t)
		fetch := "curl -sf " + url + " || exit 9; "
		f := newFixture(t, `cd "$ORCH_WORKTREE"; `+fetch+`grep -q package ignored/package || exit 8; grep -q package "$HOME/.npm/package" || exit 7
			echo evil >"$HOME/.npm/package"; echo evil >"$HOME/.npm/evil"; echo x >work; git add work; git commit -qm work`,
			`grep -qx package ignored/package && grep -qx package "$HOME/.npm/package" && ! test -e "$HOME/.npm/evil" || exit 6; if test "$ORCH_TEST_LEVEL" != landlock; then ! curl -sf `+url+`; fi`)
		f.write(filepath.Join(f.dir, ".gitignore"), ".beads/\nproject.yaml\nignored\n")
		f.must("git", "commit", "-qam", "what is ignored")
		f.env = append(f.env, "MY_TOKEN=secret", "ORCH_AGENT_ENV=MY_TOKEN,ORCH_TEST_LEVEL")
		setUp(f, `test -z "$MY_TOKEN" && mkdir ignored && curl -sf `+url+` >ignored/package`, `mkdir -p "$HOME/.npm" && cp ignored/package "$HOME/.npm/package" && echo done`)
		require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(f.dir), ".npm"), 0o700))
		return f
	}, func(t *testing.T, f *fixture, l sandbox.Level) {
		f.env = append(f.env, "ORCH_TEST_LEVEL="+string(l))
		f.task("one")
		out, code := f.run(nil, "orch", "run", f.epic)
		require.Zero(t, code, "%s\n%s", out, f.must("orch", "events", f.epic))
		kept, err := os.ReadFile(filepath.Join(f.epicDir(), "attempts/e-1.1/1/setup.log"))
		require.NoError(t, err)
		require.Contains(t, string(kept), "done\n")
		require.NoFileExists(t, filepath.Join(filepath.Dir(f.dir), ".npm/package"))
		require.NoDirExists(t, filepath.Join(f.epicDir(), "attempts/e-1.1/1/fetched"))
		require.NotContains(t, f.must("orch", "events", f.epic), "MACHINE")
		f.nothingBounded()
	})
}

// TestSetupFails: a setup that fails ends the run with its own code, before anything else of it has run, and charges no attempt; mended, the next run goes on. One
// that fails with the work of an agent alone is red.
func TestSetupFails(t *testing.T) {
	t.Parallel()
	for _, l := range []string{"off", "auto"} {
		t.Run(l, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `cd "$ORCH_WORKTREE"; if grep -q "no such package" "$ORCH_BRIEF"; then git rm -q broken; else echo x >broken; fi; echo x >work; git add -A; git commit -qm work`, "true")
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+l)
			setUp(f, `test ! -e broken || { echo error: no such package; exit 1; }; test -e "$WORK_READY" || exit 5`)
			f.env = append(f.env, "ORCH_AGENT_ENV=WORK_READY")
			f.trust()
			f.task("one")
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Equal(t, 3, code, out)
			require.Contains(t, out, "code=SETUP_FAILED")
			require.Contains(t, out, "✗ e-1: 0 of 1 tasks closed in ")
			require.Contains(t, out, "\n  workflow.setup: test ! -e broken")
			require.NotContains(t, f.must("orch", "events", f.epic), "attempt_started")
			require.Contains(t, f.must("orch", "status"), "[SETUP_FAILED] workflow.setup: test")
			out, code = f.run([]string{"WORK_READY=/"}, "orch", "run", f.epic)
			require.Zero(t, code, out)
			require.Contains(t, f.must("orch", "events", f.epic), "no such package")
			require.Equal(t, "work", f.must("git", "ls-tree", "--name-only", "epic/e-1", "work", "broken"))
		})
	}
}

// TestSetupOfAnAttemptFails: where it fails in an attempt's worktree, which was made ready before, no attempt is charged and the run ends.
func TestSetupOfAnAttemptFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `exit 1`, "true")
	setUp(f, `case "$PWD" in */agent-*) echo error: the mirror is down; exit 1;; esac`)
	f.task("one")
	out, code := f.run([]string{"ORCH_RUN_ATTEMPTS=1"}, "orch", "run", f.epic)
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "code=SETUP_FAILED")
	require.Contains(t, out, "then orch run e-1: no attempt was charged")
	require.Contains(t, out, "the mirror is down")
	require.Contains(t, out, "attempts/e-1.1/1/setup.log")
	require.Contains(t, f.must("orch", "status", "--json"), `"state": "ready"`)
}

// TestGateAsksForTheNetwork: where the gate has none and needs it, the base is red and names the setting; a repository may ask for it, which a person is
// asked about.
func TestGateAsksForTheNetwork(t *testing.T) {
	t.Parallel()
	url := registry(t)
	for _, l := range levelsHere(t) {
		if !l.Mounts() {
			continue
		}
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `cd "$ORCH_WORKTREE"; echo x >work; git add -A; git commit -qm work`, "curl -sSf "+url)
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
			f.task("one")
			setUp(f, "true")
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Equal(t, 3, code, out)
			require.Contains(t, out, "base red")
			require.Contains(t, out, "sandbox.network.gate: open")
			f.write(filepath.Join(f.dir, "project.yaml"), strings.Replace(f.read("project.yaml"), "workflow:\n", "workflow:\n  sandbox: {network: {gate: open}, read: [/nowhere]}\n", 1))
			out, code = f.run(nil, "orch", "run", f.epic)
			require.Equal(t, 4, code, out)
			asked := f.must("orch", "trust", "--show")
			require.Contains(t, asked, "+ network of the gate\n  +   open\n")
			require.Contains(t, asked, "path that can be read in the sandbox\n  +   /nowhere\n")
			f.trust()
			out, code = f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, out)
		})
	}
}

// TestNetworkOfAgents: with a list of hosts an agent reaches those alone, by a proxy, and finds ports that are forwarded; what was refused is explained. With none
// it reaches nothing.
func TestNetworkOfAgents(t *testing.T) {
	t.Parallel()
	url := registry(t)
	port := url[strings.LastIndexByte(url, ':')+1:]
	for _, l := range fewLevels(levelsHere(t)) {
		if !l.Mounts() {
			continue
		}
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, `cd "$ORCH_WORKTREE"; curl -s --noproxy '*' -o listed http://127.0.0.1:`+port+`; curl -s http://outside.invalid/ >refused; curl -sp http://inside.invalid/ -o none -w '%{http_connect}' >connect
				env | grep -i _proxy | sort >variables; git add -A; git commit -qm work`, "true")
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l), "ORCH_SANDBOX_NETWORK_AGENTS=allowlist", "ORCH_SANDBOX_NETWORK_ALLOW=inside.invalid", "ORCH_SANDBOX_PORTS="+port, "HTTPS_PROXY=http://elsewhere.invalid")
			f.task("one")
			out, code := f.run(nil, "orch", "run", f.epic)
			require.Zero(t, code, out)
			show := func(name string) string { return f.must("git", "show", "epic/e-1:"+name) }
			require.Equal(t, "package", show("listed"))
			require.Contains(t, show("refused"), "sandbox: {network: {allow: [outside.invalid]}} in your own settings allows it")
			require.Equal(t, "502", show("connect"), "it is allowed, and has no address")
			require.Contains(t, show("variables"), "HTTPS_PROXY=http://127.0.0.1:3128")
			require.NotContains(t, show("variables"), "elsewhere")
			explained := f.must("orch", "sandbox", "explain", "e-1.1")
			require.Contains(t, explained, "outside.invalid, 1 times: it is not among the hosts that are allowed")
			require.Contains(t, explained, "hosts of a list")
			f.nothingBounded()
		})
	}
}
