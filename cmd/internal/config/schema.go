package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// schema lists every setting, in the order in which they are explained.
func schema(c *Config, kinds Kinds) settings {
	return settings{
		{name: "stop_hook", within: settings{
			boolean("enabled", &c.StopHook.Enabled),
			boolean("check_ready_tasks", &c.StopHook.CheckReadyTasks),
			boolean("check_in_progress", &c.StopHook.CheckInProgress),
			whole("max_cycles", &c.StopHook.MaxCycles, 1, math.MaxInt32),
			list("allow_exit_on", &c.StopHook.AllowExitOn, "all_complete", "all_blocked", "context_checkpoint"),
			list("completion_promises", &c.StopHook.CompletionPromises),
		}},
		{name: "run", within: settings{
			whole("max_parallel", &c.Run.MaxParallel, 1, 64),
			whole("attempts", &c.Run.Attempts, 1, 100),
			word("engine", &c.Run.Engine, kinds.Engines...),
			word("into", &c.Run.Into),
			duration("max_duration", &c.Run.MaxDuration, 1),
			whole("max_iterations", &c.Run.MaxIterations, 0, math.MaxInt32),
			whole("max_consecutive_failures", &c.Run.MaxConsecutiveFailures, 1, math.MaxInt32),
		}},
		rules("gate", &c.Gate),
		list("setup", &c.Setup),
		globs("protect", &c.Protect),
		{name: "agent", within: settings{
			word("harness", &c.Agent.Harness, Harnesses()...),
			list("command", &c.Agent.Command),
			word("model", &c.Agent.Model),
			word("permission_mode", &c.Agent.PermissionMode),
			list("allowed_tools", &c.Agent.AllowedTools),
			list("env", &c.Agent.Env),
		}},
		definitions("agents", c.Agents),
		{name: "limits", within: settings{
			duration("task_time", &c.Limits.TaskTime, 0),
			duration("no_progress", &c.Limits.NoProgress, 0),
			number("cost_usd", &c.Limits.CostUSD, 1e9),
			whole("tokens", &c.Limits.Tokens, 0, math.MaxInt64),
			number("task_cost_usd", &c.Limits.TaskCostUSD, 1e9),
			whole("task_tokens", &c.Limits.TaskTokens, 0, math.MaxInt64),
			size("file_size", &c.Limits.FileSize),
			whole("files", &c.Limits.Files, 0, math.MaxInt32),
			size("commit_size", &c.Limits.CommitSize),
		}},
		{name: "worktree", within: settings{word("dir", &c.Worktree.Dir)}},
		{name: "tracker", within: settings{word("kind", &c.Tracker.Kind, kinds.trackers()...)}},
		list("secrets", &c.Secrets),
		{name: "sandbox", within: settings{
			word("level", &c.Sandbox.Level, sandboxLevels()...),
			added("read", &c.Sandbox.Read),
			list("write", &c.Sandbox.Write),
			list("share", &c.Sandbox.Share),
			list("env", &c.Sandbox.Env),
			{name: "limits", within: settings{
				whole("processes", &c.Sandbox.Limits.Processes, 0, math.MaxInt32),
				size("memory", &c.Sandbox.Limits.Memory),
				size("disk", &c.Sandbox.Limits.Disk),
			}},
			{name: "network", within: settings{
				word("agents", &c.Sandbox.Network.Agents, NetworkOpen, NetworkListed, NetworkNone),
				word("gate", &c.Sandbox.Network.Gate, NetworkAuto, NetworkOpen, NetworkNone),
				list("allow", &c.Sandbox.Network.Allow),
			}},
			ports("ports", &c.Sandbox.Ports),
			boolean("docker", &c.Sandbox.Docker),
			boolean("userns", &c.Sandbox.UserNS),
		}},
	}
}

// sandboxLevels are the words for the level of the sandbox.
func sandboxLevels() []string {
	words := []string{SandboxAuto, SandboxOff}
	for _, l := range sandbox.Levels() {
		words = append(words, string(l))
	}
	return words
}

// noKey is for mappings whose keys are not settings of their own.
func noKey(*yaml.Node) string { return "" }

// rules reads a list of validation rules.
func rules(name string, at *[]validation.Rule) *setting {
	return &setting{
		name: name,
		form: asYAML,
		data: func() any { return *at },
		show: func() string {
			names := []string{}
			for _, r := range *at {
				names = append(names, r.Name)
			}
			return shownList(names)
		},
		read: func(n *yaml.Node, key string) *fault {
			out := []validation.Rule{}
			f := eachItem(n, key, func(item *yaml.Node, key string) *fault {
				r, f := rule(item, key)
				if f == nil && slices.ContainsFunc(out, func(other validation.Rule) bool { return other.Name == r.Name }) {
					f = &fault{item, key + ".name", "is the same as that of a rule before", "give each rule a name of its own"}
				}
				out = append(out, r)
				return f
			})
			if f == nil {
				*at = out
			}
			return f
		},
	}
}

// Rules reads a list of rules, as workflow.gate has them, in YAML or JSON; path is for
// errors. It fails with an [*Error].
func Rules(path string, data []byte) (out []validation.Rule, err error) {
	root, err := parseDocument(path, data)
	if err != nil || root == nil {
		return nil, err
	}
	if f := rules("rules", &out).read(root, "rules"); f != nil {
		return nil, f.inFile(path, data)
	}
	return out, nil
}

func rule(n *yaml.Node, key string) (r validation.Rule, f *fault) {
	enabled := true
	fields := settings{
		word("name", &r.Name), word("type", &r.Type, validation.Types()...), word("command", &r.Command), word("path", &r.Path),
		word("pattern", &r.Pattern), word("target", &r.Target), word("format", &r.Format), boolean("absent", &r.Absent),
		number("min", &r.Min, 100), duration("timeout", &r.Timeout, 1),
		word("dir", &r.Dir), boolean("parallel", &r.Parallel), boolean("enabled", &enabled),
	}
	if f := fields.record(n, key, noKey); f != nil {
		return r, f
	}
	r.Off = !enabled
	var bad *validation.RuleError
	if err := r.Check(); errors.As(err, &bad) {
		at := n
		if one := fields.named(bad.Field); one != nil && one.node != nil {
			at = one.node
		}
		return r, &fault{at, key + "." + bad.Field, bad.Why, ""}
	}
	return r, nil
}

// definitions reads agents by name into a map that has the shipped ones; what is not said
// of a new one is as of me.
func definitions(name string, at map[string]Definition) *setting {
	return &setting{
		name: name,
		form: asYAML,
		show: func() string {
			var b strings.Builder
			for _, name := range slices.Sorted(maps.Keys(at)) {
				fmt.Fprintf(&b, ", %s: {maxIterations: %d", name, at[name].MaxIterations)
				if !at[name].Enabled {
					b.WriteString(", enabled: false")
				}
				if promises := at[name].CompletionPromises; len(promises) > 0 {
					b.WriteString(", completionPromises: " + shownList(promises))
				}
				if n := at[name].CircuitBreakerThreshold; n > 0 {
					fmt.Fprintf(&b, ", circuitBreakerThreshold: %d", n)
				}
				if rules := at[name].ValidationRules; len(rules) > 0 {
					b.WriteString(", validationRules: " + shownList(rules))
				}
				b.WriteString("}")
			}
			return "{" + strings.TrimPrefix(b.String(), ", ") + "}"
		},
		read: func(n *yaml.Node, key string) *fault {
			return eachPair(n, key, func(name string, k, v *yaml.Node) *fault {
				if !agentName().MatchString(name) {
					return &fault{k, key + "." + name, "is no name for an agent", "use letters, digits, . _ and -"}
				}
				d, known := at[name]
				if !known {
					d = Definition{Enabled: true, MaxIterations: at["me"].MaxIterations}
				}
				f := d.settings().record(v, key+"."+name, noKey)
				at[name] = d
				return f
			})
		},
	}
}

// settings are what may be said of an agent.
func (d *Definition) settings() settings {
	return settings{
		boolean("enabled", &d.Enabled), whole("maxIterations", &d.MaxIterations, 1, math.MaxInt32),
		list("completionPromises", &d.CompletionPromises), whole("circuitBreakerThreshold", &d.CircuitBreakerThreshold, 1, math.MaxInt32), list("validationRules", &d.ValidationRules),
	}
}

func agentName() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`) }
func hostName() *regexp.Regexp {
	return regexp.MustCompile(`\A(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\z|\A[0-9A-Fa-f:.]+\z`)
}
func variableName() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\*?\z`) }

// check looks at settings that depend on each other.
func (s settings) check(c Config) error {
	names := []string{}
	for _, r := range c.Gate {
		names = append(names, r.Name)
	}
	agent := s.named("agent").within
	if c.Agent.Harness == "command" && len(c.Agent.Command) == 0 {
		return agent.named("harness").fault("workflow.agent.harness", "is command, and agent.command does not say which",
			`set the program with its arguments: command: ["my-agent", "--brief"]`)
	}
	client, _ := all.Client(c.Agent.Harness)
	if known := client.Modes; known != nil && c.Agent.PermissionMode != "" && !slices.Contains(known, c.Agent.PermissionMode) {
		return agent.named("permission_mode").fault("workflow.agent.permission_mode",
			fmt.Sprintf("is %s, which %s does not know", text.Quote(c.Agent.PermissionMode, 40), c.Agent.Harness), "one of "+strings.Join(known, ", "))
	}
	for _, name := range c.Agent.Env {
		if !variableName().MatchString(name) {
			return agent.named("env").fault("workflow.agent.env", fmt.Sprintf("has %s, which is no name of a variable", text.Quote(name, 40)), "names only, without values")
		}
	}
	for _, name := range c.Secrets {
		if !variableName().MatchString(name) {
			return s.named("secrets").fault("workflow.secrets", fmt.Sprintf("has an entry of %d characters that is no name of a variable", len(name)),
				"names of variables only: a secret itself must not stand in a file")
		}
	}
	for _, host := range c.Sandbox.Network.Allow {
		if !hostName().MatchString(host) {
			return s.named("sandbox").within.named("network").within.named("allow").fault("workflow.sandbox.network.allow", fmt.Sprintf("has %s, which is no name of a host", text.Quote(host, 60)), "names as example.com, or *.example.com for all below it, without a port")
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(c.Agents)) {
		for _, name := range c.Agents[agent].ValidationRules {
			if !slices.Contains(names, name) {
				return s.named("agents").fault("workflow.agents."+agent+".validationRules",
					fmt.Sprintf("has %s, which is no rule of the gate", text.Quote(name, 40)), suggest(name, names))
			}
		}
	}
	return nil
}

// fault is the error of a setting that is well-formed by itself.
func (one *setting) fault(key, what, fix string) error {
	f := &fault{one.node, key, what, fix}
	if one.node == nil {
		return f.inVariable(one.from)
	}
	return f.inFile(one.file.Path, one.file.Text)
}
