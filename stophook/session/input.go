package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Input is what a client tells a stop hook, as far as the decision reads it.
type Input struct {
	// Session is the client's id of the conversation; "" when it names none.
	Session string
	// Dir is where the session works; "" when it does not say.
	Dir string
	// Event is the client's name of the event, such as Stop or SessionStart.
	Event string
	// Source says of a session that starts why it does: startup, resume, clear, compact.
	Source string
	// LastMessage is the agent's own last message; "" when it had no text, or the
	// client does not send it.
	LastMessage string
	// Prompt is what a person typed, of an event that has it.
	Prompt string
	// Transcript is the file in which the client keeps the conversation; "" when it does
	// not say.
	Transcript string
	// StopHookActive says that a stop was blocked before, for the same prompt.
	StopHookActive bool
	// BackgroundTasks counts background tasks and timers: the client wakes the agent itself.
	BackgroundTasks int
}

// ErrInput says that what came is not the JSON object that a client sends.
var ErrInput = errors.New("not the input of a hook")

// ReadInput reads one JSON object and no further: it never waits for the end of r. It takes
// little memory whatever comes: of a long string the middle is left out, as [Clip] does.
// Names are those of Claude Code, Codex and Gemini CLI, and of Copilot CLI in its own
// spelling. Unknown fields are passed over, absent ones stay empty; a field of another
// type than expected counts as absent. It fails with ErrInput.
func ReadInput(r io.Reader) (Input, error) {
	b := bufio.NewReader(Clip(r))
	if bom, err := b.Peek(3); err == nil && bytes.Equal(bom, []byte("\xef\xbb\xbf")) {
		if _, err := b.Discard(3); err != nil {
			return Input{}, fmt.Errorf("%w: %w", ErrInput, err)
		}
	}
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(b).Decode(&fields); err != nil {
		return Input{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if fields == nil {
		return Input{}, fmt.Errorf("%w: null", ErrInput)
	}
	text := func(names ...string) string {
		for _, name := range names {
			var s string
			if json.Unmarshal(fields[name], &s) == nil && s != "" {
				return s
			}
		}
		return ""
	}
	count := func(name string) int {
		var list []json.RawMessage
		if json.Unmarshal(fields[name], &list) != nil {
			return 0
		}
		return len(list)
	}
	var again bool
	if json.Unmarshal(fields["stop_hook_active"], &again) != nil {
		again = false
	}
	return Input{
		Session: text("session_id", "sessionId"), Dir: text("cwd"), Event: text("hook_event_name"), Source: text("source"),
		LastMessage: text("last_assistant_message", "prompt_response"), Prompt: text("prompt"),
		Transcript: text("transcript_path", "transcriptPath"), StopHookActive: again,
		BackgroundTasks: count("background_tasks") + count("session_crons"),
	}, nil
}
