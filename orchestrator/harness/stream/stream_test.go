package stream_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		text   string
		want   harness.Kind
	}{
		{429, "", harness.RateLimited},
		{0, "exceeded retry limit, last status: 429 Too Many Requests", harness.RateLimited},
		{0, `[API Error: {"error":{"code":429,"message":"slow down"}}]`, harness.RateLimited},
		{429, "You exceeded your daily quota", harness.UsageLimit},
		{402, "", harness.UsageLimit},
		{0, "insufficient_quota", harness.UsageLimit},
		{401, "", harness.Auth},
		{0, "Invalid auth method selected.", harness.Auth},
		{0, `{"error":{"code":"403"}}`, harness.Auth},
		{503, "", harness.Unavailable},
		{0, "stream disconnected before completion", harness.Unavailable},
		{0, "", harness.Unavailable},
		{400, "the network of the request is wrong", harness.Crashed},
		{0, "segmentation fault", harness.Crashed},
		{400, "prompt is too long: 210000 tokens > 200000 maximum", harness.ContextFull},
		{0, `{"error":{"code":"400","message":"This model's maximum context length is 128000 tokens"}}`, harness.ContextFull},
		{503, "the context window service is down", harness.Unavailable},
		{0, "line 401 of the code", harness.Crashed},
	} {
		require.Equal(t, c.want, stream.KindOf(c.status, c.text), "%d %s", c.status, c.text)
	}
}

func TestWaitIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"":                                0,
		"try again later":                 0,
		"Please try again in 1.5s.":       1500 * time.Millisecond,
		"try again in 250ms":              250 * time.Millisecond,
		"retry after 2 minutes":           2 * time.Minute,
		"resets in 1h 5m":                 65 * time.Minute,
		"try again in 2 days and 3 hours": 51 * time.Hour,
		"try again in 99999999999 days":   stream.LongestWait,
		"try again in ... s":              0,
	} {
		require.Equal(t, want, stream.WaitIn(text), text)
	}
}

func FuzzErrorText(f *testing.F) {
	f.Add("try again in 2 days and 3 hours, last status: 429")
	f.Fuzz(func(t *testing.T, text string) {
		wait := stream.WaitIn(text)
		require.True(t, wait >= 0 && wait <= stream.LongestWait, "%s", wait)
		require.NotEmpty(t, stream.KindOf(0, text))
	})
}

// take is a client whose lines are {"say":…}, {"do":…}, {"fail":…} and {"close":true}.
func take(line []byte, t *stream.Transcript) error {
	var e struct {
		Say, Do, Fail string
		Close         bool
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	switch {
	case e.Close:
		t.Ended()
	case e.Fail != "":
		t.Failed(0, e.Fail)
	case e.Do != "":
		t.Activity(e.Do)
	case e.Say != "":
		t.Message(e.Say)
	default:
		return errors.New("unknown")
	}
	return nil
}

// TestOutcome: what a run came to, by how far it got.
func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		exit       int
		want       harness.Outcome
	}{
		{"it ended well", `{"say":"a"}{"close":true}`, 0, harness.Outcome{Kind: harness.Ended, Text: "a"}},
		{"pieces make one message", `{"say":"a"}{"say":"b"}{"close":true}`, 0, harness.Outcome{Kind: harness.Ended, Text: "ab"}},
		{"and something else ends it", `{"say":"a"}{"do":"x"}{"say":"b"}{"close":true}`, 1, harness.Outcome{Kind: harness.Ended, Text: "b"}},
		{"it only spoke", `{"say":"a"}`, 0, harness.Outcome{Kind: harness.Ended, Text: "a", Detail: "the client gave no result"}},
		{"it broke off", `{"say":"a"}{"do":"exec: make"}`, 137, harness.Outcome{Kind: harness.Crashed, Text: "a", Detail: "ended by SIGKILL without a result, last seen exec: make"}},
		{"work after the end counts", `{"close":true}{"do":"exec: make"}`, 137, harness.Outcome{Kind: harness.Crashed, Detail: "ended by SIGKILL without a result, last seen exec: make"}},
		{"it failed", `{"fail":"status: 503"}`, 1, harness.Outcome{Kind: harness.Unavailable, Detail: "status: 503"}},
		{"it failed, and went on", `{"fail":"status: 503"}{"close":true}`, 0, harness.Outcome{Kind: harness.Ended}},
		{"rubbish", "x\n" + `{"odd":1}` + "\n" + strings.Repeat("y", 1<<20), 2, harness.Outcome{Kind: harness.Crashed, Detail: "exit 2 without a result, 3 lines not understood"}},
	} {
		r := stream.NewReader(take)
		_, err := r.Write([]byte(strings.ReplaceAll(c.text, "}{", "}\n{")))
		require.NoError(t, err)
		require.Equal(t, c.want, r.Outcome(c.exit), c.name)
	}
}

func TestTool(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][2]string{
		"Bash: go test": {"Bash", `{"command":"go test","path":"x"}`},
		"Edit a/b.go":   {"Edit", `{"file_path":"/w/a/b.go"}`},
		"view /etc/x":   {"view", `{"path":"/etc/x"}`},
		"tool":          {"", `7`},
		"grep: x":       {"grep", `{"pattern":"x","description":"look"}`},
	} {
		require.Equal(t, want, stream.DescribeTool(in[0], json.RawMessage(in[1]), "/w"))
	}
}
