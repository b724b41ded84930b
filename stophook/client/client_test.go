package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/settings"
)

// TestQuick asks the quick program at stops, and nothing else; what was installed before
// counts as the same, and the client that it is made from stays as it is.
func TestQuick(t *testing.T) {
	t.Parallel()
	c := client.Client{Hooks: []settings.Hook{{Event: "Stop", Command: "orch stop-hook --client x", Timeout: 30 * time.Second}, {Event: "SessionStart", Command: "orch session-start"}},
		Files: map[string]string{"f": `{"bash": "orch stop-hook --client x"}`}}
	q := c.Quick()
	require.Equal(t, settings.Hook{Event: "Stop", Command: "orch-stop-hook --client x", Timeout: 30 * time.Second, Also: "orch stop-hook --client x"}, q.Hooks[0])
	require.Equal(t, c.Hooks[1], q.Hooks[1])
	require.Equal(t, `{"bash": "orch-stop-hook --client x"}`, q.Files["f"])
	require.Equal(t, "orch stop-hook --client x", c.Hooks[0].Command)
	for line, is := range map[string]bool{"orch stop-hook --client x": true, "orch-stop-hook --client x e-1": true, "orch stop-hook e-1 --client x": true, "orch stop-hook --client xy": false, "": false,
		"orch stop-hook --client x && ./mine": false, "orch stop-hook --client x; ./mine": false, "orch stop-hook --client x e-1 >log": false} {
		require.Equal(t, is, q.Hooks[0].Is(line), line)
	}
	require.Equal(t, q.Hooks, q.Quick().Hooks, "twice is once")
}
