package cmd

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/inside"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/probe"
)

// TestMain lets the test binary be orch, for scripts and for tests that kill it; within a sandbox too, where the folder of
// orch is not on PATH.
//
// Much of what the tests do is to wait for processes: in an ordinary run twice as many as usual go on side by side.
func TestMain(m *testing.M) {
	if code, ok := sandbox.Serve(os.Args, os.Environ()); ok {
		os.Exit(code)
	}
	if code, ok := probe.Serve(os.Args); ok {
		os.Exit(code)
	}
	if filepath.Base(os.Args[0]) == inside.BD { // which it is within a sandbox
		asOrch()
	}
	if err := flag.Set("test.parallel", strconv.Itoa(thorough(2, 1, 1)*runtime.GOMAXPROCS(0))); err != nil { // what the command line says holds
		panic(err)
	}
	testscript.Main(inMemory{m}, map[string]func(){"orch": asOrch})
}

func asOrch() {
	debug.SetGCPercent(400) // what it holds because it is a test binary too is not to be collected in each of thousands of short commands
	proc.KeepOwnerBits()
	proc.KeepName()
	err := proc.Conceal(cli.MarkName)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	self, err := exec.LookPath(os.Args[0])
	if err == nil {
		self, err = filepath.Abs(self)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(context.Background(), Process{
		Args: os.Args, Env: os.Environ(), Self: self, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now,
		Children: proc.NewChildren(),
	}, testFaults()))
}

// thorough is how much of something a test tries, or the step from one to the next: an ordinary run has a few minutes on
// two cores; under ORCH_TEST_STRICT there is more time, and under ORCH_TEST_LONG all there is.
func thorough(ordinary, strict, long int) int {
	switch {
	case os.Getenv("ORCH_TEST_LONG") != "":
		return long
	case os.Getenv("ORCH_TEST_STRICT") != "":
		return strict
	}
	return ordinary
}

// testFaults are what the environment asks for.
func testFaults() faults {
	if f := pauseAt(os.Getenv("ORCH_TEST_PAUSE")); f != nil {
		return f
	}
	return killAt(os.Getenv("ORCH_TEST_KILL"))
}

// killAt makes orch kill itself, as SIGKILL from outside would, at the n-th
// event that is written: "before 7" or "after 7".
func killAt(when string) func(func(...epic.Event) error) func(...epic.Event) error {
	if when == "" {
		return nil
	}
	var n int
	var side string
	if _, err := fmt.Sscan(when, &side, &n); err != nil {
		panic(err)
	}
	return func(write func(...epic.Event) error) func(...epic.Event) error {
		written := 0
		return func(events ...epic.Event) error {
			for _, e := range events {
				written++
				if written == n && side == "before" {
					die()
				}
				if err := write(e); err != nil {
					return err
				}
				if written == n {
					die()
				}
			}
			return nil
		}
	}
}

func die() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {}
}

// bin is a folder with orch in it: this test binary under that name.
func bin(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "orch")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unbounded is the environment of fixtures, whose agents and gates are scripts that reach what is outside of a sandbox on purpose: the
// journal, orch's processes, files by which a test waits for them. What is to hold in a sandbox is tried by the tests of the sandbox, by the
// scripts whose names begin with default, and by the demo.
func unbounded() string { return "ORCH_SANDBOX_LEVEL=off" }

// byDefault has orch go by the settings alone.
func (f *fixture) byDefault() {
	f.env = slices.DeleteFunc(f.env, func(e string) bool { return e == unbounded() })
}

// fixture is a repository with an epic in the embedded tracker, and scripted
// agents.
type fixture struct {
	t    *testing.T
	dir  string // the repository
	bin  string
	env  []string
	epic string
}

// newFixture makes a repository whose settings name agent, a shell script, and
// gate, a shell command.
func newFixture(t *testing.T, agent, gate string) *fixture {
	t.Helper()
	return newFixtureIn(t, t.TempDir(), agent, gate)
}

// newFixtureIn is newFixture in a folder that is there.
func newFixtureIn(t *testing.T, top, agent, gate string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: filepath.Join(top, "repo"), bin: bin(t), epic: "e-1"}
	t.Cleanup(f.deserted)
	f.env = []string{unbounded(), "PATH=" + f.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + top, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost"}
	f.write(filepath.Join(top, "agent.sh"), agent)
	f.write(filepath.Join(f.dir, "project.yaml"), fmt.Sprintf("workflow:\n  tracker: {kind: file}\n  gate: [{name: gate, type: command, command: %q}]\n  agent: {harness: command, command: [sh, %s]}\n", gate, filepath.Join(top, "agent.sh")))
	f.write(filepath.Join(f.dir, ".gitignore"), ".beads/\nproject.yaml\n")
	f.must("git", "init", "-q", "-b", "main")
	f.must("git", "add", "-A")
	f.must("git", "commit", "-q", "-m", "base")
	f.must("orch", "tasks", "create", "The epic", "--type", "epic", "--id", f.epic)
	f.trust()
	return f
}

// deserted waits until no process works in the repository any more: a driver that a killed viewer had started may still
// have something to write, and the folder is about to be removed.
func (f *fixture) deserted() {
	assert.EventuallyWithT(f.t, func(c *assert.CollectT) {
		working, err := filepath.Glob("/proc/[0-9]*/cwd")
		assert.NoError(c, err)
		for _, link := range working {
			if at, err := os.Readlink(link); err == nil && (at == f.dir || strings.HasPrefix(at, f.dir+"/")) {
				command, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
				assert.Fail(c, "a process is left", "%s in %s: %q", filepath.Dir(link), at, command)
			}
		}
	}, time.Minute, 20*time.Millisecond)
}

// trust has a person allow what the repository wants to run now.
func (f *fixture) trust() {
	f.t.Helper()
	f.must("orch", "trust", digestIn(f.must("orch", "trust", "--show", "--json")))
}

func (f *fixture) write(path, text string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// settings replaces a part of the settings; "" stands for their end.
func (f *fixture) settings(old, now string) {
	f.t.Helper()
	path := filepath.Join(f.dir, "project.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	if old == "" {
		f.write(path, string(text)+now)
	} else {
		f.write(path, strings.Replace(string(text), old, now, 1))
	}
	f.trust()
}

// task adds a task to the epic that waits for others of it.
func (f *fixture) task(title string, deps ...string) {
	f.t.Helper()
	args := []string{"tasks", "create", title, "--parent", f.epic}
	for _, d := range deps {
		args = append(args, "--deps", f.epic+d)
	}
	f.must("orch", args...)
}

// run runs a command in the repository; extra is added to its environment.
func (f *fixture) run(extra []string, name string, args ...string) (string, int) {
	f.t.Helper()
	path := name
	if name == "orch" {
		path = filepath.Join(f.bin, "orch")
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.Env = f.dir, append(f.env, extra...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		f.t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out), c.ProcessState.ExitCode()
}

func (f *fixture) must(name string, args ...string) string {
	f.t.Helper()
	out, code := f.run(nil, name, args...)
	if code != 0 {
		f.t.Fatalf("%s %v: exit %d\n%s", name, args, code, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// allLanded: each task is closed, and has landed once.
func (f *fixture) allLanded(out string) {
	t := f.t
	t.Helper()
	landed := strings.Fields(f.must("git", "log", "--first-parent", "--format=%(trailers:key=Orch-Task,valueonly)", "main..epic/"+f.epic))
	require.ElementsMatch(t, []string{"e-1.1", "e-1.2", "e-1.3"}, landed, "each landed once:\n%s", out)
	var list struct{ Issues []struct{ ID, Status string } }
	require.NoError(t, json.Unmarshal([]byte(f.must("orch", "tasks", "list", "--all", "--json")), &list))
	for _, i := range list.Issues {
		require.Equal(t, "closed", i.Status, i.ID)
		if i.ID != f.epic {
			require.Equal(t, i.ID, f.must("git", "show", "epic/"+f.epic+":"+i.ID))
		}
	}
	rec, err := journal.Read(f.epicDir())
	require.NoError(t, err)
	_, err = epicstore.Replay(rec.Records)
	require.NoError(t, err)
}
