package validation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	maxCommandBytes = 16 << 20 // of a command's output that are kept while it runs
	tailBytes       = 4 << 10
)

// Exit statuses of a POSIX shell for a command that it did not run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

var errTimeout = errors.New("the rule's time is up")

// command passes with exit status 0.
func (r Rule) command(ctx context.Context, run command.Runner, in Input) Check {
	// People read both streams as one, in the order in which they were written.
	c, _ := r.shell(ctx, run, command.Cmd{Dir: filepath.Join(in.Dir, filepath.FromSlash(r.Dir)), Env: in.Env, Argv: []string{"sh", "-c", "exec 2>&1\n" + r.Command}})
	return c
}

// custom passes when the command says so.
func (r Rule) custom(ctx context.Context, run command.Runner, in Input) Check {
	input, err := in.context()
	if err != nil {
		return errorCheck("the context has no JSON: %v", err)
	}
	c, res := r.shell(ctx, run, command.Cmd{Dir: filepath.Join(in.Dir, filepath.FromSlash(r.Dir)), Env: in.Env, Argv: []string{"sh", "-c", r.Command}, Stdin: input})
	if !c.Passed {
		c.Errored = true
		return c
	}
	c.Output = lastLines(res.Stderr)
	if c.Passed, c.Why, err = parseAnswer(res.Stdout); err != nil {
		c.Errored, c.Why, c.Output = true, "the answer is not understood: "+err.Error(), lastLines(res.Stdout)
	}
	return c
}

func (in Input) context() ([]byte, error) {
	if in.Context != nil {
		return in.Context, nil
	}
	return json.Marshal(map[string]any{"output": in.Output, "files": append([]string{}, in.Files...)})
}

// parseAnswer reads {"passed":…,"reason":…}. It fails for anything else.
func parseAnswer(out []byte) (passed bool, reason string, err error) {
	var a struct {
		Passed *bool  `json:"passed"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return false, "", err
	}
	if a.Passed == nil {
		return false, "", errors.New(`it has no "passed"`)
	}
	if reason = text.Clause(a.Reason, 200); reason == "" {
		reason = fmt.Sprintf("it answered passed: %t", *a.Passed)
	}
	return *a.Passed, reason, nil
}

// shell runs a command within the rule's time.
func (r Rule) shell(ctx context.Context, run command.Runner, cmd command.Cmd) (Check, command.Result) {
	limit := r.Timeout
	if limit == 0 {
		limit = defaultTimeout
	}
	ctx, cancel := command.Within(ctx, limit, errTimeout)
	defer cancel()
	cmd.MaxOutputBytes = maxCommandBytes
	res, err := run(ctx, cmd)
	c := Check{ExitCode: res.ExitCode, Output: lastLines(res.Stdout)}
	if len(res.Stdout) == 0 {
		c.Output = lastLines(res.Stderr)
	}
	judgeEnd(&c, err, limit)
	return c, res
}

// judgeEnd says what the way in which a command ended means.
func judgeEnd(c *Check, err error, limit time.Duration) {
	var exit *command.ExitError
	var over *command.LimitError
	switch {
	case errors.As(err, &over):
		c.Why = over.Limits.Exceeded(over.What) + " (sandbox.limits." + over.What + ")"
	case err == nil:
		c.Passed, c.Why = true, "exit 0"
	case errors.Is(err, errTimeout):
		c.Why = fmt.Sprintf("did not end within %s", limit)
	case !errors.As(err, &exit):
		c.Errored, c.Why, c.Err = true, text.Clause(err.Error(), 200), err
	case exit.Signal != "":
		c.Why = "ended by " + exit.Signal
	case exit.ExitCode == exitNotFound, exit.ExitCode == exitNotExecutable:
		c.Errored, c.Why = true, fmt.Sprintf("exit %d: a command was not found, or not to be run", exit.ExitCode)
	default:
		c.Why = fmt.Sprintf("exit %d", exit.ExitCode)
	}
}

// lastLines is the end of an output as valid UTF-8: whole lines, as far as 4 KiB hold one.
func lastLines(out []byte) string {
	out = bytes.TrimRight(out, "\n")
	if len(out) > tailBytes {
		out = out[len(out)-tailBytes:]
		if i := bytes.IndexByte(out, '\n'); i >= 0 && i < len(out)-1 {
			out = out[i+1:]
		}
	}
	return strings.ToValidUTF8(string(out), "?")
}
