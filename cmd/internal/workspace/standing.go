package workspace

import (
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
	// Held is the work tree that has it checked out; "" for none.
	Held string
	// Gone says that it is gone, after all work was done.
	Gone bool
	// Kept says that a reference keeps the last tip.
	Kept bool
}

// Standing compares the epic branch with the state and changes nothing. While a run goes on, which
// moves the branch itself, only a work tree that holds it is of interest.
func (p *Picture) Standing(ctx context.Context) (out Standing, err error) {
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
	pinned, err := p.Repo.Resolve(ctx, land.TipRef(string(p.State.Epic)))
	if err != nil && !errors.Is(err, git.ErrNoSuchRef) {
		return out, err
	}
	if pinned != "" && len(p.State.GreenStacks()) > 0 && pinned != p.State.Tip {
		return out, nil // a landing was cut off between git and the journal; the next run finds it
	}
	out.Kept = pinned == p.State.Tip
	m, err := orchestrator.CompareTip(ctx, p.Repo, store.EpicBranch(), p.State)
	if err == nil && m.To == "" && m.From != "" && p.State.Ended() {
		out.Gone = true
		return out, nil
	}
	out.Moved = m
	return out, err
}

// NeedsYou reports whether only a person can settle it.
func (b Standing) NeedsYou() bool {
	return b.Held != "" || b.Moved.From != "" && (b.Moved.To == "" || len(b.Moved.Lost) > 0)
}
