package workspace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// TestIteration: a definition says the same in a run and in a loop of its own; what the gate asks
// of what lands, a run leaves to it where no definition names it.
func TestIteration(t *testing.T) {
	t.Parallel()
	tests, lint := validation.Rule{Name: "tests", Type: validation.Command}, validation.Rule{Name: "lint", Type: validation.Command}
	says := validation.Rule{Name: "says", Type: validation.ContentPattern, Pattern: "because"}
	require.Equal(t, validation.OfAgent, says.Scope())
	w := &Workspace{&project.Project{Config: config.Config{Gate: []validation.Rule{tests, lint, says}, Agents: map[string]config.Definition{
		"own":   {Enabled: true, MaxIterations: 4, CompletionPromises: []string{"SHIPPED"}, CircuitBreakerThreshold: 2, ValidationRules: []string{"lint"}},
		"plain": {Enabled: true, MaxIterations: 4},
		"once":  {MaxIterations: 4, ValidationRules: []string{"lint"}},
	}}}}
	own := iteration.Config{MaxIterations: 4, CompletionPromises: []string{"SHIPPED"}, CircuitBreakerThreshold: 2, ValidationRules: []validation.Rule{lint, says}}
	require.Equal(t, own, w.iteration("own", true))
	require.Equal(t, own, w.iteration("own", false))
	require.Equal(t, own, w.roles()["own"].Iteration)
	require.Equal(t, iteration.Config{MaxIterations: 4, ValidationRules: []validation.Rule{says}}, w.iteration("plain", true))
	require.Equal(t, iteration.Config{MaxIterations: 4, ValidationRules: []validation.Rule{tests, lint, says}}, w.iteration("plain", false))
	require.Equal(t, iteration.Config{MaxIterations: 1, ValidationRules: []validation.Rule{says}}, w.iteration("once", true))
	require.Equal(t, iteration.Config{MaxIterations: 1, ValidationRules: []validation.Rule{lint, says}}, w.iteration("once", false))
	require.Equal(t, []validation.Rule{says}, w.roles()[""].Iteration.ValidationRules, "of an agent that nothing is known of")
}
