package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
)

// toolchain is one that a person works with, and a project for it that needs nothing from elsewhere.
type toolchain struct {
	program string // which has to be there
	test    string // the command that tests the project
	files   map[string]string
}

// toolchains are those that agents use most.
func toolchains() []toolchain {
	return []toolchain{
		{"go", "go test ./...", map[string]string{
			"go.mod": "module tiny\n\ngo 1.21\n", "tiny_test.go": "package tiny\n\nimport \"testing\"\n\nfunc TestTiny(t *testing.T) { t.Setenv(\"A\", t.TempDir()) }\n",
		}},
		{"npm", "npm test", map[string]string{
			"package.json": `{"name": "tiny", "version": "1.0.0", "scripts": {"test": "node --test tiny.test.js"}}`,
			"tiny.test.js": "require('node:test')('tiny', () => require('node:fs').mkdtempSync(require('node:os').tmpdir() + '/x'))\n",
		}},
		{"pytest", "pytest -q", map[string]string{
			"test_tiny.py": "import multiprocessing\n\n\ndef test_tiny(tmp_path):\n    (tmp_path / 'x').write_text('x')\n    multiprocessing.Lock()\n",
		}},
		{"cargo", "cargo test -q --offline", map[string]string{
			"Cargo.toml": "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "Cargo.lock": "version = 3\n\n[[package]]\nname = \"tiny\"\nversion = \"0.1.0\"\n",
			"src/lib.rs": "#[test]\nfn tiny() { std::fs::write(std::env::temp_dir().join(\"x\"), \"x\").unwrap() }\n",
		}},
	}
}

// tests is the command that runs the tests of all.
func tests(tools []toolchain) string {
	var commands []string
	for _, c := range tools {
		commands = append(commands, c.test)
	}
	return strings.Join(append(commands, "true"), " && ")
}

// installed gives those of the toolchains that are named and that this machine has; the others are skipped, and said.
func installed(t *testing.T, names ...string) (here []toolchain) {
	t.Helper()
	for _, c := range toolchains() {
		if !slices.Contains(names, c.program) {
			continue
		}
		if _, err := exec.LookPath(c.program); err != nil {
			t.Run(c.program, func(t *testing.T) { sandboxtest.Skip(t, c.program, err.Error()) })
			continue
		}
		here = append(here, c)
	}
	return here
}

// livedIn makes of the fixture's home one that a person works in: cargo and rustc are rustup's in the home, and what rustup keeps is a
// link there; the cache of Go's compiler is the one that this test was built with.
func (f *fixture) livedIn(home string) {
	f.t.Helper()
	goCache, err := exec.CommandContext(f.t.Context(), "go", "env", "GOCACHE").Output()
	require.NoError(f.t, err)
	f.env = append(f.env, "GOCACHE="+strings.TrimSpace(string(goCache)))
	root, err := exec.CommandContext(f.t.Context(), "rustc", "--print", "sysroot").Output()
	rustup, _, ok := strings.Cut(string(root), "/toolchains/")
	proxy, looking := exec.LookPath("rustup")
	if err != nil || !ok || looking != nil {
		return // that of the system, or none
	}
	bin := filepath.Join(home, ".cargo/bin")
	require.NoError(f.t, os.MkdirAll(bin, 0o700))
	content, err := os.ReadFile(proxy)
	require.NoError(f.t, err)
	syscall.ForkLock.RLock() // what another test starts meanwhile would hold the file open, and it could not be started
	err = os.WriteFile(filepath.Join(bin, "rustup"), content, 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(f.t, err)
	for _, name := range []string{"cargo", "rustc", "rustdoc"} {
		require.NoError(f.t, os.Symlink("rustup", filepath.Join(bin, name)))
	}
	require.NoError(f.t, os.Symlink(rustup, filepath.Join(home, ".rustup")))
	f.env[0] = "PATH=" + bin + ":" + strings.TrimPrefix(f.env[0], "PATH=")
}

// home is the fixture's HOME.
func (f *fixture) home() string {
	f.t.Helper()
	for _, e := range slices.Backward(f.env) {
		if home, ok := strings.CutPrefix(e, "HOME="); ok {
			return home
		}
	}
	f.t.Fatal("the fixture has no HOME")
	return ""
}

// without drops variables of the fixture's, so that a client has its folders where it has them for most people.
func (f *fixture) without(names ...string) {
	f.env = slices.DeleteFunc(f.env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(names, name)
	})
}

// numerals are the words for tasks.
func numerals() []string {
	return []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
}

// testsAndCommits is a model whose agents run a command in their shell, edit a file and commit it.
func testsAndCommits(command string) func(modeltest.Request) modeltest.Reply {
	return func(r modeltest.Request) modeltest.Reply {
		if r.Turn() > 0 {
			return modeltest.Reply{Text: "<promise>COMPLETE</promise>"}
		}
		for _, task := range numerals() {
			if strings.Contains(r.All(), "task "+task) {
				return modeltest.Reply{Bash: command + " && echo right > " + task + ".txt && git add -A && git commit -qm work"}
			}
		}
		return modeltest.Reply{Text: "no task"}
	}
}

// ownSandbox has the person's settings of a client switch on a sandbox of the client's own.
func (f *fixture) ownSandbox(client string) {
	f.t.Helper()
	switch client {
	case "claude":
		f.write(filepath.Join(f.home(), ".claude/settings.json"), `{"sandbox": {"enabled": true, "failIfUnavailable": true, "allowUnsandboxedCommands": false}}`)
	case "codex":
		config := filepath.Join(f.home(), ".codex/config.toml")
		text, err := os.ReadFile(config)
		require.NoError(f.t, err)
		f.write(config, "sandbox_mode = \"read-only\"\napproval_policy = \"on-request\"\n"+string(text))
	case "gemini":
		settings := filepath.Join(f.home(), ".gemini/settings.json")
		text, err := os.ReadFile(settings)
		require.NoError(f.t, err)
		f.write(settings, strings.Replace(string(text), "{", `{"tools": {"sandbox": "docker"}, `, 1))
		f.env = append(f.env, "GEMINI_SANDBOX=docker")
	}
}

// TestToolchainsBounded: agents of each real client, several at once with one login folder, run the tests of projects with toolchains in the
// home of the person, edit and commit, also where the person has switched on a sandbox of the client's own; so does the gate.
func TestToolchainsBounded(t *testing.T) {
	t.Parallel()
	levels := levelsHere(t)
	for name, agent := range unattended() {
		at, programs, tasks := levels[:1], []string{"go", "npm", "pytest", "cargo"}, []string{"one", "two", "three"}
		switch name {
		case "claude":
			at = fewLevels(levels)
		case "codex": // has a login shell
			programs = []string{"go"}
		case "gemini":
			programs = []string{"npm"}
		case "copilot":
			programs = []string{"pytest"}
		case "opencode":
			programs, tasks = []string{"cargo"}, []string{"one"} // it makes itself at home for each task
		}
		for _, l := range at {
			t.Run(name+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				tools := installed(t, programs...)
				tasks := tasks
				if !l.Mounts() { // the cache of Go's compiler is empty there, in each attempt and at each gate
					tasks = tasks[:1]
					tools = slices.DeleteFunc(tools, func(c toolchain) bool { return c.program == "go" && thorough(2, 1, 1) == 2 })
				}
				command := tests(tools)
				gate := tests(slices.DeleteFunc(slices.Clone(tools), func(c toolchain) bool { return c.program == "go" && !l.Mounts() }))
				f, _ := clientFixture(t, name, agent, testsAndCommits(command))
				f.bounds(l, tools)
				f.ownSandbox(name)
				if name == "claude" {
					f.settings(`command: "! grep -Hn wrong *.txt"`, fmt.Sprintf("command: %q", gate))
				}
				for _, task := range tasks {
					f.task("task " + task)
				}
				out, code := f.run(nil, "orch", "run", f.epic)
				logs, _ := f.run(nil, "orch", "logs", "e-1.1")
				require.Zero(t, code, "%s\n%s", out, logs)
				for _, task := range tasks {
					require.Equal(t, "right", f.must("git", "show", "epic/e-1:"+task+".txt"), logs)
				}
				f.nothingBounded()
			})
		}
	}
}

// bounds has the fixture's agents run at a level, with toolchains of the person's home, in a repository with a project for each.
func (f *fixture) bounds(l sandbox.Level, tools []toolchain) {
	f.t.Helper()
	f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
	f.without("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "CODEX_HOME", "COPILOT_HOME")
	f.livedIn(f.home())
	for _, c := range tools {
		for path, text := range c.files {
			f.write(filepath.Join(f.dir, path), text)
		}
	}
	f.write(filepath.Join(f.dir, ".gitignore"), ".beads/\nproject.yaml\ntarget/\n__pycache__/\n.pytest_cache/\n")
	f.must("git", "add", "-A")
	f.must("git", "commit", "-qm", "projects")
	f.settings("", "  run: {max_parallel: 3, attempts: 1}\n")
}
