package workspace

import (
	"cmp"
	"context"
	"errors"

	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/land"
)

// Standing is how the epic branch stands to what has landed.
type Standing struct {
	// Moved says that it is elsewhere.
	Moved epic.TipMove
	// Running says that a run goes on, which settles that or ends before it lands again.
	Running bool
	// Held is the work tree that has it checked out; "" for none.
	Held string
	// Busy says in a clause what goes on there; "" for nothing.
	Busy string
	// Gone says that it is gone, after all work was done.
	Gone bool
	// Kept says that a reference keeps the last tip.
	Kept bool
}

// Standing compares the epic branch with the state and changes nothing. While a run goes on, which
// moves the branch itself, it is compared with the reference that moves with it.
func (p *EpicView) Standing(ctx context.Context) (out Standing, err error) {
	store, err := p.Workspace.Store(p.State.Epic)
	if err != nil {
		return out, err
	}
	at, held, err := p.Workspace.Project.Repo.CheckedOut(store.EpicBranch())
	if err != nil {
		return out, err
	}
	if held {
		out.Held, out.Busy = cmp.Or(at.Path, at.GitDir), at.Busy
	}
	if p.State.Tip == "" {
		return out, nil
	}
	if p.Held {
		out.Running = true
		out.Moved, err = p.movedMeanwhile(ctx, store.EpicBranch())
		return out, err
	}
	pinned, err := p.Workspace.Project.Repo.Resolve(ctx, land.TipRef(string(p.State.Epic)))
	if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
		return out, err
	}
	if pinned != "" && len(p.State.GreenStacks()) > 0 && pinned != p.State.Tip {
		return out, nil // a landing was cut off between git and the journal; the next run finds it
	}
	out.Kept = pinned == p.State.Tip
	m, err := orchestrator.CompareTip(ctx, p.Workspace.Project.Repo, store.EpicBranch(), p.State)
	if err == nil && m.To == "" && m.From != "" && p.State.Ended() {
		out.Gone = true
		return out, nil
	}
	out.Moved = m
	return out, err
}

// movedMeanwhile says where the epic branch is, other than where the run that goes on has left it. A
// landing moves the branch and the tip reference at once, so they differ only where somebody else has
// moved one, or between two looks.
func (p *EpicView) movedMeanwhile(ctx context.Context, branch string) (m epic.TipMove, err error) {
	ref, s := land.TipRef(string(p.State.Epic)), p.State
	if s.Tip, err = land.Tip(ctx, p.Workspace.Project.Repo, ref); err != nil || s.Tip == "" {
		return m, err
	}
	if m, err = orchestrator.CompareTip(ctx, p.Workspace.Project.Repo, branch, s); err != nil || m.From == "" {
		return m, err
	}
	if again, err := land.Tip(ctx, p.Workspace.Project.Repo, ref); err != nil || again != s.Tip {
		return epic.TipMove{}, err
	}
	return m, nil
}

// Lost reports whether work that has landed is no longer on the branch.
func (b Standing) Lost() bool {
	return b.Moved.From != "" && (b.Moved.To == "" || len(b.Moved.Lost) > 0)
}
