package show

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/core"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/land"
)

// Ways are the commands that help with what ended a run; none where orch status says more.
func Ways(s core.State, sum core.Summary) []string {
	id := cli.Quote(s.Epic)
	switch sum.Code {
	case core.EpicMoved:
		return []string{"orch epic restore " + id + "    puts the branch back where the last landing left it", "orch epic accept " + id + "     takes it as it is"}
	case core.CheckedOut:
		return []string{"git -C " + cli.Quote(s.Held()) + " switch --detach", "orch run " + id + "    goes on then"}
	case core.RunActive:
		return []string{"wait for it", "orch run " + id + " --take-over    if it is gone"}
	case core.Machine:
		return []string{"mend what the reason names, then orch run " + id + ": no attempt was charged"}
	}
	return nil
}

// Standing is how the epic branch stands to what has landed.
type Standing struct {
	// Moved says that it is elsewhere.
	Moved core.TipMove
	// Held is the work tree that has it checked out; "" for none.
	Held string
	// Gone says that it is gone, after all work was done.
	Gone bool
}

// Look compares the epic branch with the state and changes nothing. While a run goes on, which
// moves the branch itself, only a work tree that holds it is of interest.
func Look(ctx context.Context, p *workspace.Picture) (out Standing, err error) {
	store, err := p.Store(p.State.Epic)
	if err != nil {
		return out, err
	}
	at, held, err := p.Repo.CheckedOut(store.EpicBranch())
	if err != nil {
		return out, err
	}
	if held {
		out.Held = at.Path
	}
	if p.Held || p.State.Tip == "" {
		return out, nil
	}
	if pinned, err := p.Repo.Resolve(ctx, land.TipRef(string(p.State.Epic))); err == nil && len(p.State.Landing.Commits) > 0 && pinned != p.State.Tip {
		return out, nil // a landing was cut off between git and the journal; the next run finds it
	} else if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
		return out, err
	}
	m, err := orchestrator.CompareTip(ctx, p.Repo, store.EpicBranch(), p.State)
	if err == nil && m.To == "" && m.From != "" && p.State.Ended() {
		out.Gone = true
		return out, nil
	}
	out.Moved = m
	return out, err
}

// text is what status says of the epic branch; "" while all is well.
func (b Standing) text(s core.State) string {
	var out strings.Builder
	id := cli.Quote(s.Epic)
	switch m := b.Moved; {
	case b.Gone:
		fmt.Fprintf(&out, "\nThe epic branch is gone, after all was done; its last tip is kept at %s\n", land.TipRef(string(s.Epic)))
	case m.From != "" && m.To != "" && len(m.Lost) == 0:
		fmt.Fprintf(&out, "\nEpic branch\n  · %s\n    the next run has the gate judge it\n", harness.Clause(m.String(), 1000))
	case m.From != "":
		fmt.Fprintf(&out, "\nEpic branch needs you\n  ✗ [%s] %s\n", core.EpicMoved, harness.Clause(m.String(), 1000))
		fmt.Fprintf(&out, "      next  %-38s %s\n            %-38s %s\n", "orch epic restore "+id, "put it back at "+string(m.From[:min(12, len(m.From))]), "orch epic accept "+id, "take it as it is")
	}
	if b.Held != "" {
		fmt.Fprintf(&out, "\nEpic branch needs you\n  ✗ [%s] it is checked out in %s, and is not moved below it\n      next  git -C %s switch --detach\n", core.CheckedOut, b.Held, cli.Quote(b.Held))
	}
	return out.String()
}

// document is the same for a program.
func (b Standing) document() map[string]any {
	doc := map[string]any{"moved": b.Moved.From != "", "gone": b.Gone}
	if b.Moved.From != "" {
		doc["move"] = b.Moved
	}
	if b.Held != "" {
		doc["checked_out_in"] = b.Held
	}
	return doc
}
