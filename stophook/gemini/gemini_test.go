package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/gemini"
)

// TestWire holds the answers to what the client was measured to take.
func TestWire(t *testing.T) {
	t.Parallel()
	k := gemini.Client()
	for _, c := range []struct {
		answer any
		want   string
	}{
		{k.Block("go on", true), `{"decision":"block","hookSpecificOutput":{"clearContext":true,"hookEventName":"AfterAgent"},"reason":"go on"}`},
		{k.Block("go on", false), `{"decision":"block","reason":"go on"}`},
		{k.Context("SessionStart", "you are at it"), `{"hookSpecificOutput":{"additionalContext":"you are at it","hookEventName":"SessionStart"}}`},
	} {
		text, err := json.Marshal(c.answer)
		require.NoError(t, err)
		require.Equal(t, c.want, string(text))
	}
	require.Len(t, k.Hooks, 4)
}
