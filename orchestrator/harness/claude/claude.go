// Package claude adapts Claude Code, run without a terminal, to a harness.
//
// The client is started as `claude -p --output-format stream-json --verbose`, the brief on
// stdin, and its stream of JSON lines is read tolerantly: unknown lines are counted and
// skipped, because the client adds new ones all the time. What is said here of the stream was
// measured on Claude Code 2.1.329; its exit code alone says little (it is 0 after an
// interrupt, and after a run in which every tool was denied).
package claude

import (
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
)

// Client is Claude Code.
func Client() harness.Client {
	return harness.Client{
		Name: "claude", Title: "Claude Code",
		Env: []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_OAUTH_TOKEN",
			"CLAUDE_CODE_USE_*", "AWS_*", "DISABLE_*", "CLAUDE_CODE_DISABLE_*", "IS_SANDBOX"},
		Mode: "acceptEdits", Tools: []string{"Bash(go *)", "Bash(git *)"},
		Files: []string{
			".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/**", ".claude/agents/**", ".claude/commands/**", ".claude/skills/**", ".claude/workflows/**", ".mcp.json",
		},
		Protect: []string{".claude/**"},
		Resumes: true,
		Needs: harness.Needs{
			Share: []string{".claude"}, Moved: "CLAUDE_CONFIG_DIR", Keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
			Fixed: []string{".claude/settings.json", ".claude/settings.local.json", ".claude/remote-settings.json", ".claude/.config.json", ".claude/CLAUDE.md", ".claude/rules", ".claude/commands", ".claude/agents",
				".claude/skills", ".claude/workflows", ".claude/plugins", ".claude/hooks", ".claude/output-styles", ".claude/themes", ".claude/keybindings.json", ".claude/statusline.sh", ".claude/local", ".claude/scheduled_tasks.json",
				".claude/agent-memory"},
			Own: []string{".claude/projects", ".claude/sessions", ".claude/session-env", ".claude/shell-snapshots", ".claude/backups", ".claude/todos", ".claude/tasks", ".claude/teams", ".claude/plans", ".claude/file-history",
				".claude/debug", ".claude/paste-cache", ".claude/jobs"},
			Seed: []string{".claude.json"}, Read: []string{".local/share/claude"},
			Hosts: []string{"api.anthropic.com", "platform.claude.com", "claude.ai"},
			Env:   []string{"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_TMPDIR=$TMPDIR"},
		},
		New: func(o harness.Options) harness.Harness {
			own := ""
			if o.Bounded {
				own = `{"sandbox":{"enabled":false}}`
			}
			return New(Options{Binary: o.Program, PermissionMode: o.Mode, Model: o.Model, AllowedTools: o.Tools, SettingsJSON: own})
		},
	}
}

// Options is how the client is started.
type Options struct {
	// Binary is the program; empty means "claude".
	Binary string
	// PermissionMode is the value of --permission-mode; empty leaves it to the client.
	PermissionMode string
	// Model is the value of --model; empty leaves it to the client.
	Model string
	// AllowedTools are the tools that need no permission, such as "Bash(go *)".
	AllowedTools []string
	// SettingsJSON is added to the client's settings for this run, hooks included; empty adds none.
	SettingsJSON string
	// ExtraArgs are passed on as they are.
	ExtraArgs []string
	// Now is the clock by which a reset time becomes a waiting time; nil leaves that unknown.
	Now func() time.Time
}

type claude struct {
	options Options
}

// New is the harness for Claude Code. Its Launch fails with [harness.ErrOption] when an option, or the
// session of a Spec, would be taken for something else on the command line.
func New(o Options) harness.Harness {
	if o.Binary == "" {
		o.Binary = "claude"
	}
	return claude{options: o}
}

// Launch implements harness.Harness. A new session's id has to be a UUID that was never used.
func (c claude) Launch(s harness.Spec) (harness.Launch, error) {
	o := c.options
	if err := s.Check(append([]string{o.PermissionMode, o.Model, o.SettingsJSON}, o.AllowedTools...)...); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Binary, "-p", "--output-format", "stream-json", "--verbose"}
	if len(o.AllowedTools) > 0 { // takes all words up to the next option
		argv = append(append(argv, "--allowedTools"), o.AllowedTools...)
	}
	option := func(name, value string) {
		if value != "" {
			argv = append(argv, name, value)
		}
	}
	option("--permission-mode", o.PermissionMode)
	option("--model", o.Model)
	option("--settings", o.SettingsJSON)
	if s.Resume {
		option("--resume", s.Session)
	} else {
		option("--session-id", s.Session)
	}
	return harness.Launch{Argv: append(argv, o.ExtraArgs...), Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (c claude) Reader() harness.Reader { return &reader{transcript: transcript{now: c.options.Now}} }
