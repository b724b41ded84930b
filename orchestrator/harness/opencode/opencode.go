// Package opencode adapts opencode, run as `opencode run --format json`, to a harness.
//
// The brief is read from stdin: a prompt among the arguments would reach the model with
// quotes around it. opencode has no command hook for the end of a turn, so a session of
// its own cannot be kept at work from outside; orch run, which starts it anew or resumes
// it, is what drives it. Measured on opencode 1.18.33.
package opencode

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// Auto is the mode in which what is not denied may be done unasked.
const Auto = "auto"

// Client is opencode. It asks for next to nothing by itself.
func Client() harness.Client {
	return harness.Client{
		Name: "opencode", Title: "opencode", Env: []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*"},
		Modes:   []string{Auto},
		Files:   []string{".opencode/**", "opencode.json", "opencode.jsonc"},
		Resumes: true, New: New,
		Needs: harness.Needs{
			Hosts:   []string{"models.dev", "registry.npmjs.org", "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "openrouter.ai"},
			Private: []string{".local/share/opencode", ".config/opencode"}, Login: []string{".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json"},
			Fixed: []string{".config/opencode/agent", ".config/opencode/agents", ".config/opencode/command", ".config/opencode/commands", ".config/opencode/mode", ".config/opencode/modes", ".config/opencode/plugin",
				".config/opencode/plugins", ".config/opencode/skill", ".config/opencode/skills", ".config/opencode/tool", ".config/opencode/tools", ".config/opencode/themes"},
			Seed: []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".config/opencode/config.json", ".config/opencode/AGENTS.md"},
			Env:  []string{"OPENCODE_DISABLE_AUTOUPDATE=1"},
		},
	}
}

type opencode struct{ options harness.Options }

// New is the harness for opencode. Its Launch fails with [harness.ErrOption]. Its Mode is [Auto],
// or empty: then the client's own settings hold.
func New(o harness.Options) harness.Harness {
	if o.Program == "" {
		o.Program = "opencode"
	}
	return opencode{options: o}
}

// Launch implements harness.Harness. The id of a new session cannot be chosen.
func (c opencode) Launch(s harness.Spec) (harness.Launch, error) {
	o := c.options
	if err := s.Check(o.Mode, o.Model); err != nil {
		return harness.Launch{}, err
	}
	argv := []string{o.Program, "run", "--format", "json"}
	if o.Mode == Auto {
		argv = append(argv, "--auto")
	}
	if o.Model != "" {
		argv = append(argv, "--model", o.Model)
	}
	if s.Resume {
		argv = append(argv, "--session", s.Session)
	}
	return harness.Launch{Argv: argv, Stdin: []byte(s.Brief)}, nil
}

// Reader implements harness.Harness.
func (c opencode) Reader() harness.Reader { return stream.NewReader(parseLine) }

// event is one line: the union of what we read of the types that we know.
type event struct {
	Type    string `json:"type"`
	Session string `json:"sessionID"`
	Part    struct {
		Text  string `json:"text"`
		Tool  string `json:"tool"`
		State struct {
			Input json.RawMessage `json:"input"`
		} `json:"state"`
		Reason string  `json:"reason"`
		Cost   float64 `json:"cost"`
		Tokens struct {
			Input     int64 `json:"input"`
			Output    int64 `json:"output"`
			Reasoning int64 `json:"reasoning"`
			Cache     struct {
				Read  int64 `json:"read"`
				Write int64 `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string            `json:"message"`
			Status  int               `json:"statusCode"`
			Headers map[string]string `json:"responseHeaders"`
		} `json:"data"`
	} `json:"error"`
}

var errUnknown = errors.New("a line that is not known")

func parseLine(line []byte, t *stream.Transcript) error {
	var e event
	if err := stream.IgnoreTypeMismatch(json.Unmarshal(line, &e)); err != nil {
		return err
	}
	t.Session = cmp.Or(e.Session, t.Session)
	switch e.Type {
	case "step_start", "reasoning":
		t.Activity("thinking")
	case "text":
		t.Activity("")
		t.Message(e.Part.Text)
	case "tool_use":
		t.Activity(stream.DescribeTool(e.Part.Tool, e.Part.State.Input, ""))
	case "step_finish":
		parseStep(e, t)
	case "error":
		text := cmp.Or(e.Error.Data.Message, e.Error.Name)
		if after := e.Error.Data.Headers["retry-after"]; after != "" {
			text += "; retry after " + after + "s"
		}
		t.Failed(e.Error.Data.Status, text)
	default:
		return errUnknown
	}
	return nil
}

// mostUSD bounds a sum that a stream of nonsense would make infinite.
const mostUSD = 1e6

func parseStep(e event, t *stream.Transcript) {
	n := e.Part.Tokens
	t.Usage.InputTokens += n.Input + n.Cache.Read + n.Cache.Write
	t.Usage.OutputTokens += n.Output + n.Reasoning
	t.Usage.CostUSD = max(0, min(t.Usage.CostUSD+e.Part.Cost, mostUSD))
	t.Usage.Turns++
	if e.Part.Reason == "tool-calls" {
		t.Activity("thinking")
		return
	}
	t.Ended()
}
