// Package claude adapts Claude Code, run without a terminal, to a harness.
//
// The client is started as `claude -p --output-format stream-json --verbose`, the brief on
// stdin, and its stream of JSON lines is read tolerantly: unknown lines are counted and passed
// over, because the client adds new ones all the time. What is said here of the stream was
// measured on Claude Code 2.1.329; its exit code alone says little (it is 0 after an
// interrupt, and after a run in which every tool was denied).
package claude

import (
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
)

// ErrOption says that an option or a session id cannot be passed to the client.
var ErrOption = errors.New("not a value for the command line of claude")

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

var sessionID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`) })

type claude struct {
	options Options
}

// New is the harness for Claude Code. Its Launch fails with [ErrOption] when an option, or the
// session of a Spec, would be taken for something else on the command line.
func New(o Options) harness.Harness {
	if o.Binary == "" {
		o.Binary = "claude"
	}
	return claude{options: o}
}

// Launch implements harness.Harness. A new session's id has to be a UUID that was never used.
func (c claude) Launch(s harness.Spec) (harness.Launch, error) {
	if err := c.check(s); err != nil {
		return harness.Launch{}, err
	}
	o := c.options
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

func (c claude) check(s harness.Spec) error {
	if s.Session != "" && !sessionID().MatchString(s.Session) {
		return fmt.Errorf("%w: session %q", ErrOption, s.Session)
	}
	if s.Resume && s.Session == "" {
		return fmt.Errorf("%w: no session to resume", ErrOption)
	}
	values := append([]string{c.options.PermissionMode, c.options.Model, c.options.SettingsJSON}, c.options.AllowedTools...)
	for _, value := range values {
		if value != "" && value[0] == '-' {
			return fmt.Errorf("%w: %q", ErrOption, value)
		}
	}
	return nil
}

// Reader implements harness.Harness.
func (c claude) Reader() harness.Reader { return &reader{story: story{now: c.options.Now}} }
