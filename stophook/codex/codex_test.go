package codex_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/codex"
)

// said is what the app-server of Codex CLI 0.169.0 printed, less what is not read.
const said = `{"id":1,"result":{"userAgent":"orch/0.169.0"}}
{"method":"configWarning","params":{"summary":"x"}}
{"id":2,"result":{"data":[{"cwd":"/r","hooks":[{"key":"/r/.codex/hooks.json:stop:0:0","eventName":"stop","command":"orch stop-hook --client codex","enabled":true,"currentHash":"sha256:a2","trustStatus":"untrusted","sourcePath":"/r/.codex/hooks.json"}]}]}}
`

func TestReplied(t *testing.T) {
	t.Parallel()
	hooks, err := codex.Replied([]byte(said))
	require.NoError(t, err)
	require.Equal(t, []codex.Listed{{Key: "/r/.codex/hooks.json:stop:0:0", Hash: "sha256:a2", Command: "orch stop-hook --client codex", Source: "/r/.codex/hooks.json", Enabled: true, Trust: "untrusted"}}, hooks)
	for _, bad := range []string{"", "rubbish", `{"id":1}`, `{"id":2,"error":{"message":"no such method"}}`} {
		_, err := codex.Replied([]byte(bad))
		require.ErrorIs(t, err, codex.ErrSilent, bad)
	}
}

func FuzzReplied(f *testing.F) {
	f.Add([]byte(said))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		if _, err := codex.Replied(stdout); err != nil && !errors.Is(err, codex.ErrSilent) {
			t.Fatal(err)
		}
	})
}
