package codex_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/codex"
	"github.com/beadsorch/orch/orchestrator/harness/stream/streamtest"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	h := codex.New(harness.Options{})
	out := streamtest.Replay(t, h, "success-tools", 0)
	require.Equal(t, harness.Outcome{Kind: harness.Ended, Text: "done", Session: "01a1fb54-434d-7cb1-935c-9c6cfe9f6f67",
		Usage: harness.Usage{InputTokens: 19993, OutputTokens: 43, Turns: 1, Whole: true}}, out)
	require.Equal(t, "reply 2", streamtest.Replay(t, h, "stop-block", 0).Text, "the newest message alone")
	for name, want := range map[string]harness.Kind{"api-error-400": harness.Crashed, "api-error-401": harness.Auth, "api-error-429": harness.RateLimited,
		"api-error-500": harness.Unavailable, "api-error-503": harness.Unavailable, "sigint": harness.Crashed} {
		out := streamtest.Replay(t, h, name, 1)
		require.Equal(t, want, out.Kind, "%s: %s", name, out.Detail)
		require.NotEmpty(t, out.Detail)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	failed := func(text string) harness.Outcome {
		return streamtest.Read(t, codex.New(harness.Options{}), `{"type":"turn.failed","error":{"message":"`+text+`"}}`, 1)
	}
	out := failed("You've hit your usage limit. Upgrade to Pro, or try again in 2 days 3 hours 5 minutes.")
	require.Equal(t, harness.UsageLimit, out.Kind)
	require.Equal(t, 51*time.Hour+5*time.Minute, out.RetryAfter)
	out = failed("Rate limit reached, last status: 429 Too Many Requests. Please try again in 1.5s.")
	require.Equal(t, 1500*time.Millisecond, out.RetryAfter)
	require.Equal(t, harness.Unavailable, failed("stream disconnected before completion").Kind)
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	h := codex.New(harness.Options{Mode: "workspace-write", Model: "m"})
	l, err := h.Launch(harness.Spec{Brief: "do", Session: "5f0c2b1e"})
	require.NoError(t, err)
	require.Equal(t, harness.Launch{Argv: []string{"codex", "exec", "--json", "--sandbox", "workspace-write", "--model", "m", "-"}, Stdin: []byte("do")}, l)
	l, err = h.Launch(harness.Spec{Brief: "do", Session: "01a1fb54-434d", Resume: true})
	require.NoError(t, err)
	require.Equal(t, []string{"resume", "01a1fb54-434d", "-"}, l.Argv[7:])
	for _, bad := range []harness.Spec{{Resume: true}, {Session: "--last", Resume: true}, {Session: "a b"}} {
		_, err := h.Launch(bad)
		require.ErrorIs(t, err, harness.ErrOption)
	}
	_, err = codex.New(harness.Options{Model: "--yolo"}).Launch(harness.Spec{})
	require.ErrorIs(t, err, harness.ErrOption)
}

func TestActivity(t *testing.T) {
	t.Parallel()
	r := codex.New(harness.Options{}).Reader()
	_, err := r.Write([]byte(`{"type":"item.started","item":{"type":"command_execution","command":"/bin/bash -lc 'go test ./...'"}}` + "\n"))
	require.NoError(t, err)
	require.Equal(t, "exec: go test ./...", r.Activity())
}

func FuzzReader(f *testing.F) { streamtest.Fuzz(f, codex.New(harness.Options{})) }
