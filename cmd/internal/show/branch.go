package show

import (
	"fmt"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Ways are the commands that help with what ended a run; none where orch status says more.
func Ways(s epic.State, sum epic.Summary) []string {
	id := cli.Quote(s.Epic)
	switch sum.Code {
	case reason.EpicMoved:
		return []string{"orch epic restore " + id + "    puts the branch back where the last landing left it", "orch epic accept " + id + "     takes it as it is"}
	case reason.CheckedOut:
		return []string{"git -C " + cli.Quote(s.Held()) + " switch --detach", "orch run " + id + "    goes on then"}
	case reason.RunActive:
		return []string{"wait for it", "orch run " + id + " --take-over    if it is gone"}
	case reason.Machine:
		return []string{"mend what the reason names, then orch run " + id + ": no attempt was charged"}
	}
	return nil
}

// branchText is what status says of the epic branch; "" while all is well.
func branchText(b workspace.Standing, s epic.State) string {
	var out strings.Builder
	id := cli.Quote(s.Epic)
	switch m := b.Moved; {
	case b.Gone && b.Kept:
		fmt.Fprintf(&out, "\nThe epic branch is gone, after all was done; its last tip is kept at %s\n", land.TipRef(string(s.Epic)))
	case b.Gone:
		fmt.Fprintf(&out, "\nThe epic branch is gone, after all was done; its last tip was %.12s\n", s.Tip)
	case m.From != "" && b.Running:
		fmt.Fprintf(&out, "\nEpic branch\n  ✗ [%s] %s\n    the run that goes on puts it back, takes it as it is, or ends, before it lands again\n", reason.EpicMoved, text.Clause(m.String(), 1000))
	case m.From != "" && m.To != "" && len(m.Lost) == 0:
		fmt.Fprintf(&out, "\nEpic branch\n  · %s\n    the next run has the gate judge it\n", text.Clause(m.String(), 1000))
	case m.From != "":
		fmt.Fprintf(&out, "\nEpic branch needs you\n  ✗ [%s] %s\n", reason.EpicMoved, text.Clause(m.String(), 1000))
		fmt.Fprintf(&out, "      next  %-38s %s\n            %-38s %s\n", "orch epic restore "+id, "put it back at "+string(m.From[:min(12, len(m.From))]), "orch epic accept "+id, "take it as it is")
	}
	if b.Held != "" {
		fmt.Fprintf(&out, "\nEpic branch needs you\n  ✗ [%s] it is checked out in %s, and is not moved below it\n      next  git -C %s switch --detach\n", reason.CheckedOut, b.Held, cli.Quote(b.Held))
	}
	return out.String()
}

// branchDocument is the same for a program.
func branchDocument(b workspace.Standing) document.EpicBranch {
	doc := document.EpicBranch{Moved: b.Moved.From != "", Gone: b.Gone, Kept: b.Kept, CheckedOut: b.Held}
	if doc.Moved {
		doc.Move = &b.Moved
	}
	return doc
}
