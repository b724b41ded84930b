// Package mcp gives a model orch's commands as tools, by the Model Context Protocol.
//
// A tool is a command line that the model fills in: the same core answers both, and what a
// command prints with --json is the tool's result. A command that fails is a tool error
// that says what to send instead; nothing is written then.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
)

// Call runs one orch command with --json: its arguments, and what it reads. It gives the
// document that was printed, and the exit code.
type Call func(ctx context.Context, args []string, stdin []byte) (document []byte, exit int)

// Server is a server with all tools. version is orch's own.
func Server(version string, call Call) *mcp.Server {
	s := server{mcp.NewServer(&mcp.Implementation{Name: "orch", Title: "orch", Version: version}, &mcp.ServerOptions{Instructions: instructions}), call, document.ReadMeanings()}
	addTasks(s)
	addIterations(s)
	addCheckpoints(s)
	addHooks(s)
	addEpics(s)
	return s.server
}

const instructions = `orch decides by state, not by words. To work on one task: iteration_start, do the work,
iteration_validate with what you have said, and go by completionSignal: CONTINUE means iteration_next
and another round with the feedback; COMPLETE, BLOCKED and ESCALATE mean iteration_complete. Save what
you want to know again with checkpoint_create; after a fresh start begin with checkpoint_resume. To
lead an epic: epic_next hands out tasks, epic_land checks and lands one.`

// Serve answers one client, a message a line, until its input ends. It fails when nothing can
// be written to it.
func Serve(ctx context.Context, in io.Reader, out io.Writer, version string, call Call) error {
	err := Server(version, call).Run(ctx, streams{in, out})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// server is what tools are added to.
type server struct {
	server   *mcp.Server
	call     Call
	meanings document.Meanings // of the fields of results
}

// commandLine is a command line.
type commandLine struct {
	args  []string
	stdin []byte
}

// flag adds a flag unless its value is empty.
func (l *commandLine) flag(name, value string) {
	if value != "" {
		l.args = append(l.args, "--"+name+"="+value)
	}
}

// number adds a flag unless it is 0.
func (l *commandLine) number(name string, value int) {
	if value != 0 {
		l.flag(name, fmt.Sprint(value))
	}
}

// repeatFlag adds a flag for each value.
func (l *commandLine) repeatFlag(name string, values []string) {
	for _, v := range values {
		l.flag(name, v)
	}
}

// newCommandLine is a command line with its words; operands from a client come after a --, so that
// they are never taken for options.
func newCommandLine(words ...string) *commandLine { return &commandLine{args: words} }

// addTool makes a tool of a command. In is the type of a model's input.
func addTool[In any](s server, t tool, fill func(In) (*commandLine, []string)) {
	addView[In](s, t, fill, func(doc []byte) ([]byte, error) { return doc, nil })
}

// tool is how a tool is described to a client, and how its exit codes are read.
type tool struct {
	zero              cli.Document // an empty document of the kind that it answers with
	name, description string
	okExits           []int // exit codes that are results, not errors
}

// addView is addTool for a tool whose result is what view makes of the printed document.
func addView[In any](s server, t tool, fill func(In) (*commandLine, []string), view func(document []byte) ([]byte, error)) {
	mcp.AddTool(s.server, &mcp.Tool{Name: t.name, Description: t.description, InputSchema: inputSchema[In](), OutputSchema: schemaOf(t.zero, s.meanings)}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, json.RawMessage, error) {
		l, operands := fill(in)
		for _, o := range operands {
			if strings.ContainsRune(o, 0) || strings.TrimSpace(o) == "" {
				return nil, nil, errors.New("taskId is missing or empty. Send the id of a task (or of an epic, where epic is asked for), such as bd-a3f8.2")
			}
		}
		args := append(append(append([]string{}, l.args...), "--json", "--"), operands...)
		printed, exit := s.call(ctx, args, l.stdin)
		if err := toolError(printed, exit, t.okExits); err != nil {
			return nil, nil, err
		}
		out, err := view(printed)
		if err != nil || !json.Valid(out) {
			return nil, nil, errors.Join(fmt.Errorf("orch %s printed what is no result", strings.Join(l.args, " ")), err)
		}
		return nil, out, nil
	})
}

// toolError is the error that a command printed; nil where it succeeded.
func toolError(printed []byte, exit int, fine []int) error {
	if exit == 0 {
		return nil
	}
	var tag struct {
		Schema string `json:"schema"`
	}
	var e cli.ErrorDocument
	if err := json.Unmarshal(printed, &tag); err != nil || tag.Schema != e.Schema() || json.Unmarshal(printed, &e) != nil {
		if err == nil && slices.Contains(fine, exit) {
			return nil
		}
		return fmt.Errorf("orch ended with exit code %d and said nothing of use", exit)
	}
	text := e.Message + " [" + e.Code + "]"
	if e.Why != "" {
		text += ". " + e.Why
	}
	if len(e.Fix) > 0 {
		text += ". What helps: " + strings.Join(e.Fix, "; ")
	}
	if e.Promise != "" {
		text += ". The epic: " + string(e.Promise)
	}
	return errors.New(text)
}
