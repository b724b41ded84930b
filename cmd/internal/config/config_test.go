package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/validation"
)

const file = "/repo/project.yaml"

func load(t testing.TB, text string, env ...string) (config.Config, config.Origins) {
	t.Helper()
	c, o, err := config.Load(file, []byte(text), env)
	require.NoError(t, err)
	return c, o
}

func defaults(t testing.TB) config.Config {
	t.Helper()
	c, _, err := config.Load(file, nil, nil)
	require.NoError(t, err)
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := defaults(t)
	require.Equal(t, config.Run{MaxParallel: 4, Attempts: 3, Engine: "local", MaxDuration: 8 * time.Hour, MaxConsecutiveFailures: 3}, c.Run)
	require.Equal(t, config.Limits{TaskTime: 45 * time.Minute, NoProgress: 10 * time.Minute, FileSize: 100 << 20, Files: 50000, CommitSize: 500 << 20}, c.Limits)
	require.Equal(t, "claude", c.Agent.Harness)
	require.Equal(t, "auto", c.Tracker.Kind)
	require.Equal(t, 50, c.StopHook.MaxCycles)
	require.Equal(t, []string{"all_complete", "all_blocked", "context_checkpoint"}, c.StopHook.AllowExitOn)
	require.Empty(t, c.Gate)
	require.Equal(t, 15, c.Agents["me"].MaxIterations)
	require.Equal(t, 6, c.Agents["doc"].MaxIterations)
	for _, nothing := range []string{"", "\n", "---\n", "# all commented out\n", "null\n", "{}", "workflow:\n", "workflow: {}", "workflow:\n  run:\n", "other: [1]\n", "\ufeffother: 1\n"} {
		same, _ := load(t, nothing)
		require.Equal(t, c, same, "%q", nothing)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "full.yaml"))
	require.NoError(t, err)
	c, origins := load(t, string(text))
	want := defaults(t)
	want.StopHook = config.StopHook{MaxCycles: 7, AllowExitOn: []string{"all_complete"}, CompletionPromises: []string{"ALL TASKS COMPLETE"}}
	want.Run = config.Run{MaxParallel: 2, Attempts: 5, Engine: "local", Into: "main", MaxDuration: 90 * time.Minute, MaxIterations: 9, MaxConsecutiveFailures: 1}
	want.Gate = []validation.Rule{
		{Name: "tests_pass", Type: "command", Command: "go test ./...", Timeout: 5 * time.Minute},
		{Name: "covered", Type: "coverage", Path: "cover.out", Min: 82.5, Format: "go"},
		{Name: "no_todo", Type: "content_pattern", Pattern: "TODO", Target: "diff", Path: "**/*.go", Absent: true},
	}
	want.Setup = []string{"npm ci"}
	want.Protect = []string{"ci/**", "tools/check.py"}
	want.Agent = config.Agent{Harness: "command", Command: []string{"my-agent", "--brief", "-"}, Model: "large", PermissionMode: "dontAsk", AllowedTools: []string{}, Env: []string{"MY_TOKEN", "CARGO_*"}}
	want.Agents["qa"] = config.Definition{Enabled: true, MaxIterations: 3, ValidationRules: []string{"tests_pass"}}
	want.Agents["scribe"] = config.Definition{MaxIterations: 15, CompletionPromises: []string{"COMPLETE"}, CircuitBreakerThreshold: 2}
	want.Limits = config.Limits{TaskTime: 10 * time.Minute, CostUSD: 12.5, Tokens: 1000000, TaskCostUSD: 2.5, TaskTokens: 200000, FileSize: 5 << 20, Files: 10, CommitSize: 1 << 30}
	want.Worktree.Dir = "/var/work"
	want.Tracker.Kind = "file"
	want.Secrets = []string{"BUILD_NUMBER_SEED", "CORP_*"}
	require.Equal(t, want, c)
	for _, o := range origins {
		if !strings.HasPrefix(o.Key, "sandbox.") { // which is not for the repository to say
			require.Regexp(t, `^project\.yaml:\d+$`, o.From, o.Key)
		}
	}
}

// Every key has a variable, and each of them wins over the file.
func TestEveryKeyHasAVariable(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"stop_hook.enabled": "false", "stop_hook.check_ready_tasks": "false", "stop_hook.check_in_progress": "0", "stop_hook.max_cycles": "9",
		"stop_hook.allow_exit_on": "all_blocked, all_complete", "stop_hook.completion_promises": `["A, B"]`,
		"run.max_parallel": "8", "run.attempts": "1", "run.engine": "local", "run.into": "123", "run.max_duration": "2h", "run.max_iterations": "3", "run.max_consecutive_failures": "4",
		"gate": "[{name: lint, type: command, command: make lint}]", "protect": "ci/**,tools/*.py", "agent.harness": "command", "agent.command": "agent,-x", "agent.model": "null",
		"agent.permission_mode": "plan", "agent.allowed_tools": "Read", "agent.env": "A,B", "agents": "{qa: {maxIterations: 2}}",
		"limits.task_time": "0", "limits.no_progress": "30s", "limits.cost_usd": "1.5", "limits.tokens": "7", "limits.task_cost_usd": "0.5", "limits.task_tokens": "6",
		"limits.file_size": "1500", "limits.files": "5", "limits.commit_size": "2 mb", "worktree.dir": "wt", "tracker.kind": "bd", "secrets": "A,B_*",
		"sandbox.level": "landlock", "sandbox.read": "/a", "sandbox.write": "/b", "sandbox.share": "~/c", "sandbox.env": "D", "sandbox.network.gate": "open", "sandbox.network.agents": "allowlist", "sandbox.network.allow": "a.example,*.b.example", "sandbox.ports": "5432,6379", "sandbox.docker": "true", "sandbox.userns": "true", "setup": "npm ci,uv sync",
		"sandbox.limits.processes": "100", "sandbox.limits.memory": "2GB", "sandbox.limits.disk": "0",
	}
	env := []string{"PATH=/bin", "ORCH_RUN_MAX_PARALLEL=63", "ORCH_TASK=bd-1"}
	for key, value := range values {
		env = append(env, "ORCH_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))+"="+value)
	}
	c, origins := load(t, "workflow: {run: {max_parallel: 2}}", env...)
	for _, o := range origins {
		require.Contains(t, values, o.Key, "a setting without its row in this test")
		require.Equal(t, "ORCH_"+strings.ToUpper(strings.ReplaceAll(o.Key, ".", "_")), o.From)
	}
	require.Len(t, origins, len(values))
	require.Equal(t, config.Run{MaxParallel: 8, Attempts: 1, Engine: "local", Into: "123", MaxDuration: 2 * time.Hour, MaxIterations: 3, MaxConsecutiveFailures: 4}, c.Run)
	require.Equal(t, config.Limits{NoProgress: 30 * time.Second, CostUSD: 1.5, Tokens: 7, TaskCostUSD: 0.5, TaskTokens: 6, FileSize: 1500, Files: 5, CommitSize: 2 << 20}, c.Limits)
	require.Equal(t, []string{"all_blocked", "all_complete"}, c.StopHook.AllowExitOn)
	require.Equal(t, []string{"A, B"}, c.StopHook.CompletionPromises)
	require.Equal(t, []string{"agent", "-x"}, c.Agent.Command)
	require.Equal(t, "null", c.Agent.Model)
	require.Equal(t, []validation.Rule{{Name: "lint", Type: "command", Command: "make lint"}}, c.Gate)
	require.Equal(t, 2, c.Agents["qa"].MaxIterations)
	require.Equal(t, []string{"ci/**", "tools/*.py"}, c.Protect)
}

// What bounds agents is not for a repository to say, whether it says more or less.
func TestSandboxIsThePersons(t *testing.T) {
	t.Parallel()
	own := config.File{Path: "/own", Text: []byte("workflow: {sandbox: {level: off, read: [/models]}}")}
	c, _, err := config.Sources{Own: own, Repo: config.File{Path: "/project.yaml", Text: []byte("workflow: {run: {attempts: 2}}")}}.Load()
	require.NoError(t, err)
	require.Equal(t, config.Sandbox{Level: config.SandboxOff, Read: []string{"/models"}, Network: config.Network{Agents: "open", Gate: "auto"}, Asked: c.Sandbox.Asked, Limits: config.SandboxLimits{Processes: 2000, Disk: 50 << 30}}, c.Sandbox)
	require.Empty(t, c.Sandbox.Asked.Read)
	for _, said := range []string{"{level: off}", "{write: [/models]}", "{share: [/models]}", "{env: [A]}", "{level: auto}", "{limits: {memory: 1GB}}", "{ports: [1]}", "{docker: true}", "{userns: true}", "{network: {agents: none}}", "{network: {allow: [a]}}"} {
		_, _, err = config.Sources{Own: own, Repo: config.File{Path: "/project.yaml", Text: []byte("workflow: {sandbox: " + said + "}")}}.Load()
		var e *config.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, err.Error(), "is not for a repository to say")
	}
}

// TestSandboxAsked: what a repository may ask for is added to what the person has said, and is known to be asked for.
func TestSandboxAsked(t *testing.T) {
	t.Parallel()
	own := config.File{Path: "/own", Text: []byte("workflow: {sandbox: {read: [/models]}}")}
	c, _, err := config.Sources{Own: own, Repo: config.File{Path: "/project.yaml", Text: []byte("workflow: {setup: [npm ci], sandbox: {read: [/data], network: {gate: open}}}")}, Env: []string{"ORCH_SANDBOX_READ=/more"}}.Load()
	require.NoError(t, err)
	require.Equal(t, []string{"/models", "/data", "/more"}, c.Sandbox.Read)
	require.Equal(t, config.Asked{Read: []string{"/data"}, Gate: "open"}, c.Sandbox.Asked)
	require.True(t, c.GateOpen())
	for said, open := range map[string]bool{"{}": true, "{setup: [npm ci]}": false, "{setup: [npm ci], sandbox: {network: {gate: open}}}": true, "{sandbox: {network: {gate: none}}}": false} {
		c, _, err := config.Sources{Repo: config.File{Path: "/project.yaml", Text: []byte("workflow: " + said)}}.Load()
		require.NoError(t, err)
		require.Equal(t, open, c.GateOpen(), said)
	}
}

// TestNetwork: hosts and ports are what they say.
func TestNetwork(t *testing.T) {
	t.Parallel()
	read := func(said string) (config.Config, error) {
		c, _, err := config.Sources{Own: config.File{Path: "/own", Text: []byte("workflow: {sandbox: " + said + "}")}}.Load()
		return c, err
	}
	c, err := read("{ports: [5432, 1, 65535], network: {agents: allowlist, allow: [a.example, '*.b.example', localhost, 10.1.2.3, '2001:db8::1']}}")
	require.NoError(t, err)
	require.Equal(t, []int{5432, 1, 65535}, c.Sandbox.Ports)
	require.Len(t, c.Sandbox.Network.Allow, 5)
	for _, wrong := range []string{"{ports: [0]}", "{ports: [65536]}", "{ports: [x]}", "{network: {allow: ['*']}}", "{network: {allow: ['a.example:443']}}", "{network: {allow: ['https://a.example']}}", "{network: {allow: ['a*.example']}}", "{network: {agents: auto}}"} {
		_, err := read(wrong)
		require.Error(t, err, wrong)
	}
}

// A person's own settings are below the repository's, but for what is only added up.
func TestOwnSettings(t *testing.T) {
	t.Parallel()
	own := config.File{Path: "/home/p/.config/orch/config.yaml", Name: "~/.config/orch/config.yaml",
		Text: []byte("workflow:\n  run: {attempts: 7, max_parallel: 9}\n  protect: [mine/**, '!.github/**']\n  agent: {model: small}\n  gate: [{name: own, type: command, command: own}]\n")}
	repo := config.File{Path: "/repo/project.yaml", Text: []byte("workflow:\n  run: {attempts: 2}\n  protect: [theirs/**]\n")}
	c, all, err := config.Sources{Own: own, Repo: repo, Env: []string{"ORCH_AGENT_MODEL=large"}}.Load()
	require.NoError(t, err)
	require.Equal(t, 2, c.Run.Attempts)
	require.Equal(t, 9, c.Run.MaxParallel)
	require.Equal(t, "large", c.Agent.Model)
	require.Equal(t, "own", c.Gate[0].Command)
	require.Equal(t, []string{"mine/**", "!.github/**", "theirs/**"}, c.Protect)
	for key, from := range map[string]string{"run.attempts": "project.yaml:2", "run.max_parallel": "~/.config/orch/config.yaml:2", "agent.model": "ORCH_AGENT_MODEL",
		"gate": "~/.config/orch/config.yaml:5", "protect": "~/.config/orch/config.yaml:3, project.yaml:3", "run.into": "default"} {
		o := origin(t, all, key)
		require.Equal(t, from, o.From)
		require.Equal(t, strings.Contains(from, "project.yaml"), o.Repository, key)
		require.Equal(t, o.Repository, all.Said(key))
		require.Equal(t, from == "default", all.IsDefault(key))
	}
	_, _, err = config.Sources{Repo: config.File{Path: "/repo/project.yaml", Text: []byte("workflow: {protect: ['!.github/**']}\n")}}.Load()
	require.ErrorContains(t, err, "takes protection away")
	_, _, err = config.Sources{Own: config.File{Path: "/home/p/own.yaml", Text: []byte("workflow: {agent: {harness: command}}\n")}, Repo: repo}.Load()
	require.ErrorContains(t, err, "/home/p/own.yaml:1")
}

// What a run keeps of its settings has the commands of the gate too.
func TestValues(t *testing.T) {
	t.Parallel()
	_, all := load(t, "workflow: {gate: [{name: a, type: command, command: go test}]}")
	require.Equal(t, `[{"name":"a","type":"command","command":"go test"}]`, all.Values()["gate"])
	require.Equal(t, "4", all.Values()["run.max_parallel"])
}

func TestAnEmptyVariableIsNone(t *testing.T) {
	t.Parallel()
	c, origins := load(t, "workflow: {run: {into: main}}", "ORCH_RUN_INTO=", "ORCH_RUN_ATTEMPTS=", "ORCH_GATE")
	require.Equal(t, "main", c.Run.Into)
	require.Equal(t, "project.yaml:1", origin(t, origins, "run.into").From)
}

func origin(t testing.TB, all config.Origins, key string) config.Origin {
	t.Helper()
	for _, o := range all {
		if o.Key == key {
			return o
		}
	}
	require.FailNow(t, "no such key", key)
	return config.Origin{}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	_, all := load(t, "workflow:\n  run:\n    attempts: 2\n    max_duration: 90m\n  gate: [{name: a, type: command, command: x}]\n  agent: {env: [A]}\n", "ORCH_RUN_ATTEMPTS=5")
	for _, want := range []config.Origin{
		{Key: "run.attempts", Value: "5", From: "ORCH_RUN_ATTEMPTS"},
		{Key: "run.max_duration", Value: "1h30m", From: "project.yaml:4", Repository: true},
		{Key: "run.max_parallel", Value: "4", From: "default"},
		{Key: "run.into", Value: `""`, From: "default"},
		{Key: "limits.task_time", Value: "45m", From: "default"},
		{Key: "limits.cost_usd", Value: "0", From: "default"},
		{Key: "gate", Value: `["a"]`, From: "project.yaml:5", Repository: true},
		{Key: "agent.env", Value: `["A"]`, From: "project.yaml:6", Repository: true},
		{Key: "agent.command", Value: `[]`, From: "default"},
		{Key: "stop_hook.enabled", Value: "true", From: "default"},
		{Key: "agents", Value: "{do: {maxIterations: 8}, doc: {maxIterations: 6}, me: {maxIterations: 15}, qa: {maxIterations: 10}, sec: {maxIterations: 10}}", From: "default"},
	} {
		got := origin(t, all, want.Key)
		require.NotEmpty(t, got.Full)
		got.Full = ""
		require.Equal(t, want, got)
	}
	require.Equal(t, "stop_hook.enabled", all[0].Key)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	rule := func(s string) string { return "workflow:\n  gate:\n    - " + s + "\n" }
	tests := []struct {
		name, text     string
		line, column   int
		key, what, fix string
	}{
		{"unknown key", "workflow:\n  run:\n    max_paralel: 3\n", 3, 5, "workflow.run.max_paralel", "is not a setting", "did you mean max_parallel?"},
		{"another style", "workflow: {run: {maxParallel: 3}}", 1, 18, "workflow.run.maxParallel", "is not a setting", "did you mean max_parallel?"},
		{"unknown section", "workflow:\n  limit: {}\n", 2, 3, "workflow.limit", "is not a setting", "did you mean limits?"},
		{"a key one level up", "workflow: {max_parallel: 3}", 1, 12, "workflow.max_parallel", "is not a setting", "did you mean run.max_parallel?"},
		{"nothing near", "workflow: {tracker: {colour: red}}", 1, 22, "workflow.tracker.colour", "is not a setting", "known here: kind"},
		{"twice", "workflow:\n  run: {attempts: 1, attempts: 2}\n", 2, 22, "workflow.run.attempts", "is there twice, first on line 2", "keep one"},
		{"section twice", "workflow:\n  run: {}\n  run: {}\n", 3, 3, "workflow.run", "is there twice", "keep one"},
		{"workflow twice", "workflow: {}\nworkflow: {}\n", 2, 1, "workflow", "is there twice", "one of them"},
		{"not a whole number", "workflow: {run: {attempts: many}}", 1, 28, "workflow.run.attempts", `is "many", not a whole number from 1 to 100`, ""},
		{"text for a number", `workflow: {run: {attempts: "3"}}`, 1, 28, "workflow.run.attempts", "not a whole number", ""},
		{"a fraction", "workflow: {run: {attempts: 1.5}}", 1, 28, "workflow.run.attempts", "not a whole number", ""},
		{"too many", "workflow: {run: {max_parallel: 65}}", 1, 32, "workflow.run.max_parallel", `is "65", not a whole number from 1 to 64`, ""},
		{"no size", "workflow: {limits: {file_size: 5 apples}}", 1, 32, "workflow.limits.file_size", `is "5 apples", not a size like 100MB`, ""},
		{"a negative size", "workflow: {limits: {file_size: -1}}", 1, 32, "workflow.limits.file_size", "not a size like 100MB", ""},
		{"a size over all", "workflow: {limits: {file_size: 9223372036854775807GB}}", 1, 32, "workflow.limits.file_size", "not a size like 100MB", ""},
		{"too few", "workflow: {run: {attempts: 0}}", 1, 28, "workflow.run.attempts", "from 1 to 100", ""},
		{"no value", "workflow:\n  run:\n    attempts:\n", 3, 14, "workflow.run.attempts", "has no value", "leave it out"},
		{"no bool", "workflow: {stop_hook: {enabled: yes}}", 1, 33, "workflow.stop_hook.enabled", `is "yes", not true or false`, ""},
		{"no time", "workflow: {limits: {task_time: 45}}", 1, 32, "workflow.limits.task_time", `is "45", not a time like 45m or 8h`, ""},
		{"no time at all", "workflow: {run: {max_duration: 0}}", 1, 32, "workflow.run.max_duration", "over 0", ""},
		{"negative time", "workflow: {limits: {no_progress: -5m}}", 1, 34, "workflow.limits.no_progress", "not a time", ""},
		{"negative cost", "workflow: {limits: {cost_usd: -1}}", 1, 31, "workflow.limits.cost_usd", "not a number", ""},
		{"no number", "workflow: {limits: {cost_usd: .nan}}", 1, 31, "workflow.limits.cost_usd", "not a number", ""},
		{"no text", "workflow: {run: {into: 1.10}}", 1, 24, "workflow.run.into", "is not text", `quote it: "1.10"`},
		{"a list for text", "workflow: {run: {into: [main]}}", 1, 24, "workflow.run.into", "is not text", ""},
		{"text for a list", "workflow: {agent: {env: HOME}}", 1, 25, "workflow.agent.env", "is not a list", "[one, two]"},
		{"number in a list", "workflow: {agent: {command: [a, 2]}}", 1, 33, "workflow.agent.command[1]", "is not text", `quote it: "2"`},
		{"nothing in a list", `workflow: {agent: {allowed_tools: [""]}}`, 1, 36, "workflow.agent.allowed_tools[0]", "is empty", "leave it out"},
		{"section is text", "workflow: {run: fast}", 1, 17, "workflow.run", "is not a mapping", ""},
		{"workflow is a list", "workflow: [run]", 1, 11, "workflow", "is not a mapping", ""},
		{"file is a list", "- workflow\n", 1, 1, "", "is not a mapping", "workflow:"},
		{"unknown mode", "workflow: {agent: {harness: codex, permission_mode: yolo}}", 1, 36, "workflow.agent.permission_mode", `is "yolo", which codex does not know`, "one of read-only, workspace-write, danger-full-access"},
		{"unknown harness", "workflow: {agent: {harness: claud}}", 1, 29, "workflow.agent.harness", `is "claud", not one of ` + strings.Join(config.Harnesses(), ", "), "did you mean claude?"},
		{"unknown engine", "workflow: {run: {engine: lcal}}", 1, 26, "workflow.run.engine", `is "lcal", not one of local`, "did you mean local?"},
		{"unknown tracker", "workflow: {tracker: {kind: jira}}", 1, 28, "workflow.tracker.kind", `is "jira", not one of auto, bd, file`, "known here"},
		{"unknown exit", "workflow: {stop_hook: {allow_exit_on: [all_completed]}}", 1, 40, "workflow.stop_hook.allow_exit_on[0]", "not one of", "did you mean all_complete?"},
		{"command without command", "workflow:\n  agent:\n    harness: command\n", 3, 5, "workflow.agent.harness", "does not say which", "command: ["},
		{"a variable with its value", "workflow: {agent: {env: [A=b]}}", 1, 20, "workflow.agent.env", `has "A=b"`, "names only"},
		{"rule without type", rule("{name: x}"), 3, 7, "workflow.gate[0].type", "is needed: one of command", ""},
		{"rule of no type", rule("{name: x, type: comand, command: y}"), 3, 23, "workflow.gate[0].type", "not one of", "did you mean command?"},
		{"rule without command", rule("{name: x, type: command}"), 3, 7, "workflow.gate[0].command", "is needed", ""},
		{"rule with an unknown key", rule("{name: x, type: command, cmd: y}"), 3, 32, "workflow.gate[0].cmd", "is not a setting", "known here: name, type, command"},
		{"rule with a bad pattern", rule(`{name: x, type: content_pattern, pattern: "("}`), 3, 40, "workflow.gate[0].pattern", "is no regular expression", ""},
		{"rule with a path outside", rule(`{name: x, type: files_changed, path: ../x}`), 3, 38, "workflow.gate[0].path", "relative", ""},
		{"two rules of one name", rule("{name: x, type: command, command: y}\n    - {name: x, type: command, command: z}"), 4, 7, "workflow.gate[1].name", "is the same", "of its own"},
		{"gate is a mapping", "workflow: {gate: {name: x}}", 1, 18, "workflow.gate", "is not a list", ""},
		{"agent without the rule", rule("{name: tests, type: command, command: y}") + "  agents: {qa: {validationRules: [test]}}", 4, 3, "workflow.agents.qa.validationRules", `has "test", which is no rule of the gate`, "did you mean tests?"},
		{"agent's unknown key", "workflow: {agents: {qa: {max_iterations: 3}}}", 1, 26, "workflow.agents.qa.max_iterations", "is not a setting", "did you mean maxIterations?"},
		{"agent of no name", "workflow: {agents: {'a b': {}}}", 1, 21, "workflow.agents.a b", "is no name", ""},
		{"alias", "a: &a {attempts: 3}\nworkflow: {run: *a}", 2, 17, "workflow.run", "is an alias", ""},
		{"alias of a value", "a: &a 3\nworkflow: {run: {attempts: *a}}", 2, 28, "workflow.run.attempts", "is an alias", ""},
		{"merge", "a: &a {attempts: 3}\nworkflow: {run: {<<: *a}}", 2, 18, "workflow.run.<<", "is not a setting", ""},
		{"a key that is a list", "workflow: {[a]: 3}", 1, 12, "workflow", "has a key", ""},
		{"two documents", "workflow: {}\n---\nworkflow: {}\n", 2, 1, "", "second document", "---"},
		{"tabs", "workflow:\n\trun: {}\n", 2, 2, "", "is no YAML", "spaces"},
		{"an open bracket", "workflow: {run: {\n", 1, 1, "", "is no YAML", ""},
		{"NUL", "workflow: {}\nx: \x00\n", 2, 4, "", "NUL", ""},
		{"bad UTF-8", "workflow: {run: {into: \xff\xfe}}", 0, 0, "", "is no YAML", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Sources{Repo: config.File{Path: file, Text: []byte(tt.text)}, Kinds: kinds()}.Load()
			var e *config.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, file, e.File)
			require.Contains(t, e.What, tt.what)
			require.Equal(t, tt.key, e.Key)
			require.Contains(t, e.Fix, tt.fix)
			require.Equal(t, [2]int{tt.line, tt.column}, [2]int{e.Line, e.Column}, e.Error())
			require.True(t, strings.HasPrefix(err.Error(), file+":"), err)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// kinds are such as the program links.
func kinds() config.Kinds {
	return config.Kinds{Engines: []string{"local"}, Trackers: []string{"bd", "file"}}
}

// TestAnyKind: who links no engine and no tracker takes any word for them.
func TestAnyKind(t *testing.T) {
	t.Parallel()
	c, _, err := config.Load(file, []byte("workflow: {run: {engine: cloud}, tracker: {kind: jira}}"), nil)
	require.NoError(t, err)
	require.Equal(t, [2]string{"cloud", "jira"}, [2]string{c.Run.Engine, c.Tracker.Kind})
}

func TestFaultsOfVariables(t *testing.T) {
	t.Parallel()
	for entry, what := range map[string]string{
		"ORCH_RUN_MAX_PARALLEL=lots":                   `ORCH_RUN_MAX_PARALLEL is "lots", not a whole number from 1 to 64`,
		"ORCH_RUN_MAX_PARALLEL=0":                      "ORCH_RUN_MAX_PARALLEL is",
		"ORCH_STOP_HOOK_ENABLED=perhaps":               "ORCH_STOP_HOOK_ENABLED is",
		"ORCH_LIMITS_TASK_TIME=45":                     "ORCH_LIMITS_TASK_TIME is",
		"ORCH_AGENT_HARNESS=other":                     "ORCH_AGENT_HARNESS is",
		"ORCH_AGENT_HARNESS=command":                   "ORCH_AGENT_HARNESS is command, and agent.command does not say which",
		"ORCH_AGENT_COMMAND=[a":                        "ORCH_AGENT_COMMAND is no YAML",
		"ORCH_AGENT_COMMAND=a,,b":                      "ORCH_AGENT_COMMAND[1] is empty",
		"ORCH_AGENT_ENV=A=b":                           "ORCH_AGENT_ENV has",
		"ORCH_GATE=go test":                            "ORCH_GATE is not a list",
		"ORCH_GATE=[{name: x}]":                        "ORCH_GATE[0].type is needed",
		"ORCH_AGENTS={qa: {validationRules: [tests]}}": "ORCH_AGENTS has",
	} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(file, nil, []string{entry})
			var e *config.Error
			require.ErrorAs(t, err, &e)
			require.Empty(t, e.File)
			require.Zero(t, e.Line)
			require.Contains(t, err.Error(), what)
		})
	}
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(file, []byte("workflow:\n  run:\n    é: 1\n    \u202emax_paralel: 3\n"), nil)
	var e *config.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "    é: 1\n    ^", e.Snippet)

	_, _, err = config.Load(file, []byte("workflow: {run: {into: "+strings.Repeat(" ", 500)+"[\"\\e[2J\x1b\"] }}"), nil)
	require.ErrorAs(t, err, &e)
	require.Less(t, len(e.Snippet), 250)
	require.NotContains(t, e.Snippet+err.Error(), "\x1b")
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	_, _, err := config.Load(file, []byte(strings.Repeat("#", 1<<20+1)), nil)
	require.ErrorContains(t, err, "at most 1048576")
}

// hostile are files that are small, or at least allowed, and are to be answered at once.
func hostile() map[string]string {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return map[string]string{
		"alias bomb":        bomb + "workflow: *a30\n",
		"open brackets":     strings.Repeat("[", 1<<20),
		"nested brackets":   "workflow: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"nested mappings":   "workflow: " + strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000),
		"deep indent":       indented(1000),
		"many keys":         "workflow: {" + strings.Repeat("a: 1, ", 150_000) + "}",
		"one long key":      "workflow: {" + strings.Repeat("a", 1<<20-100) + ": 1}",
		"question marks":    strings.Repeat("? ", 500_000),
		"comments":          strings.Repeat("#\n", 500_000),
		"dashes":            strings.Repeat("- ", 500_000),
		"many anchors":      strings.Repeat("- &a x\n", 140_000),
		"a very long agent": "workflow: {agents: {" + strings.Repeat("b", 1<<19) + ": {}}}",
	}
}

func indented(n int) string {
	var b strings.Builder
	b.WriteString("workflow:\n")
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	t.Parallel()
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := config.Load(file, []byte(text), nil)
			if name == "comments" {
				require.NoError(t, err)
				return
			}
			var e *config.Error
			require.ErrorAs(t, err, &e)
			require.Less(t, len(e.Snippet), 500)
		})
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, text := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := config.Load(file, []byte(text), nil); err == nil && name != "comments" {
					b.Fatal("no error")
				}
			}
		})
	}
}

// Whatever the text, the answer is a configuration that holds to its ranges, or an *Error
// that fits on a screen; a variable's text is answered the same way.
func FuzzLoad(f *testing.F) {
	full, err := os.ReadFile(filepath.Join("testdata", "full.yaml"))
	require.NoError(f, err)
	for _, seed := range []string{string(full), "workflow: {run: {attempts: 3}}", "workflow: *a", "a: &a [*a]\nworkflow: *a", "workflow:\n\trun", "? [a]\n: b", "workflow: !!set {a, b}", "workflow: !!binary aGk=", "%YAML 1.1\n---\nworkflow: {run: {into: ! x}}"} {
		f.Add([]byte(seed), "")
	}
	f.Add([]byte(nil), "[{name: a, type: command, command: b}]")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		var env []string
		for _, name := range []string{"ORCH_GATE", "ORCH_AGENTS", "ORCH_AGENT_COMMAND", "ORCH_RUN_ATTEMPTS", "ORCH_LIMITS_TASK_TIME", "ORCH_LIMITS_COST_USD"} {
			_, _, err := config.Load(file, nil, []string{name + "=" + value})
			requireFault(t, err)
			if err == nil {
				env = append(env, name+"="+value)
			}
		}
		c, origins, err := config.Load(file, data, env)
		requireFault(t, err)
		if err != nil {
			return
		}
		require.True(t, c.Run.Attempts >= 1 && c.Run.MaxParallel >= 1 && c.Run.MaxParallel <= 64 && c.Run.MaxDuration > 0)
		require.True(t, c.Limits.CostUSD >= 0 && c.Limits.Tokens >= 0 && c.Limits.TaskTime >= 0)
		for _, r := range c.Gate {
			require.NoError(t, r.Check())
		}
		require.Len(t, origins, 49)
	})
}

func requireFault(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *config.Error
	require.True(t, errors.As(err, &e), "%T", err)
	require.NotEmpty(t, e.What)
	require.NotContains(t, e.Error(), "\n")
	require.Less(t, len(e.Snippet), 600)
	for _, r := range e.Error() + e.Fix {
		require.NotEqual(t, '\x1b', r)
	}
}

func ExampleLoad() {
	_, _, err := config.Load("project.yaml", []byte("workflow:\n  run: {max_paralel: 8}\n"), nil)
	var e *config.Error
	if errors.As(err, &e) {
		fmt.Println(e)
		fmt.Println(e.Snippet)
		fmt.Println(e.Fix)
	}
	// Output:
	// project.yaml:2:9: workflow.run.max_paralel is not a setting
	//   run: {max_paralel: 8}
	//         ^
	// did you mean max_parallel?
}
