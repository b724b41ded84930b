package explain

import (
	"fmt"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// Ways are the commands that help with what ended a run; none where orch status says more.
func Ways(s epic.State, sum epic.Summary) []string {
	id := cli.Quote(s.Epic)
	switch sum.Code {
	case reason.EpicMoved:
		return []string{"orch epic restore " + id + "    puts the branch back where the last landing left it", "orch epic accept " + id + "     takes it as it is"}
	case reason.BaseRed:
		ways := []string{"mend the base or the gate, then orch run " + id, "orch run " + id + " --allow-red-base    goes on regardless"}
		if m := s.Foreign(); m.From != "" {
			ways = append([]string{fmt.Sprintf("orch epic restore %s    puts the branch back at %.12s; what is there now is kept", id, m.From)}, ways...)
		}
		return ways
	case reason.CheckedOut:
		return append(Leave(s.Held(), s.HeldBusy()), "orch run "+id+"    goes on then")
	case reason.RunActive:
		return []string{"wait for it", "orch run " + id + " --take-over    if it is gone"}
	case reason.SetupFailed:
		return []string{"mend what the reason names, or workflow.setup, then orch run " + id + ": no attempt was charged"}
	case reason.Machine:
		return []string{"mend what the reason names, then orch run " + id + ": no attempt was charged"}
	}
	return nil
}
