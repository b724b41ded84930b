package validation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// run starts real processes.
func run(ctx context.Context, c command.Cmd) (command.Result, error) {
	return proc.New(proc.Options{Now: time.Now}).Run(ctx, c)
}

func env() []string { return []string{"PATH=" + os.Getenv("PATH"), "WORD=from outside"} }

// tree writes files below a new directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// judgeOne asks one rule.
func judgeOne(t testing.TB, r validation.Rule, in validation.Input) validation.Check {
	t.Helper()
	r.Name = "rule"
	v, err := validation.Judge(t.Context(), run, []validation.Rule{r}, in)
	require.NoError(t, err)
	require.Len(t, v.Checks, 1)
	require.Equal(t, v.Passed, v.Checks[0].Passed)
	require.True(t, utf8.ValidString(v.Checks[0].Output))
	return v.Checks[0]
}

type result string

const (
	passes result = "passes"
	fails  result = "fails"
	errs   result = "errs"
)

func resultOf(c validation.Check) result {
	switch {
	case c.Errored:
		return errs
	case c.Passed:
		return passes
	}
	return fails
}

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"here": "x", "noexec": "x"})
	tests := []struct {
		command string
		want    result
		code    int
		why     string
		output  string
	}{
		{"true", passes, 0, "exit 0", ""},
		{"exit 3", fails, 3, "exit 3", ""},
		{"cat here; pwd >&2; echo $WORD", passes, 0, "exit 0", "x" + dir + "\nfrom outside"},
		{"echo one; echo two >&2; echo three; false", fails, 1, "exit 1", "one\ntwo\nthree"},
		{"kill -9 $$", fails, 137, "ended by SIGKILL", ""},
		{"surely-not-a-program", errs, 127, "exit 127: a command was not found, or not to be run", "not found"},
		{"./noexec", errs, 126, "exit 126: a command was not found, or not to be run", "denied"},
		{`printf 'a\377b'`, passes, 0, "exit 0", "a?b"},
		{"read x && echo got $x; echo end", passes, 0, "exit 0", "end"},
	}
	for _, tt := range tests {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			c := judgeOne(t, validation.Rule{Type: validation.Command, Command: tt.command}, validation.Input{Dir: dir, Env: env()})
			require.Equal(t, tt.want, resultOf(c))
			require.Equal(t, tt.code, c.ExitCode)
			require.Equal(t, tt.why, c.Why)
			require.Contains(t, c.Output, tt.output)
			require.Equal(t, tt.command, c.Command)
		})
	}
}

func TestCommandOutputIsTheEnd(t *testing.T) {
	t.Parallel()
	c := judgeOne(t, validation.Rule{Type: validation.Command, Command: "seq 1 100000; exit 1"}, validation.Input{Dir: t.TempDir(), Env: env()})
	require.LessOrEqual(t, len(c.Output), 4096)
	require.Greater(t, len(c.Output), 3000)
	require.True(t, strings.HasSuffix(c.Output, "\n99999\n100000"))
	first, _, _ := strings.Cut(c.Output, "\n")
	require.Len(t, first, 5, "begins with a whole line")
}

func TestCommandTime(t *testing.T) {
	t.Parallel()
	c := judgeOne(t, validation.Rule{Type: validation.Command, Command: "echo begun; exec sleep 60", Timeout: 500 * time.Millisecond}, validation.Input{Dir: t.TempDir(), Env: env()})
	require.Equal(t, fails, resultOf(c))
	require.Equal(t, "did not end within 500ms", c.Why)
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	for _, r := range []validation.Rule{
		{Type: validation.Command, Command: "true"},
		{Type: validation.Custom, Command: "true"},
		{Type: validation.Coverage, Path: "c", Min: 1},
		{Type: validation.ContentPattern, Pattern: "x", Path: "f"},
	} {
		c := judgeOne(t, r, validation.Input{Dir: gone, Env: env()})
		require.Equal(t, errs, resultOf(c), r.Type)
		require.NotEmpty(t, c.Why)
	}
}

func TestCustom(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		want          result
		why           string
	}{
		{"yes", `echo '{"passed":true,"reason":"all good"}'`, passes, "all good"},
		{"no", `printf '%s' '{"passed":false,"reason":"two\nlines"}'`, fails, "two lines"},
		{"no reason", `echo '{"passed":false}'`, fails, "it answered passed: false"},
		{"more than asked", `echo '{"passed":true,"reason":"r","score":3}'`, passes, "r"},
		{"the context is on stdin", `grep -q '"output":"I said"' && echo '{"passed":true,"reason":"heard"}'`, passes, "heard"},
		{"silence", `true`, errs, "not understood"},
		{"no answer", `echo '{}'`, errs, "passed"},
		{"chatter", `echo hello; echo '{"passed":true}'`, errs, "not understood"},
		{"the answer of a crash", `echo '{"passed":true}'; exit 1`, errs, "exit 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := judgeOne(t, validation.Rule{Type: validation.Custom, Command: tt.command}, validation.Input{Dir: t.TempDir(), Env: env(), Output: "I said"})
			require.Equal(t, tt.want, resultOf(c), c.Why)
			require.Contains(t, c.Why, tt.why)
		})
	}
}

func TestCustomContext(t *testing.T) {
	t.Parallel()
	r := validation.Rule{Type: validation.Custom, Command: `printf '{"passed":true,"reason":"%s"}' "$(wc -c)"`}
	c := judgeOne(t, r, validation.Input{Dir: t.TempDir(), Env: env(), Context: json.RawMessage(`{"iteration":3}`)})
	require.Equal(t, "15", c.Why)
}

func TestContentPattern(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.go": "package a\n// TODO later\n", "sub/b.go": "package b\n", "sub/deep/c.txt": "TODO\n", ".git/d.go": "TODO", "[x].go": "odd name",
	})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link.go")))
	rule := func(pattern, target, path string) validation.Rule {
		return validation.Rule{Type: validation.ContentPattern, Pattern: pattern, Target: target, Path: path}
	}
	tests := []struct {
		name string
		rule validation.Rule
		want result // with Absent, passes and fails change places
		why  string
	}{
		{"output", rule(`COMP\w+`, "", ""), passes, "found in the output"},
		{"output named", rule("nothing", "output", ""), fails, "not found in the output"},
		{"file", rule("TODO", "", "a.go"), passes, "found in a.go"},
		{"glob", rule("TODO", "file", "*.go"), passes, "found in a.go"},
		{"glob in one folder", rule("TODO", "", "sub/*"), fails, "not found in 1 file"},
		{"glob across folders", rule("TODO", "", "sub/**"), passes, "found in sub/deep/c.txt"},
		{"glob of any depth", rule("package b", "", "**/*.go"), passes, "found in sub/b.go"},
		{"no links, no .git", rule("root|TODO", "", "**/[dl]*.go"), fails, "not found in 0 files"},
		{"no such file", rule("x", "", "none/such"), fails, "not found in 0 files"},
		{"changed", rule("package", "diff", ""), passes, "found in sub/b.go"},
		{"changed, of those", rule("package", "diff", "**/*.txt"), fails, "not found in 0 files"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := validation.Input{Dir: dir, Output: "<promise>COMPLETE</promise>", Files: []string{"deleted.go", "sub/b.go"}}
			c := judgeOne(t, tt.rule, in)
			require.Equal(t, tt.want, resultOf(c), c.Why)
			require.Equal(t, tt.why, c.Why)
			tt.rule.Absent = true
			c = judgeOne(t, tt.rule, in)
			require.Equal(t, map[result]result{passes: fails, fails: passes}[tt.want], resultOf(c), c.Why)
			require.Equal(t, tt.why, c.Why)
		})
	}
	t.Run("says the line", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "2: // TODO later", judgeOne(t, rule("TODO", "", "a.go"), validation.Input{Dir: dir}).Output)
	})
	t.Run("a changed link out of the directory", func(t *testing.T) {
		t.Parallel()
		c := judgeOne(t, rule("root", "diff", ""), validation.Input{Dir: dir, Files: []string{"link.go"}})
		require.Equal(t, errs, resultOf(c))
	})
	t.Run("a changed name out of the directory", func(t *testing.T) {
		t.Parallel()
		c := judgeOne(t, rule("root", "diff", ""), validation.Input{Dir: dir, Files: []string{"../../../../../../etc/passwd"}})
		require.Equal(t, errs, resultOf(c))
	})
}

func TestFilesChanged(t *testing.T) {
	t.Parallel()
	files := []string{"CHANGELOG.md", "cmd/orch/main.go", "cmd/root.go"}
	for glob, want := range map[string]result{
		"CHANGELOG.md": passes, "*.md": passes, "**": passes, "cmd/**": passes, "**/main.go": passes, "**/root.go": passes, "c*/?oot.go": passes,
		"*/*.go": passes, "*.go": fails, "cmd": fails, "cmd/*/root.go": fails, "[A-C]*.md": passes, "[!A-C]*.md": fails, "[^x]mdx": fails, "cmd[!x]root.go": fails,
	} {
		t.Run(glob, func(t *testing.T) {
			t.Parallel()
			r := validation.Rule{Type: validation.FilesChanged, Path: glob}
			c := judgeOne(t, r, validation.Input{Files: files})
			require.Equal(t, want, resultOf(c))
			r.Absent = true
			require.NotEqual(t, want, resultOf(judgeOne(t, r, validation.Input{Files: files})))
		})
	}
}

func TestScore(t *testing.T) {
	t.Parallel()
	yes := validation.Rule{Name: "yes", Type: validation.Command, Command: "true"}
	no := validation.Rule{Name: "no", Type: validation.Command, Command: "false"}
	odd := validation.Rule{Name: "odd", Type: "odd"}
	tests := []struct {
		name   string
		rules  []validation.Rule
		score  int
		passed bool
	}{
		{"no rules", nil, 100, true},
		{"all", []validation.Rule{yes, yes}, 100, true},
		{"two of three", []validation.Rule{yes, no, yes}, 67, false},
		{"none", []validation.Rule{no}, 0, false},
		{"errors cost", []validation.Rule{yes, yes, no, odd}, 25, false},
		{"never below 0", []validation.Rule{odd, odd}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := validation.Judge(t.Context(), run, tt.rules, validation.Input{Dir: t.TempDir(), Env: env()})
			require.NoError(t, err)
			require.Equal(t, tt.score, v.Score)
			require.Equal(t, tt.passed, v.Passed)
			require.Len(t, v.Checks, len(tt.rules), "all are asked, whatever comes")
		})
	}
}

func TestJudgeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0
	stop := func(ctx context.Context, c command.Cmd) (command.Result, error) {
		asked++
		cancel(enough)
		return run(ctx, c)
	}
	rule := validation.Rule{Name: "long", Type: validation.Command, Command: "sleep 60"}
	_, err := validation.Judge(ctx, stop, []validation.Rule{rule, rule}, validation.Input{Dir: t.TempDir(), Env: env()})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 1, asked)
}

func TestTook(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	in := validation.Input{Now: func() time.Time { at = at.Add(time.Second); return at }}
	v, err := validation.Judge(t.Context(), run, []validation.Rule{{Name: "n", Type: validation.ContentPattern, Pattern: "x"}}, in)
	require.NoError(t, err)
	require.Equal(t, time.Second, v.Checks[0].Took)
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	v := validation.Verdict{Checks: []validation.Check{
		{Rule: "lint", Command: "golint", Passed: true, Why: "exit 0", Output: "fine"},
		{Rule: "tests", Command: "go test ./...", Why: "exit 1", Output: "--- FAIL: TestX\n    x_test.go:3: no"},
		{Rule: "types", Command: "tsc", Errored: true, Why: "exit 127"},
	}}
	require.Equal(t, strings.TrimPrefix(`
1 of 3 rules passed.

FAILED tests: exit 1
$ go test ./...
--- FAIL: TestX
    x_test.go:3: no

COULD NOT BE CHECKED types: exit 127
$ tsc

Passed: lint
`, "\n"), v.Feedback())
}

func TestFeedbackIsBounded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 200} {
		v := validation.Verdict{}
		for i := range n {
			v.Checks = append(v.Checks, validation.Check{
				Rule: fmt.Sprintf("rule-%d", i), Why: "exit 1", Command: strings.Repeat("é", 2000), Output: strings.Repeat("ß long line\n", 340) + "the end",
			})
		}
		text := v.Feedback()
		require.LessOrEqual(t, len(text), 8<<10)
		require.True(t, utf8.ValidString(text))
		require.Contains(t, text, "FAILED rule-0: exit 1")
		require.Contains(t, text, "the end")
	}
}

func ExampleJudge() {
	rules := []validation.Rule{
		{Name: "no_todo", Type: validation.ContentPattern, Pattern: "TODO", Target: validation.TargetOutput, Absent: true},
		{Name: "changelog", Type: validation.FilesChanged, Path: "CHANGELOG.md"},
	}
	in := validation.Input{Output: "All done.", Files: []string{"main.go"}}
	v, err := validation.Judge(context.Background(), nil, rules, in)
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Passed, v.Score)
	fmt.Print(v.Feedback())
	// Output:
	// false 50
	// 1 of 2 rules passed.
	//
	// FAILED changelog: not found in 1 changed file
	//
	// Passed: no_todo
}

// TestParallel: rules next to each other that may run side by side do: each of these waits
// for the other. One that may not waits for them.
func TestParallel(t *testing.T) {
	t.Parallel()
	meet := func(mine, other string) string {
		return "touch " + mine + "; while [ ! -e " + other + " ]; do sleep 0.01; done"
	}
	rules := []validation.Rule{
		{Name: "a", Type: validation.Command, Command: meet("a", "b"), Parallel: true, Timeout: time.Minute},
		{Name: "b", Type: validation.Command, Command: meet("b", "a"), Parallel: true, Timeout: time.Minute},
		{Name: "off", Type: validation.Command, Command: "false", Off: true},
		{Name: "after", Type: validation.Command, Command: "test -e a && test -e b"},
	}
	v, err := validation.Judge(t.Context(), run, rules, validation.Input{Dir: t.TempDir(), Env: env()})
	require.NoError(t, err)
	require.True(t, v.Passed, v.Feedback())
	require.Len(t, v.Checks, 3, "one that is off is not asked")
	require.Equal(t, "after", v.Checks[2].Rule)
}

// TestDir: a command runs in its folder; one that is outside, or is not there, is no pass.
func TestDir(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"web/package.json": "{}"})
	in := validation.Input{Dir: dir, Env: env()}
	require.Equal(t, passes, resultOf(judgeOne(t, validation.Rule{Type: validation.Command, Command: "test -e package.json", Dir: "web"}, in)))
	require.Equal(t, errs, resultOf(judgeOne(t, validation.Rule{Type: validation.Command, Command: "true", Dir: "none"}, in)))
	for _, bad := range []string{"..", "/etc", "a/../../b"} {
		require.Equal(t, errs, resultOf(judgeOne(t, validation.Rule{Type: validation.Command, Command: "true", Dir: bad}, in)), bad)
	}
}

// TestWorkProduct: what was stored for the task is looked into too.
func TestWorkProduct(t *testing.T) {
	t.Parallel()
	in := validation.Input{Dir: t.TempDir(), Products: "## Threats\nnone left\n"}
	r := validation.Rule{Type: validation.ContentPattern, Pattern: "(?m)^## Threats$", Target: validation.TargetProduct}
	require.Equal(t, passes, resultOf(judgeOne(t, r, in)))
	r.Absent = true
	require.Equal(t, fails, resultOf(judgeOne(t, r, in)))
	r.Path = "x"
	require.Equal(t, errs, resultOf(judgeOne(t, r, in)))
}

// A command that could not be started says nothing of the work, and its error has to reach the caller.
func TestJudgeNotStarted(t *testing.T) {
	t.Parallel()
	rules := []validation.Rule{{Name: "first", Type: validation.Command, Command: "true"}, {Name: "second", Type: validation.Custom, Command: "true", Parallel: true}}
	for _, cause := range []error{syscall.EMFILE, syscall.EAGAIN, command.ErrGuard} {
		v, err := validation.Judge(t.Context(), func(ctx context.Context, c command.Cmd) (command.Result, error) {
			if len(c.Stdin) == 0 {
				return run(ctx, c)
			}
			return command.Result{ExitCode: -1}, fmt.Errorf("sh: %w", cause)
		}, rules, validation.Input{Dir: t.TempDir(), Env: env()})
		require.NoError(t, err)
		require.False(t, v.Passed)
		require.ErrorIs(t, v.Err(), cause)
		require.ErrorContains(t, v.Err(), "asking second: sh: ")
	}
	rules[1].Command = "exit 127"
	v, err := validation.Judge(t.Context(), run, rules, validation.Input{Dir: t.TempDir(), Env: env()})
	require.NoError(t, err)
	require.True(t, v.Checks[1].Errored)
	require.NoError(t, v.Err(), "a command that ran has answered")
}
