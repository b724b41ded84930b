package cli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epic"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "0s", 1400 * time.Millisecond: "1s", 59 * time.Second: "59s", time.Minute: "1m", 41 * time.Minute: "41m", 62 * time.Minute: "1h02m", 26 * time.Hour: "26h00m"} {
		require.Equal(t, want, cli.FormatDuration(d))
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for id, want := range map[epic.TaskID]string{"bd-a3f8.1": "bd-a3f8.1", "a b": "'a b'", "it's": `'it'\''s'`, "-rf": "-- -rf", "$(x)": "'$(x)'", "": "''", "a\nb": "'a\nb'"} {
		require.Equal(t, want, cli.Quote(id))
	}
}
