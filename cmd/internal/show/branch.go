package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
)

// branchText is what status says of the epic branch at the time now; "" while all is well.
func branchText(b workspace.Standing, s epic.State, now time.Time) string {
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
		fmt.Fprintf(&out, "      next  %-36s   %s\n            %-36s   %s\n", "orch epic restore "+id, "put it back at "+string(m.From[:min(12, len(m.From))]), "orch epic accept "+id, "take it as it is")
	}
	switch {
	case b.Held != "" && epic.PromiseOf(s, now).Promise == epic.LoopDone:
		fmt.Fprintf(&out, "\nThe epic branch is checked out in %s, after all was done\n", heldBy(b))
	case b.Held != "":
		fmt.Fprintf(&out, "\nEpic branch needs you\n  ✗ [%s] it is checked out in %s, and is not moved below it\n%s", reason.CheckedOut, heldBy(b), nextText(strings.Join(explain.Leave(b.Held, b.Busy), "\n")))
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

// heldBy names the work tree that has the epic branch checked out, with what goes on there.
func heldBy(b workspace.Standing) string {
	if b.Busy == "" {
		return b.Held
	}
	return b.Held + ", which " + b.Busy
}
