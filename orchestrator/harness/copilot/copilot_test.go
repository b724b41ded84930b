package copilot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/copilot"
	"github.com/beadsorch/orch/orchestrator/harness/stream/streamtest"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	h := copilot.New(harness.Options{})
	out := streamtest.Replay(t, h, "success-tools", 0)
	require.Equal(t, harness.Outcome{Kind: harness.Ended, Text: "done", Session: "45990621-eb86-4d71-8b21-7d422277c8f9", Usage: harness.Usage{Turns: 2}}, out)
	require.Equal(t, "reply 2", streamtest.Replay(t, h, "agent-stop-block", 0).Text, "the newest message alone")
	for name, want := range map[string]harness.Kind{"api-error-400": harness.Crashed, "api-error-401": harness.Auth, "api-error-429": harness.RateLimited, "api-error-503": harness.Unavailable} {
		out := streamtest.Replay(t, h, name, 1)
		require.Equal(t, want, out.Kind, "%s: %s", name, out.Detail)
		require.NotEmpty(t, out.Session, "it can be resumed")
	}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	h := copilot.New(harness.Options{Tools: []string{"write", "shell(git:*)"}, Model: "m"})
	l, err := h.Launch(harness.Spec{Brief: "do", Session: "5f0c2b1e"})
	require.NoError(t, err)
	require.Equal(t, harness.Launch{Argv: []string{"copilot", "--output-format", "json", "--no-ask-user", "--no-auto-update",
		"--allow-tool=write", "--allow-tool=shell(git:*)", "--model", "m", "--session-id=5f0c2b1e"}, Stdin: []byte("do")}, l)
	l, err = copilot.New(harness.Options{Mode: copilot.AllowAllTools}).Launch(harness.Spec{Session: "5f0c2b1e", Resume: true})
	require.NoError(t, err)
	require.Equal(t, []string{"--allow-all-tools", "--resume=5f0c2b1e"}, l.Argv[5:])
	_, err = h.Launch(harness.Spec{Resume: true})
	require.ErrorIs(t, err, harness.ErrOption)
}

func FuzzReader(f *testing.F) { streamtest.Fuzz(f, copilot.New(harness.Options{})) }
