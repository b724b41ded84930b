package workspace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/config"
)

// TestKinds: there is a kind for each word of the settings, and a word for each kind.
func TestKinds(t *testing.T) {
	t.Parallel()
	trackers := []string{config.TrackerAuto}
	for _, k := range trackerKinds() {
		trackers = append(trackers, k.name)
	}
	require.Equal(t, config.Trackers(), trackers)
	var engines []string
	for _, k := range engineKinds() {
		engines = append(engines, k.name)
	}
	require.Equal(t, config.Engines(), engines)
}
