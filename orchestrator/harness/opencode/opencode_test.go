package opencode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/opencode"
	"github.com/beadsorch/orch/orchestrator/harness/stream/streamtest"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	h := opencode.New(harness.Options{})
	out := streamtest.Replay(t, h, "success-tools", 0)
	require.Equal(t, harness.Outcome{Kind: harness.Ended, Text: "done", Session: "ses_e04a661bcffeudQs5jOeGuiOds",
		Usage: harness.Usage{InputTokens: 15457, OutputTokens: 49, Turns: 2}}, out)
	for name, want := range map[string]harness.Kind{"api-error-400": harness.Crashed, "api-error-401": harness.Auth, "api-error-429": harness.RateLimited, "api-error-503": harness.Unavailable} {
		out := streamtest.Replay(t, h, name, 1)
		require.Equal(t, want, out.Kind, "%s: %s", name, out.Detail)
	}
	out = streamtest.Read(t, h, `{"type":"error","error":{"name":"APIError","data":{"message":"slow down","statusCode":429,"responseHeaders":{"retry-after":"30"}}}}`, 1)
	require.Equal(t, 30*time.Second, out.RetryAfter)
	out = streamtest.Read(t, h, `{"type":"step_finish","part":{"reason":"tool-calls"}}`, 137)
	require.Equal(t, harness.Crashed, out.Kind, "cut off between two steps")
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	h := opencode.New(harness.Options{Mode: opencode.Auto, Model: "p/m"})
	l, err := h.Launch(harness.Spec{Brief: "do", Session: "5f0c2b1e"})
	require.NoError(t, err)
	require.Equal(t, harness.Launch{Argv: []string{"opencode", "run", "--format", "json", "--auto", "--model", "p/m"}, Stdin: []byte("do")}, l)
	l, err = h.Launch(harness.Spec{Session: "ses_e04a661bcffe", Resume: true})
	require.NoError(t, err)
	require.Equal(t, []string{"--session", "ses_e04a661bcffe"}, l.Argv[len(l.Argv)-2:])
	_, err = h.Launch(harness.Spec{Session: "--share", Resume: true})
	require.ErrorIs(t, err, harness.ErrOption)
}

func FuzzReader(f *testing.F) { streamtest.Fuzz(f, opencode.New(harness.Options{})) }
