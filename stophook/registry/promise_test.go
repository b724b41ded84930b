package registry_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/registry"
)

// TestPromises: a promise is read as an object, and from its words alone.
func TestPromises(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]registry.Promise{
		`"COMPLETE"`:                    {Type: "COMPLETE", Detected: true, Content: "COMPLETE"},
		`"<promise>Complete</promise>"`: {Type: "COMPLETE", Detected: true, Content: "Complete"},
		`"BLOCKED - NEEDS USER"`:        {Type: "BLOCKED", Detected: true, Content: "BLOCKED - NEEDS USER"},
		`"ours"`:                        {Type: "ours", Detected: true, Content: "ours"},
		`{"type":"ESCALATE"}`:           {Type: "ESCALATE"},
		`{"type":"COMPLETE","detected":true,"content":"x","detectedAt":"2026-01-02T03:04:05Z"}`: {Type: "COMPLETE", Detected: true, Content: "x", DetectedAt: "2026-01-02T03:04:05Z"},
	} {
		var got registry.Promise
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	var got registry.Promise
	require.Error(t, json.Unmarshal([]byte(`7`), &got))
}

// FuzzPromise: whatever is read is written, and read again, as the same.
func FuzzPromise(f *testing.F) {
	f.Add([]byte(`"<promise>COMPLETE</promise>"`))
	f.Add([]byte(`{"type":"BLOCKED","detected":true,"content":"c"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, again registry.Promise
		if json.Unmarshal(b, &got) != nil {
			return
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, got, again)
	})
}
