package claude

import (
	"encoding/json"

	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

// event is one line of the stream: the union of what we read of the types that we know.
type event struct {
	Type    string  `json:"type"`
	Subtype string  `json:"subtype"`
	Session string  `json:"session_id"`
	Cwd     string  `json:"cwd"`
	Parent  string  `json:"parent_tool_use_id"` // of a subagent's message
	Message message `json:"message"`
	Status  string  `json:"status"` // system/status
	Limit   limit   `json:"rate_limit_info"`
	Result  result  `json:"-"`
	apiError
	retry
}

// message is a turn of the conversation, or one content block of it.
type message struct {
	ID      string  `json:"id"`
	Model   string  `json:"model"`
	Content []block `json:"content"`
	Usage   usage   `json:"usage"`
}

// block is a piece of text, a tool call, or something that we do not read.
type block struct {
	Type  string          `json:"type"`
	Text  string          `json:"text"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// apiError is on a line about a call to the API that failed.
type apiError struct {
	Word        string `json:"error"`            // "authentication_failed", "rate_limit", ...
	RetryStatus int    `json:"error_status"`     // HTTP, on system/api_retry
	FinalStatus int    `json:"api_error_status"` // HTTP, on assistant and result
	Synthetic   bool   `json:"is_api_error_message"`
}

func (e apiError) status() int { return max(e.RetryStatus, e.FinalStatus) }

// retry is on system/api_retry.
type retry struct {
	Attempt int     `json:"attempt"`
	Max     int     `json:"max_retries"`
	DelayMS float64 `json:"retry_delay_ms"`
}

// limit is on rate_limit_event.
type limit struct {
	Status   string  `json:"status"`   // "allowed", "allowed_warning", "rejected"
	ResetsAt float64 `json:"resetsAt"` // Unix time, in seconds or milliseconds
	Overage  bool    `json:"isUsingOverage"`
}

// hit says that the quota is used up, and is not being exceeded by arrangement.
func (l limit) hit() bool { return l.Status == "rejected" && !l.Overage }

// result ends a prompt turn; there may be more than one.
type result struct {
	IsError  bool                  `json:"is_error"`
	Terminal string                `json:"terminal_reason"`
	Text     string                `json:"result"`
	Errors   []string              `json:"errors"`
	Denials  []denial              `json:"permission_denials"`
	Turns    int                   `json:"num_turns"`
	CostUSD  float64               `json:"total_cost_usd"` // of the conversation so far, subagents included
	Usage    usage                 `json:"usage"`          // of this prompt turn, without subagents
	Models   map[string]modelUsage `json:"modelUsage"`     // of the conversation so far, subagents included
	Subtype  string                `json:"subtype"`
}

type denial struct {
	Tool string `json:"tool_name"`
}

type usage struct {
	Input     int64 `json:"input_tokens"`
	CacheMade int64 `json:"cache_creation_input_tokens"`
	CacheRead int64 `json:"cache_read_input_tokens"`
	Output    int64 `json:"output_tokens"`
}

func (u usage) input() int64 { return u.Input + u.CacheMade + u.CacheRead }

type modelUsage struct {
	Input     int64 `json:"inputTokens"`
	CacheMade int64 `json:"cacheCreationInputTokens"`
	CacheRead int64 `json:"cacheReadInputTokens"`
	Output    int64 `json:"outputTokens"`
}

// parseEvent reads one line. A field of another type than expected is left empty: only what is
// not JSON at all, or no object, fails.
func parseEvent(line []byte) (event, error) {
	var e event
	if err := stream.IgnoreTypeMismatch(json.Unmarshal(line, &e)); err != nil {
		return event{}, err
	}
	if e.Type == "result" {
		return e, stream.IgnoreTypeMismatch(json.Unmarshal(line, &e.Result))
	}
	return e, nil
}
