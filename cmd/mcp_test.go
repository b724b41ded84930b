package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
)

// tools is a client of orch mcp, over its standard input and output.
type tools struct {
	t *testing.T
	*mcp.ClientSession
	schemas map[string]*jsonschema.Resolved // of their results, as the server lists them
	fitted  map[string]bool                 // tools whose result was allowed by its schema
}

func connect(t *testing.T, f *fixture) tools {
	t.Helper()
	c := exec.Command(filepath.Join(f.bin, "orch"), "mcp")
	c.Dir, c.Env = f.dir, f.env
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	listed, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	schemas := map[string]*jsonschema.Resolved{}
	for _, tool := range listed.Tools {
		text, err := json.Marshal(tool.OutputSchema)
		require.NoError(t, err)
		var schema jsonschema.Schema
		require.NoError(t, json.Unmarshal(text, &schema))
		schemas[tool.Name], err = schema.Resolve(nil)
		require.NoError(t, err, tool.Name)
	}
	return tools{t, s, schemas, map[string]bool{}}
}

// call gives a tool's result, which its schema allows, and the text of its error.
func (c tools) call(name string, in map[string]any) (out map[string]any, failed string) {
	c.t.Helper()
	r, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	require.NoError(c.t, err, name)
	text, err := json.Marshal(r.Content)
	require.NoError(c.t, err)
	if r.IsError {
		return nil, string(text)
	}
	doc, err := json.Marshal(r.StructuredContent)
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(doc, &out))
	require.NoError(c.t, c.schemas[name].Validate(out), name)
	c.fitted[name] = true
	return out, ""
}

func (c tools) must(name string, in map[string]any) map[string]any {
	c.t.Helper()
	out, failed := c.call(name, in)
	require.Empty(c.t, failed, name)
	return out
}

// TestMCP is a whole loop by tools: a failing test, the code, and the promise; then an
// epic's task that is handed out and landed.
func TestMCP(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", "! grep -Hns wrong done.txt")
	f.task("task one")
	c := connect(t, f)
	listed, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range listed.Tools {
		require.NotEmpty(t, tool.Description)
		require.NotNil(t, tool.InputSchema)
		require.NotNil(t, tool.OutputSchema)
		names = append(names, tool.Name)
	}
	want := strings.Fields(`task_get task_update work_product_store iteration_start iteration_validate iteration_next iteration_complete iteration_status
		checkpoint_create checkpoint_resume checkpoint_list checkpoint_cleanup hook_register hook_evaluate hook_list hook_clear progress_summary
		agent_performance_get epic_next epic_land epic_status`)
	slices.Sort(names)
	slices.Sort(want)
	require.Equal(t, want, names)

	task := map[string]any{"taskId": "e-1.1"}
	require.Equal(t, "task one", c.must("task_get", task)["task"].(map[string]any)["title"])
	require.Equal(t, true, c.must("task_update", map[string]any{"taskId": "e-1.1", "status": "open", "note": "as it was"})["updated"])
	handed := c.must("epic_next", map[string]any{"epic": "e-1", "maxParallel": 1})["tasks"].([]any)[0].(map[string]any)
	dir := handed["dir"].(string)

	f.write(filepath.Join(dir, "done.txt"), "wrong\n")
	started := c.must("iteration_start", task)
	require.Equal(t, float64(15), started["maxIterations"])
	require.Equal(t, []any{"gate"}, started["rules"])
	red := c.must("iteration_validate", map[string]any{"taskId": "e-1.1", "agentOutput": "<promise>COMPLETE</promise>"})
	require.Equal(t, "CONTINUE", red["completionSignal"])
	require.NotEmpty(t, red["feedback"])
	require.NotEmpty(t, c.must("checkpoint_create", map[string]any{"taskId": "e-1.1", "executionPhase": "red", "agentContext": map[string]any{"test": "done.txt"}, "filesModified": []string{"done.txt"}})["checkpointId"])
	require.Equal(t, float64(2), c.must("iteration_next", task)["iterationNumber"])
	f.write(filepath.Join(dir, "done.txt"), "done\n")
	f.must("git", "-C", dir, "add", "-A")
	f.must("git", "-C", dir, "commit", "-qm", "done")
	require.Equal(t, "COMPLETE", c.must("iteration_validate", map[string]any{"taskId": "e-1.1", "agentOutput": "Green.\n<promise>COMPLETE</promise>"})["completionSignal"])
	resumed := c.must("checkpoint_resume", task)
	require.Equal(t, map[string]any{"test": "done.txt"}, resumed["agentContext"])
	require.Contains(t, resumed["resumeInstructions"], "score 100")
	require.NotEmpty(t, c.must("work_product_store", map[string]any{"taskId": "e-1.1", "type": "implementation", "title": "x", "content": "all of it"})["path"])
	ended := c.must("iteration_complete", task)
	require.Equal(t, "COMPLETE", ended["done"])
	require.Equal(t, "all of it\n", ended["workProduct"])
	require.Len(t, c.must("iteration_status", task)["iterationHistory"], 2)
	require.Len(t, c.must("checkpoint_list", task)["checkpoints"], 3)
	require.Equal(t, float64(2), c.must("checkpoint_cleanup", map[string]any{"taskId": "e-1.1", "keep": 1})["removed"])

	require.NotEmpty(t, c.must("hook_register", map[string]any{"taskId": "e-1.1", "hookType": "promise"})["hookId"])
	require.Equal(t, "complete", c.must("hook_evaluate", map[string]any{"taskId": "e-1.1", "iteration": 1, "agentOutput": "<promise>COMPLETE</promise>"})["action"])
	require.Len(t, c.must("hook_list", task)["hooks"], 1)
	require.Equal(t, float64(1), c.must("hook_clear", task)["hooksCleared"])

	landed := c.must("epic_land", task)
	require.Equal(t, true, landed["landed"], landed)
	require.Equal(t, "done", f.must("git", "show", "epic/e-1:done.txt"))
	require.Contains(t, c.must("epic_status", map[string]any{"epic": "e-1"}), "counts")
	summary := c.must("progress_summary", nil)
	require.Equal(t, "e-1", summary["epic"])
	require.Equal(t, float64(1), summary["counts"].(map[string]any)["landed"])
	require.Equal(t, "landed", summary["tasks"].([]any)[0].(map[string]any)["state"])
	require.Equal(t, "me", c.must("agent_performance_get", nil)["agents"].([]any)[0].(map[string]any)["agent"])
	require.Equal(t, want, slices.Sorted(maps.Keys(c.fitted)), "every tool was called")
}

// loopByTools is a model that does a whole loop by the tools: red, code, lint, COMPLETE.
// Claude Code offers many tools by name only, so the model has to know how these begin.
func loopByTools(prefix string) func(modeltest.Request) modeltest.Reply {
	task := map[string]any{"taskId": "mine"}
	said := map[string]any{"taskId": "mine", "agentOutput": "It works.\n<promise>COMPLETE</promise>"}
	steps := []modeltest.Reply{
		{Tool: prefix + "iteration_start", Input: map[string]any{"taskId": "mine", "maxIterations": 5, "validationRules": []any{
			map[string]any{"name": "tests", "command": "grep right code.txt"}, map[string]any{"name": "lint", "command": "! grep -n tab code.txt"}}}},
		{Tool: prefix + "iteration_validate", Input: said},
		{Bash: "echo 'right tab' > code.txt"},
		{Tool: prefix + "iteration_next", Input: task},
		{Tool: prefix + "iteration_validate", Input: said},
		{Bash: "echo 'right' > code.txt"},
		{Tool: prefix + "iteration_next", Input: task},
		{Tool: prefix + "iteration_validate", Input: said},
		{Tool: prefix + "iteration_complete", Input: task},
		{Text: "All done."},
	}
	return func(r modeltest.Request) modeltest.Reply { return steps[min(r.Turn(), len(steps)-1)] }
}

// allowLoop has a person set up what the loop of loopByTools runs.
func allowLoop(f *fixture) {
	f.must("orch", "tasks", "create", "mine", "--id", "mine")
	f.settings("gate: [", `gate: [{name: tests, type: command, command: "grep right code.txt"}, {name: lint, type: command, command: "! grep -n tab code.txt"}, `)
}

// requireLoopDone: the loop was done in the repository, and its feedback reached the model.
func requireLoopDone(t *testing.T, f *fixture, model *modeltest.Model, out string) {
	t.Helper()
	status := f.must("orch", "iteration", "status", "mine")
	require.Contains(t, status, "ended with COMPLETE", out)
	require.Contains(t, status, "iteration 3 of 5")
	requests := model.Requests()
	whole := requests[len(requests)-1].All()
	require.Contains(t, whole, "It is not: mend what did not pass first", "the feedback reached the model")
	require.Contains(t, whole, "FAILED lint")
}

// TestEachClientUsesTheTools: the other clients do the same with the server that orch init
// lists for them.
func TestEachClientUsesTheTools(t *testing.T) {
	t.Parallel()
	for _, k := range workspace.ClientsWithHooks() {
		if k.Name == "claude" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			f, model := clientFixture(t, k.Name, "permission_mode: ''", loopByTools(""))
			allowLoop(f)
			f.must("orch", "init", "--client", k.Name, "--yes")
			out, code := f.run(nil, f.client(k.Name), sessionArgs(k.Name, "do the task")...)
			require.Zero(t, code, out)
			requireLoopDone(t, f, model, out)
		})
	}
}

// TestClaudeCodeUsesTheTools: the real client, given the server, does a whole loop by its
// tools.
func TestClaudeCodeUsesTheTools(t *testing.T) {
	t.Parallel()
	f, model := claudeFixture(t, loopByTools("mcp__orch__"))
	allowLoop(f)
	config := filepath.Join(t.TempDir(), "mcp.json")
	f.write(config, `{"mcpServers": {"orch": {"command": "`+filepath.Join(f.bin, "orch")+`", "args": ["mcp"]}}}`)
	out, code := f.session("do the task", "--mcp-config", config, "--allowedTools", "Bash,mcp__orch")
	require.Zero(t, code, out)
	requireLoopDone(t, f, model, out)
}

// TestMCPRules: a model may send rules of all types, and each field beside the name or below
// config; the names that other servers give to the same things are understood.
func TestMCPRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", "true")
	f.task("task one")
	f.must("orch", "tasks", "create", "mine", "--id", "mine")
	f.settings("gate: [", `gate: [{name: tests_pass, type: command, command: "test -f done.txt"}, {name: own, type: custom, command: "sh answer.sh"}, `)
	f.write(filepath.Join(f.dir, "cover.out"), "mode: set\nx/x.go:1.1,2.2 1 1\nx/x.go:3.1,4.2 1 0\n")
	f.write(filepath.Join(f.dir, "answer.sh"), `grep -q '"iteration' && echo '{"passed": true, "reason": "asked"}' || echo '{"passed": true, "reason": "fine"}'`)
	c := connect(t, f)
	started := c.must("iteration_start", map[string]any{"taskId": "mine", "maxIterations": 5, "completionPromises": []string{"COMPLETE", "BLOCKED"}, "validationRules": []any{
		map[string]any{"type": "command", "name": "tests_pass", "config": map[string]any{"command": "test -f done.txt", "timeout": "20s"}},
		map[string]any{"type": "content_pattern", "name": "promise_complete", "pattern": "<promise>COMPLETE</promise>", "target": "agent_output", "mustMatch": false, "enabled": true},
		map[string]any{"type": "content_pattern", "name": "says_why", "config": map[string]any{"pattern": "because", "target": "agent_output"}},
		map[string]any{"type": "content_pattern", "name": "no_wrong", "pattern": "wrong", "path": "*.txt", "absent": true},
		map[string]any{"type": "coverage", "name": "covered", "path": "cover.out", "min": 50},
		map[string]any{"type": "files_changed", "name": "changed", "path": "*.txt"},
		map[string]any{"type": "custom", "name": "own", "command": "sh answer.sh"},
		map[string]any{"name": "left_out", "command": "false", "enabled": false},
	}})
	id := map[string]any{"iterationId": started["iterationId"]}
	with := func(more map[string]any) map[string]any {
		maps.Copy(more, id)
		return more
	}
	red := c.must("iteration_validate", id)
	require.Equal(t, "CONTINUE", red["completionSignal"])
	report := red["validationReport"].(map[string]any)
	require.Equal(t, float64(6), report["totalRules"])
	require.Equal(t, float64(3), report["failedRules"], report)
	require.Contains(t, fmt.Sprint(red["feedback"]), "says_why")
	next := c.must("iteration_next", with(map[string]any{"notes": "the file is missing"}))
	require.Contains(t, next["message"], "iteration 2 of 5")
	require.Contains(t, c.must("checkpoint_resume", map[string]any{"taskId": "mine"})["resumeInstructions"], "the file is missing")
	f.write(filepath.Join(f.dir, "done.txt"), "right\n")
	green := c.must("iteration_validate", with(map[string]any{"agentOutput": "Done, because it had to be.\n<promise>COMPLETE</promise>"}))
	require.Equal(t, "COMPLETE", green["completionSignal"], green)
	require.NotEmpty(t, c.must("hook_register", map[string]any{"taskId": "mine", "hookType": "validation"})["hookId"])
	decided := c.must("hook_evaluate", with(map[string]any{"agentOutput": "nothing"}))
	require.Equal(t, "complete", decided["action"], "by what the rules said last")
	require.Equal(t, float64(2), decided["iteration"])
	ended := c.must("iteration_complete", with(map[string]any{"completionPromise": "COMPLETE"}))
	require.Equal(t, float64(100), ended["finalValidationScore"])
	require.Len(t, ended["iterationHistory"], 2)
	require.NotEmpty(t, ended["completedAt"])

	c.must("iteration_start", map[string]any{"taskId": "mine", "validationRules": []any{map[string]any{"name": "yes", "command": "true"}}})
	require.Empty(t, c.must("iteration_validate", id)["detectedPromise"], "what was stored for another iteration says nothing")
	c.must("work_product_store", map[string]any{"taskId": "mine", "content": "All of it.\n\n<promise>COMPLETE</promise>"})
	require.Equal(t, "COMPLETE", c.must("iteration_validate", id)["completionSignal"], "what was stored is what is said")

	require.Equal(t, "blocked", c.must("task_update", map[string]any{"id": "e-1.1", "status": "blocked", "blockedReason": "which port?"})["status"])
	require.Contains(t, fmt.Sprint(c.must("task_get", map[string]any{"id": "e-1.1"})["task"]), "which port?")
	require.Equal(t, map[string]any{"description": "mine"}, c.must("hook_register", map[string]any{"taskId": "mine", "hookType": "default", "metadata": map[string]any{"description": "mine"}})["metadata"])
}

// TestMCPBadInput: each is a tool error that says what to send; nothing is written, and the
// server goes on.
func TestMCPBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", "true")
	f.task("task one")
	c := connect(t, f)
	for _, tt := range []struct {
		tool string
		in   map[string]any
		says string
	}{
		{"task_get", map[string]any{}, "taskId"},
		{"task_get", map[string]any{"taskId": ""}, "taskId is missing or empty"},
		{"task_get", map[string]any{"taskId": 7}, "taskId"},
		{"task_get", map[string]any{"taskId": "nonsense"}, "NOT_FOUND"},
		{"task_get", map[string]any{"taskId": "--help"}, "NOT_FOUND"},
		{"task_update", map[string]any{"taskId": "e-1.1", "status": "closed"}, "orch land e-1.1"},
		{"task_update", map[string]any{"id": "e-1.1", "status": "completed"}, "orch land e-1.1"},
		{"task_update", map[string]any{"taskId": "e-1.1", "status": "--json"}, "no status to set"},
		{"iteration_status", map[string]any{"taskId": "e-1.1"}, "orch iteration start e-1.1"},
		{"iteration_next", map[string]any{"taskId": "e-1.1"}, "NO_LOOP"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "maxIterations": -3}, "BAD_VALUE"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "", "command": "true"}}}, "rules[0].name is empty"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "type": "comand", "command": "true"}}}, "command"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "type": "coverage", "path": "c.out"}}}, "min is needed"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "command": "touch ran"}}}, `- {name: \"x\", type: command, command: \"touch ran\"}`},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "command": "true "}}}, "UNTRUSTED"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "command": "true", "dir": "sub"}}}, "UNTRUSTED"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "type": "custom", "command": "true"}}}, "UNTRUSTED"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "validationRules": []any{map[string]any{"name": "x", "type": "content_pattern", "pattern": "x", "path": "../x"}}}, "path"},
		{"iteration_start", map[string]any{"taskId": "nobody"}, "NOT_FOUND"},
		{"iteration_validate", map[string]any{}, "taskId"},
		{"iteration_start", map[string]any{"taskId": "e-1.1", "nonsense": 1}, "nonsense"},
		{"checkpoint_resume", map[string]any{"taskId": "e-1.1"}, "orch checkpoint create e-1.1"},
		{"hook_register", map[string]any{"taskId": "e-1.1", "hookType": "nonsense"}, "BAD_HOOK"},
		{"epic_next", map[string]any{"epic": "nonsense"}, "nonsense"},
		{"epic_land", map[string]any{"taskId": "e-1.1"}, "What helps"},
		{"work_product_store", map[string]any{"taskId": "e-1.1", "content": ""}, "BAD_VALUE"},
	} {
		_, failed := c.call(tt.tool, tt.in)
		require.Contains(t, failed, tt.says, "%s %v", tt.tool, tt.in)
	}
	_, code := f.run(nil, "orch", "iteration", "status", "e-1.1")
	require.Equal(t, cli.ExitNotFound, code, "nothing was begun")
	require.Equal(t, "open", c.must("task_update", map[string]any{"taskId": "e-1.1", "status": "open", "note": "later"})["status"])
}
