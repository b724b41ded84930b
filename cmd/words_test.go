package cmd

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

// canary is in the values of two secret variables, which orch and all that it starts have: one that looks secret, and
// one that the settings call so. words has both.
const (
	canary = "-canary-"
	words  = "it is plum-canary-tree and fern-canary-leaf"
)

// canaries are the variables.
func canaries() []string {
	return []string{"MY_TOKEN=plum-canary-tree", "CORP_SEED=fern-canary-leaf"}
}

// line is a command line with what it reads; @ stands for words with the canary in them.
type line struct {
	stdin string
	args  []string
}

func said(args ...string) line { return line{args: args} }

// everyVerb is a command line of every command, in an order in which each has something to do. Those
// that only read are asked by the words too: an error keeps none either.
func everyVerb() []line {
	const stop = `{"session_id": "s-1", "hook_event_name": "Stop", "last_assistant_message": "@", "prompt": "@"}`
	return []line{
		said("tasks", "create", "@", "--parent", "e-1", "-d", "@", "--notes", "@", "--acceptance", "@", "--design", "@", "--labels", "@", "--assignee", "@"),
		said("tasks", "update", "e-1.2", "--title", "two @", "-d", "@", "--notes", "@", "--acceptance", "@", "--design", "@", "--labels", "@", "--status", "open"),
		said("tasks", "close", "e-1.3", "--reason", "@", "--force"),
		{`{"id": "e-1.8", "title": "@", "status": "closed", "priority": 2, "issue_type": "task", "close_reason": "@", "labels": ["@"], "more": {"of": ["@"]}, "comments": [{"author": "@", "text": "@"}], ` + `"dependencies": [{"issue_id": "e-1.8", "depends_on_id": "e-1", "type": "parent-child", "created_by": "@", "metadata": "{\"of\":\"@\"}"}]}`, []string{"tasks", "import", "-"}},
		said("tasks", "dep", "add", "e-1.2", "e-1.4", "--type", "@"), said("tasks", "dep", "remove", "e-1.2", "e-1.4"),
		said("tasks", "list", "--parent", "@"), said("tasks", "ready", "--parent", "@"), said("tasks", "show", "@"), said("tasks", "export"),
		said("task", "get", "@"), said("task", "update", "e-1.2", "--status", "open", "--note", "@"),
		{"@", []string{"task", "store", "e-1.2", "--title", "@", "--type", "@"}},
		said("session", "bind", "e-1", "--session", "s-1"), said("session", "bind", "e-1", "--session", "s @"), said("session", "list"),
		said("next", "e-1", "--max-parallel", "1"), said("plan", "@"), said("watch", "@"), said("status", "@"), said("stats", "--agent", "@"),
		said("iteration", "start", "e-1.1", "--promise", "done @"), said("iteration", "start", "e-1.1"), said("iteration", "start", "e-1.2", "--rule", "x=echo @"),
		{"- {name: @, type: content_pattern, pattern: @}", []string{"iteration", "start", "e-1.2", "--rules", "-"}},
		{"I say @\n<promise>@</promise>", []string{"iteration", "validate", "e-1.1", "--output", "-"}},
		said("iteration", "next", "e-1.1", "--notes", "@"), said("iteration", "limit", "e-1.1", "9"), said("iteration", "status", "e-1.1"),
		{"@", []string{"checkpoint", "create", "e-1.1", "--trigger", "@", "--phase", "@", "--context", `{"@": ["@", 1]}`, "--file", "@", "--draft", "-", "--draft-type", "@"}},
		said("checkpoint", "list", "e-1.1"), said("checkpoint", "resume", "e-1.1"), said("checkpoint", "expire", "e-1.1", "@"), said("checkpoint", "cleanup", "e-1.1"),
		said("hook", "register", "e-1.1", "--metadata", "why @=@"), said("hook", "register", "e-1.1", "--type", "tdd", "--rules", "@"),
		said("hook", "register", "e-1.1", "--type", "command", "--command", "echo", "--command", "@"),
		said("hook", "register", "e-1.1", "--spec", `{"type": "all", "hooks": [{"type": "command", "command": ["echo", "@"]}]}`),
		{`{"iteration": 1, "agentOutput": "@", "draftContent": "@"}`, []string{"hook", "evaluate", "e-1.1"}},
		said("hook", "list"), said("hook", "metrics"), said("hook", "disable", "@"), said("hook", "enable", "@"),
		said("iteration", "complete", "e-1.1"),
		said("loop", "start", "@", "--criterion", "one @", "--criterion", "two=true", "--step", "step @", "--step", "last"), said("loop", "set", "one @", "true"),
		said("loop", "step", "step @"), said("loop", "verify"), said("loop", "take", "--session", "t @"), said("loop", "status"),
		said("loop", "start", "x", "--force", "--criterion", "three=echo @"), {stop, []string{"stop-hook"}}, said("loop", "cancel"),
		{stop, []string{"session-start"}}, {stop, []string{"session-prompt"}}, {stop, []string{"stop-hook", "e-1"}}, {stop, []string{"session-end"}},
		said("verify", "e-1.1"), said("land", "e-1.1"), said("skip", "e-1.4", "--reason", "@"), said("run", "e-1"), said("answer", "e-1.2", "@"), said("retry", "e-1.4", "--message", "@"),
		said("run", "e-1", "--allow-protected", "@"),
		said("pause", "@"), said("continue", "@"), said("stop", "@"), said("epic", "merge", "e-1", "@"), said("epic", "accept", "@"), said("epic", "restore", "@"),
		said("logs", "e-1.2"), said("diff", "e-1.2"), said("events", "@"), said("explain", "@"), said("config", "explain", "@"), said("doctor", "--fix"), said("trust", "@"),
		said("init", "--yes", "--client", "@"), said("init", "--yes", "--client", "claude"), said("version"),
		said("sandbox", "try", "--read", "/@", "--write", "/@", "--level", "@", "--as", "@", "--show"), said("sandbox", "try", "--", "echo", "@"), said("sandbox", "explain", "@"),
		said("session", "release", "--session", "s-1"), said("hook", "clear", "e-1.1"), said("gc", "e-1"), said("purge", "--task", "e-1.1"),
	}
}

// TestWordsKeepNoSecret: whatever words come in by a command, in its arguments, its flags or what it
// reads, no value of a secret variable among them is kept: in the tracker, products, loops, checkpoints,
// hooks, sessions, journals, logs.
func TestWordsKeepNoSecret(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo "it is $MY_TOKEN $CORP_SEED"
if [ "$ORCH_TASK" = e-1.2 ] && ! [ -e ../../asked ]; then touch ../../asked; echo "<promise>BLOCKED</promise> Reason: is it $MY_TOKEN?"; exit; fi
echo x >"$ORCH_TASK"; git add -A; git commit -q -m "it is $ORCH_TASK"`, "true")
	f.settings("command, command: [sh,", "command, env: [MY_TOKEN], command: [sh,")
	f.settings("", "  secrets: [CORP_SEED]\n")
	for _, title := range []string{"one", "two", "three", "four"} {
		f.task(title)
	}
	f.env = append(f.env, append(canaries(), "CLAUDE_CODE_SESSION_ID=s-1")...)
	given := map[string]map[string]bool{}
	for _, l := range everyVerb() {
		c, _, err := newRoot(&app{App: &cli.Invocation{}}).Find(l.args)
		require.NoError(t, err)
		if given[c.CommandPath()] == nil {
			given[c.CommandPath()] = map[string]bool{}
		}
		for _, arg := range l.args {
			given[c.CommandPath()][strings.TrimLeft(arg, "-")] = true
		}
		f.tell(l)
	}
	none := []string{"orch completion bash", "orch completion fish", "orch completion powershell", "orch completion zsh", "orch demo agent", "orch help", "orch mcp"}
	for _, c := range commandsBelow(newRoot(&app{App: &cli.Invocation{}})) {
		if path := c.CommandPath(); !c.HasSubCommands() && !slices.Contains(none, path) {
			require.Contains(t, given, path)
		}
	}
	require.NotEmpty(t, f.grep("it is [redacted MY_TOKEN] and [redacted CORP_SEED]"), "words are kept at all")
}

// TestFlagsKeepNoSecret is the same for each flag by itself, but for ids and names of references, which stay as they are.
func TestFlagsKeepNoSecret(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo x >"$ORCH_TASK"; git add -A; git commit -q -m x`, "true")
	f.settings("", "  secrets: [CORP_SEED]\n")
	f.task("one")
	f.env = append(f.env, append(canaries(), "CLAUDE_CODE_SESSION_ID=s-1")...)
	for _, l := range everyVerb() {
		c, _, err := newRoot(&app{App: &cli.Invocation{}}).Find(l.args)
		require.NoError(t, err)
		c.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if kind := flag.Value.Type(); strings.HasPrefix(kind, "string") && !slices.Contains([]string{"id", "into", "base"}, flag.Name) && !slices.Contains(l.args, "--"+flag.Name) {
				f.tell(line{l.stdin, append(slices.Clone(l.args), "--"+flag.Name, "@=@")})
			}
		})
	}
}

// tell gives a command, whatever it answers.
func (f *fixture) tell(l line) {
	f.t.Helper()
	args := slices.Clone(l.args)
	for n := range args {
		args[n] = strings.ReplaceAll(args[n], "@", words)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(f.bin, "orch"), args...)
	c.Dir, c.Env, c.Stdin = f.dir, f.env, strings.NewReader(strings.ReplaceAll(l.stdin, "@", words))
	out, err := c.CombinedOutput()
	require.NotNil(f.t, c.ProcessState, "%v: %v", args, err)
	f.t.Logf("%q: exit %d %s", args, c.ProcessState.ExitCode(), out)
	if l.args[0] != "session-start" && l.args[0] != "session-prompt" && l.args[0] != "session-end" { // which say on standard error that they are called wrongly, before they know the settings
		require.NotContains(f.t, string(out), canary, "%v", args)
	}
	if found := f.grep(canary); len(found) > 0 {
		f.t.Errorf("%v: kept in %v", args, found)
		for _, path := range found {
			text, err := os.ReadFile(path)
			require.NoError(f.t, err)
			if f.write(path, strings.ReplaceAll(string(text), canary, "told")); strings.Contains(path, canary) {
				require.NoError(f.t, os.Remove(path))
			}
		}
	}
}

// grep lists the files of the repository, and of the person's folders, that have a text.
func (f *fixture) grep(text string) (found []string) {
	f.t.Helper()
	require.NoError(f.t, filepath.WalkDir(filepath.Dir(f.dir), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // of a command that has ended, and is tidying up
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if strings.Contains(path, text) || strings.Contains(string(body), text) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// TestToolsKeepNoSecret is the same for the tools of orch mcp: each is called with the canary in all that it takes.
func TestToolsKeepNoSecret(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, "true", "true")
	f.settings("", "  secrets: [CORP_SEED]\n")
	f.task("one")
	f.task("two")
	f.env = append(f.env, canaries()...)
	c := connect(t, f)
	listed, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	tools := map[string]*mcp.Tool{}
	for _, tool := range listed.Tools {
		tools[tool.Name] = tool
	}
	fixed := map[string]any{"taskId": "e-1.1", "id": "e-1.1", "iterationId": "e-1.1", "epic": "e-1", "status": "open", "maxIterations": 5, "hookType": "max-iterations", "validationRules": []any{}, "completionPromises": []any{}}
	order := []string{"epic_next", "iteration_start", "task_update", "work_product_store", "iteration_validate", "iteration_next", "checkpoint_create", "hook_register", "hook_evaluate"}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	for _, name := range order {
		text, err := json.Marshal(tools[name].InputSchema)
		require.NoError(t, err)
		var schema jsonschema.Schema
		require.NoError(t, json.Unmarshal(text, &schema))
		in := map[string]any{}
		for field, of := range schema.Properties {
			if value, ok := fixed[field]; ok {
				in[field] = value
			} else {
				in[field] = filled(of)
			}
		}
		_, failed := c.call(name, in)
		t.Logf("%s: %s", name, failed)
		require.NotContains(t, failed, canary)
		require.Empty(t, f.grep(canary), "%s with %v", name, in)
	}
	require.NotEmpty(t, f.grep("it is [redacted MY_TOKEN] and [redacted CORP_SEED]"), "words are kept at all")
}

// filled is a value that a schema allows, with the canary in all of its texts.
func filled(s *jsonschema.Schema) any {
	kinds := append(s.Types, s.Type)
	switch {
	case slices.Contains(kinds, "array"):
		return []any{filled(s.Items)}
	case slices.Contains(kinds, "object"):
		return map[string]any{words: words}
	case slices.Contains(kinds, "integer"):
		return 1
	}
	return words
}
