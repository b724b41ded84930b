package orchestrator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// TestBeginClaimer: an epic goes on under the name that it was begun under where that was this clone's;
// the name of another clone, in a journal that was copied, is never taken, not even by a take-over.
func TestBeginClaimer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		was, former, want string
		takeOver          bool
	}{
		"nothing before":         {was: "", want: "orch/e/h:2"},
		"the same":               {was: "orch/e/h:2", want: "orch/e/h:2"},
		"when clones had none":   {was: "orch/e", want: "orch/e"},
		"its former one":         {was: "orch/e/h:1", former: "orch/e/h:1", want: "orch/e/h:1"},
		"another's":              {was: "orch/e/h:3", former: "orch/e/h:1", want: "orch/e/h:2"},
		"another's, taken over":  {was: "orch/e/h:3", former: "orch/e/h:1", takeOver: true, want: "orch/e/h:2"},
		"another's, none former": {was: "orch/e/h:3", want: "orch/e/h:2"},
	}
	for name, tt := range tests {
		s := epic.NewState()
		s.Run.Limits.Actor = tt.was
		o := &Orchestrator{loop: &Loop{State: s}, fx: &dispatch{Deps: Deps{Epic: "e", Former: tt.former, Limits: epic.Limits{Actor: "orch/e/h:2", TakeOver: tt.takeOver}}}}
		f, ok := o.begin(epic.ModeRun, "tip").Fact.(epic.RunStarted)
		require.True(t, ok)
		require.Equal(t, tt.want, f.Limits.Actor, name)
	}
}
