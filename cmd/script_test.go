package cmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"

	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/worktree/worktreetest"
)

// TestScripts runs the stories of testdata/script: the real orch, the real git,
// agents that are programs.
func TestScripts(t *testing.T) {
	t.Parallel()
	level := levelOfDefault(t)
	t.Logf("the scripts run without a sandbox, those of default* at the default: %s", cmp.Or(level, "this machine has no level"))
	memory := os.Getenv(memoryName)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		WorkdirRoot:         memory,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("ORCH_TEST_UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			if memory != "" { // testscript leaves it there
				e.Defer(func() { assert.NoError(t, removeAll(e.WorkDir)) })
			}
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TERM", "dumb")
			if off := strings.Split(unbounded(), "="); !strings.HasPrefix(filepath.Base(e.WorkDir), "script-default") {
				e.Setenv(off[0], off[1])
			}
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				e.Setenv("GIT_"+who+"_NAME", "T")
				e.Setenv("GIT_"+who+"_EMAIL", "t@localhost")
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "thorough":
				return thorough(0, 1, 1) == 1, nil
			case "sandbox":
				return level != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "repo": makeRepo, "waitfile": waitFile, "grepped": grepped, "trust": confirm},
	})
}

// levelOfDefault is the sandbox that this machine has where nothing is set; "" none.
func levelOfDefault(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), filepath.Join(bin(t), "orch"), "doctor", "--sandbox", "--json")
	c.Dir, c.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir()}
	out, err := c.Output()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	for _, l := range sandbox.Levels() {
		if strings.Contains(string(out), string(l)+" stands") {
			return string(l)
		}
	}
	return ""
}

// exits runs a program that has to end with the code: exits 3 orch run e-1.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	runs := len(args) > 2 && args[1] == "orch" && args[2] == "run" && !slices.Contains(args, "--into")
	before := ""
	if runs {
		before = checkout(ts)
	}
	err = ts.Exec(args[1], args[2:]...)
	if runs && checkout(ts) != before {
		ts.Fatalf("the run has changed the checkout:\n%s\nwas\n%s", checkout(ts), before)
	}
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != want {
		ts.Fatalf("exit %d, want %d\n%s%s", code, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// waitFile waits until a program of the script has made a file.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s does not come", args[0])
}

// checkout is the repository of the script as its person has it, without what the
// tracker writes; empty where there is none.
func checkout(ts *testscript.TestScript) string {
	if _, err := os.Stat(ts.MkAbs(".git")); err != nil {
		return ""
	}
	lines, err := worktreetest.Take(ts.MkAbs("."))
	ts.Check(err)
	return strings.Join(slices.DeleteFunc(strings.Split(lines, "\n"), func(line string) bool { return strings.HasPrefix(line, ".beads/") }), "\n")
}

// makeRepo makes the folder r a repository whose settings are the file
// settings.yaml, and whose agent is agent.sh, both of the script.
func makeRepo(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(os.MkdirAll(ts.MkAbs("r"), 0o700))
	settings, err := os.ReadFile(ts.MkAbs("settings.yaml"))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("r/project.yaml"), []byte(os.Expand(string(settings), func(name string) string {
		if name == "AGENT" {
			return ts.MkAbs("agent.sh")
		}
		return "$" + name
	})), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("r/.gitignore"), []byte(".beads/\n"), 0o600))
	ts.Check(ts.Chdir("r"))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		ts.Check(ts.Exec("git", args...))
	}
	confirm(ts, false, nil)
}

// confirm has a person allow what the repository wants to run now.
func confirm(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Exec("orch", "trust", "--show", "--json"))
	ts.Check(ts.Exec("orch", "trust", digestIn(ts.ReadFile("stdout"))))
}

// digestIn is the digest in the document of orch trust.
func digestIn(document string) string {
	var doc struct {
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		return err.Error()
	}
	return doc.Digest
}

// grepped looks for a text in all files below a folder: ! grepped TEXT FOLDER.
func grepped(ts *testscript.TestScript, neg bool, args []string) {
	var found []string
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if files++; strings.Contains(string(text), args[0]) {
			found = append(found, path)
		}
		return err
	}))
	if files == 0 && !neg || neg != (len(found) == 0) {
		ts.Fatalf("%q is in %q, of %d files", args[0], found, files)
	}
}
