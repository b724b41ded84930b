package gemini_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/gemini"
	"github.com/beadsorch/orch/orchestrator/harness/stream/streamtest"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	h := gemini.New(harness.Options{})
	out := streamtest.Replay(t, h, "success-tools", 0)
	require.Equal(t, harness.Outcome{Kind: harness.Ended, Text: "done", Session: "06979469-b044-48e5-9008-7ff3f239880f",
		Usage: harness.Usage{InputTokens: 24571, OutputTokens: 49, Turns: 2}}, out)
	require.Equal(t, "reply 2", streamtest.Replay(t, h, "after-agent-block", 0).Text, "the newest message alone")
	require.Equal(t, harness.Ended, streamtest.Replay(t, h, "after-agent-clear-context", 0).Kind)
	require.Equal(t, harness.Crashed, streamtest.Replay(t, h, "api-error-400", 144).Kind)
	require.Equal(t, harness.Auth, streamtest.Replay(t, h, "api-error-401", 145).Kind)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	failed := func(text string) harness.Outcome {
		return streamtest.Read(t, gemini.New(harness.Options{}), `{"type":"result","status":"error","error":{"message":"`+text+`"}}`, 144)
	}
	out := failed(`[API Error: {\"error\":{\"code\":429,\"message\":\"Please retry in 32.5s.\"}}]`)
	require.Equal(t, harness.RateLimited, out.Kind)
	require.Equal(t, 32500*time.Millisecond, out.RetryAfter)
	require.Equal(t, harness.UsageLimit, failed("You have exhausted your daily quota on this model.").Kind)
	require.Equal(t, harness.Unavailable, failed(`[API Error: {\"error\":{\"code\":503}}]`).Kind)
	require.Equal(t, harness.Crashed, streamtest.Read(t, gemini.New(harness.Options{}), "", 42).Kind)
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	h := gemini.New(harness.Options{Mode: "auto_edit", Model: "m", Tools: []string{"run_shell_command(git)"}})
	l, err := h.Launch(harness.Spec{Brief: "do", Session: "5f0c2b1e"})
	require.NoError(t, err)
	require.Equal(t, harness.Launch{Argv: []string{"gemini", "--output-format", "stream-json", "--skip-trust", "--approval-mode", "auto_edit", "--model", "m",
		"--allowed-tools", "run_shell_command(git)", "--session-id", "5f0c2b1e"}, Stdin: []byte("do")}, l)
	l, err = h.Launch(harness.Spec{Session: "5f0c2b1e", Resume: true})
	require.NoError(t, err)
	require.Equal(t, []string{"--resume", "5f0c2b1e"}, l.Argv[len(l.Argv)-2:])
	_, err = gemini.New(harness.Options{Mode: "--yolo"}).Launch(harness.Spec{})
	require.ErrorIs(t, err, harness.ErrOption)
}

func FuzzReader(f *testing.F) { streamtest.Fuzz(f, gemini.New(harness.Options{})) }
