package session

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// maxTranscript is how much of the end of a transcript is read, in bytes.
const maxTranscript = 256 << 10

// LastAssistantMessage is the agent's last message in a transcript, for clients that do not send it:
// the newest text of the agent's own since the last prompt; "" when there is none, or the
// file cannot be read. It knows the transcripts of Claude Code and of Copilot CLI. It
// follows no link, and never waits.
func LastAssistantMessage(path string) string {
	f, size, err := openState(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	end, err := io.ReadAll(io.NewSectionReader(f, max(0, size-maxTranscript), maxTranscript))
	if err != nil {
		return ""
	}
	return lastMessageIn(end)
}

// entry is a line of a transcript: the union of what is read of those that are known.
type entry struct {
	Type      string `json:"type"`
	Sidechain bool   `json:"isSidechain"` // a subagent's, of Claude Code
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"` // of Claude Code
	Data struct {
		Content string `json:"content"`
	} `json:"data"` // of Copilot CLI
}

func lastMessageIn(end []byte) string {
	lines := bytes.Split(end, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		var e entry
		if json.Unmarshal(line, &e) != nil || e.Sidechain {
			continue
		}
		switch e.Type {
		case "assistant":
			if text := contentText(e.Message.Content); text != "" {
				return text
			}
		case "assistant.message":
			if e.Data.Content != "" {
				return e.Data.Content
			}
		case "user.message":
			return ""
		case "user":
			if contentText(e.Message.Content) != "" { // a prompt; the output of a tool has none
				return ""
			}
		}
	}
	return ""
}

// contentText is the text of a message, which is a string or a list of blocks.
func contentText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" && b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
