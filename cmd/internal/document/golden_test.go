package document_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// TestMain lets the test binary be orch.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"orch": func() {
		self, err := exec.LookPath(os.Args[0])
		if err == nil {
			self, err = filepath.Abs(self)
		}
		if err := errors.Join(err, proc.Conceal(cli.MarkName)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cmd.Run(context.Background(), cmd.Process{Args: os.Args, Env: os.Environ(), Self: self, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			Now: time.Now, Children: proc.NewChildren()}))
	}})
}

// world is a repository, with a home of its own.
type world struct {
	*testing.T
	home, repo string
	docs       map[string]string // what was printed, by the name of its kind
}

func newWorld(t *testing.T) *world {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	w := &world{T: t, home: home, repo: filepath.Join(home, "repo"), docs: map[string]string{}}
	w.write("agent.sh", agent)
	w.write("repo/project.yaml", fmt.Sprintf(settings, filepath.Join(home, "agent.sh")))
	w.write("repo/.gitignore", ".beads/\n")
	w.git("init", "-q", "-b", "main")
	w.git("add", "-A")
	w.git("commit", "-qm", "base")
	return w
}

const agent = `case $ORCH_TASK in
e-1.2) echo "<promise>BLOCKED</promise>
Reason: which format?"; exit 0;;
esac
echo done >"$ORCH_TASK.txt" && git add -A && git commit -qm "$ORCH_TASK"
`

const settings = `workflow:
  tracker: {kind: file}
  gate: [{name: check, type: command, command: "! grep -Hns wrong one.txt"}]
  agent: {harness: command, command: [sh, %s]}
`

func (w *world) write(path, text string) {
	w.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.home, path)
	}
	require.NoError(w, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(w, os.WriteFile(path, []byte(text), 0o600))
}

func (w *world) env() []string {
	// The documents are the same on each machine, whatever sandbox it has.
	env := []string{"ORCH_SANDBOX_LEVEL=off", "HOME=" + w.home, "CODEX_SESSION_ID=s-2", "PATH=" + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "USER=me"}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+who+"_NAME=T", "GIT_"+who+"_EMAIL=t@localhost")
	}
	return env
}

func (w *world) command(name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(w.Context(), name, args...)
	c.Dir, c.Env = w.repo, w.env()
	return c
}

func (w *world) git(args ...string) string {
	w.Helper()
	out, err := w.command("git", args...).CombinedOutput()
	require.NoError(w, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

// orch runs a command with --json and gives what it prints.
func (w *world) orch(stdin string, args ...string) string {
	w.Helper()
	c := w.command("orch", append(slices.Clone(args), "--json")...)
	var said bytes.Buffer
	c.Stdin, c.Stderr = strings.NewReader(stdin), &said
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(w, err)
	}
	require.NotEmpty(w, out, "orch %v: %s", args, said.String())
	return string(out)
}

// keep takes what a command prints as the example of a kind.
func (w *world) keep(name, stdin string, args ...string) map[string]any {
	w.Helper()
	return w.take(name, w.orch(stdin, args...))
}

func (w *world) take(name, text string) map[string]any {
	w.Helper()
	var doc map[string]any
	require.NoError(w, json.Unmarshal([]byte(text), &doc), text)
	require.NotContains(w, w.docs, name)
	tag, _ := doc["schema"].(string)
	require.True(w, strings.HasPrefix(name, strings.ReplaceAll(tag, "/", "-")), "%s: %s", name, text)
	w.docs[name] = text
	return doc
}

// TestGolden: each kind of document has a golden example, which a real command prints in a real
// repository, and which its type reads and prints again without a loss.
func TestGolden(t *testing.T) { // alone: what it writes is read by others
	w := newWorld(t)
	w.tasks()
	w.session()
	w.run()
	for _, k := range document.Kinds() {
		text := w.docs[k.Name()]
		require.NotEmpty(t, text, "%s has no example", k.Name())
		delete(w.docs, k.Name())
		again(t, k, text)
		golden := w.normal(text)
		if document.Updating() {
			require.NoError(t, os.MkdirAll(filepath.Dir(document.GoldenFile(k)), 0o755))
			require.NoError(t, os.WriteFile(document.GoldenFile(k), []byte(golden), 0o644))
			continue
		}
		want, err := os.ReadFile(document.GoldenFile(k))
		require.NoError(t, err, "go test ./cmd/internal/document -update makes it")
		require.Equal(t, string(want), golden, "%s: go test ./cmd/internal/document -update makes it anew", k.Name())
	}
	require.Empty(t, w.docs, "examples of no kind")
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*"))
	require.NoError(t, err)
	require.Len(t, files, len(document.Kinds()), "an example of a kind that is gone")
}

// tasks makes an epic and what is asked of the tracker and of the repository.
func (w *world) tasks() {
	w.keep("orch.version-1", "", "version")
	w.keep("orch.text-1", "", "help", "version")
	w.orch("", "tasks", "create", "The epic", "--type", "epic", "--id", "e-1")
	w.keep("orch.tasks-1", "", "tasks", "create", "one", "--parent", "e-1", "-d", "write one", "-p", "1", "-l", "agent:me", "-e", "30")
	w.orch("", "tasks", "create", "two", "--parent", "e-1")
	w.orch("", "tasks", "create", "three", "--parent", "e-1", "--deps", "e-1.1")
	w.orch("", "tasks", "create", "four", "--id", "x-1")
	w.keep("orch.tasks-1.dep", "", "tasks", "dep", "add", "e-1.3", "e-1.2")
	w.orch("", "tasks", "dep", "remove", "e-1.3", "e-1.2")
	w.keep("orch.tasks-1.close", "", "tasks", "close", "x-1")
	w.keep("orch.tasks-1.import", `{"id":"x-2","title":"five","status":"open","priority":2,"issue_type":"task"}`+"\n", "tasks", "import", "-")
	w.keep("orch.task-1", "", "task", "get", "e-1.3")
	w.keep("orch.task-1.update", "", "task", "update", "x-2", "--status", "in_progress")
	w.keep("orch.product-1", "all of it", "task", "store", "x-2", "--type", "documentation", "--title", "A page", "--file=-")
	w.keep("orch.plan-2", "", "plan", "e-1")
	w.keep("orch.config-1", "", "config", "explain", "run.max_parallel")
	w.keep("orch.explain-1", "", "explain", "GATE_FAILED")
	w.keep("orch.error-1", "", "status", "e-9")
	w.keep("orch.doctor-1", "", "doctor")
	digest := w.keep("orch.trust-1", "", "trust")["digest"].(string)
	w.orch("", "trust", digest)
}

// session does what a session does: it works on a task by the iteration protocol, and lands it.
func (w *world) session() {
	dir := w.keep("orch.next-1", "", "next", "e-1", "-j", "1")["tasks"].([]any)[0].(map[string]any)["dir"].(string)
	w.write(filepath.Join(dir, "one.txt"), "wrong\n")
	w.keep("orch.verify-1", "", "verify", "e-1.1")
	w.orch("", "iteration", "start", "e-1.1")
	w.keep("orch.validate-1", "<promise>COMPLETE</promise>", "iteration", "validate", "e-1.1", "--output=-")
	w.keep("orch.checkpoint-1.create", "", "checkpoint", "create", "e-1.1", "--phase", "implementation", "--context", `{"file":"one.txt"}`, "--file", "one.txt")
	w.keep("orch.resume-1", "", "checkpoint", "resume", "e-1.1")
	points := w.keep("orch.checkpoints-1", "", "checkpoint", "list", "e-1.1")["checkpoints"].([]any)
	w.keep("orch.checkpoint-1.expire", "", "checkpoint", "expire", "e-1.1", points[0].(map[string]any)["checkpointId"].(string))
	w.keep("orch.checkpoint-1.cleanup", "", "checkpoint", "cleanup", "e-1.1", "--keep", "1")
	hook := w.keep("orch.hook-1.register", "", "hook", "register", "e-1.1", "--type", "tdd", "--rules", "check", "--metadata", "why=tests")["hookId"].(string)
	w.keep("orch.hook-1.evaluate", `{"iteration":2,"validationResults":[{"ruleName":"check","passed":false,"message":"wrong"}]}`, "hook", "evaluate", "e-1.1", "--debug")
	w.keep("orch.hook-1.list", "", "hook", "list", "e-1.1")
	w.keep("orch.hook-metrics-1", "", "hook", "metrics", "e-1.1")
	w.keep("orch.hook-1.switch", "", "hook", "disable", hook)
	w.keep("orch.hook-1.clear", "", "hook", "clear", "e-1.1")
	w.orch("", "iteration", "next", "e-1.1")
	w.write(filepath.Join(dir, "one.txt"), "right\n")
	w.orch("<promise>COMPLETE</promise>", "iteration", "validate", "e-1.1", "--output=-")
	w.keep("orch.iteration-1", "", "iteration", "complete", "e-1.1")
	w.keep("orch.session-1.bind", "", "session", "bind", "e-1", "--session", "s-1")
	w.keep("orch.sessions-1", "", "session", "list")
	w.keep("orch.stop-1", fmt.Sprintf(`{"session_id":"s-1","cwd":%q}`, w.repo), "stop-hook", "--explain")
	w.keep("orch.session-1.release", "", "session", "release", "--session", "s-1")
	w.orch("", "session", "bind", "e-1", "--session", "s-2")
	w.orch(fmt.Sprintf(`{"session_id":"s-2","cwd":%q,"last_assistant_message":"<promise>BLOCKED - NEEDS USER</promise>"}`, w.repo), "stop-hook")
	w.keep("orch.loop-1", "", "loop", "start", "add a page", "--criterion", "reviewed", "--step", "write", "--step", "read")
	w.keep("orch.land-2", "", "land", "e-1.1")
	w.keep("orch.diff-1", "", "diff", "e-1.1")
	w.keep("orch.logs-1", "", "logs", "e-1.1", "--brief")
	w.keep("orch.sandbox-1", "", "sandbox", "explain", "e-1.1")
}

// run has agents do the rest, and does what a person does after it.
func (w *world) run() {
	w.orch("", "run", "e-1")
	w.keep("orch.status-1", "", "status", "e-1")
	w.take("orch.progress-1", w.tool("progress_summary"))
	w.keep("orch.stats-1", "", "stats")
	w.take("orch.event-1", w.line(`"kind":"task_parked"`, "events", "e-1"))
	w.keep("orch.iteration-1.limit", "", "iteration", "limit", "e-1.3", "5")
	w.keep("orch.asked-1", "", "retry", "e-1.2", "-m", "JSON")
	w.keep("orch.purge-1", "", "purge", "--task", "e-1.1", "--dry-run")
	w.keep("orch.gc-1", "", "gc", "e-1", "--dry-run")
	w.git("update-ref", "refs/heads/epic/e-1", "main")
	w.keep("orch.epic-1", "", "epic", "restore", "e-1")
	w.keep("orch.started-1", "", "run", "e-1", "--detach")
	require.Eventually(w, func() bool { return strings.Contains(w.orch("", "status", "e-1"), `"held": false`) }, time.Minute, 1e8, "the run goes on")
	w.keep("orch.trust-1.revoke", "", "trust", "--revoke")
	w.keep("orch.init-1", "", "init")
}

// line is the line that a command prints with a text in it.
func (w *world) line(with string, args ...string) string {
	w.Helper()
	for line := range strings.Lines(w.orch("", args...)) {
		if strings.Contains(line, with) {
			return line
		}
	}
	require.Fail(w, "no such line", "%v %s", args, with)
	return ""
}

// tool asks a tool of orch mcp as a client does.
func (w *world) tool(name string) string {
	w.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(w.Context(), &mcp.CommandTransport{Command: w.command("orch", "mcp")}, nil)
	require.NoError(w, err)
	r, err := c.CallTool(w.Context(), &mcp.CallToolParams{Name: name})
	require.NoError(w, err)
	require.False(w, r.IsError, r.Content)
	text, err := json.Marshal(r.StructuredContent)
	require.NoError(w, err)
	require.NoError(w, c.Close())
	return string(text)
}

// again reads a document by its type, which has to name each field of it, and prints it again.
func again(t *testing.T, k document.Kind, text string) {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &fields))
	require.JSONEq(t, fmt.Sprintf("%q", k.Zero.Schema()), string(fields["schema"]), k.Name())
	delete(fields, "schema")
	rest, err := json.Marshal(fields)
	require.NoError(t, err)
	read := reflect.New(reflect.TypeOf(k.Zero))
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(read.Interface()), k.Name())
	printed, err := cli.Marshal(read.Elem().Interface().(cli.Document))
	require.NoError(t, err)
	require.JSONEq(t, text, string(printed), k.Name())
}

// normal is a document without what differs from one day, or place, to another.
func (w *world) normal(text string) string {
	w.Helper()
	text = strings.ReplaceAll(text, w.home, "/home/me")
	for _, r := range []struct{ find, put string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`, "2026-01-02T03:04:05Z"},
		{`sha256:[0-9a-f]{64}`, "sha256:" + strings.Repeat("0123456789abcdef", 4)},
		{`\b[0-9a-f]{40}\b`, strings.Repeat("0123456789", 4)},
		{`\b[0-9a-f]{32}\b`, strings.Repeat("01234567", 4)},
		{`\borch trust [0-9a-f]{12}\b`, "orch trust 0123456789ab"},
		{`("(\w+_ms|took|worked|pid)": ?)-?\d+`, "${1}1500"},
		{`HOOK-\d+-\w+`, "HOOK-1767323045-abcdef"},
		{`WP-\d+`, "WP-1767323045000000000"},
		{`\b(CP|IT)-\d+-\w+`, "${1}-1767323045000-abcdef"},
		{`"seq": ?\d+`, `"seq": 42`},
		{`"bytes": \d{3,}`, `"bytes": 2728`},
		{`made [\d-]+ [\d:]+ UTC`, "made 2026-01-02 03:04:05 UTC"},
		{`"print": "\w+"`, `"print": "0123456789abcdef01234567"`},
		{`"says": "\d+\.\d+\.\d+[^"]*"`, `"says": "2.50.0"`},
		{`answers in [^,]+,`, "answers in 10ms,"},
		{`[\d.]+ [KMGT]B free`, "100.0 GB free"},
		{`"born": ?\d+`, `"born": 3847`},
		{`"here": ?"\w+"`, `"here": "c704d642"`},
	} {
		text = regexp.MustCompile(r.find).ReplaceAllString(text, r.put)
	}
	var out bytes.Buffer
	require.NoError(w, json.Indent(&out, []byte(strings.TrimSpace(text)), "", "  "))
	return out.String() + "\n"
}
