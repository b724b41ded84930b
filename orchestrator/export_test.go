package orchestrator

import (
	"context"
	"sync"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// SimBranch is an epic branch of the simulator.
type SimBranch struct {
	mu  sync.Mutex
	tip epic.Commit
}

// Move moves the branch, and fails as a transaction of git does.
func (b *SimBranch) Move(from, to epic.Commit) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tip != from {
		return git.ErrRefMoved
	}
	b.tip = to
	return nil
}

func (b *SimBranch) look(_ context.Context, s epic.State) epic.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tip == s.Tip {
		return epic.Event{Fact: epic.TipSeen{}}
	}
	m := epic.TipMove{From: s.Tip, To: b.tip, Forward: true, Foreign: []string{"a commit that nobody knows"}}
	return epic.Event{Fact: epic.BranchMoved{TipMove: m}, Code: reason.EpicMoved, Reason: m.String()}
}

func (b *SimBranch) pin(context.Context, epic.State) []epic.Event { return nil }

func (b *SimBranch) restore(context.Context, epic.State, epic.TipMove, reason.Code) epic.Event {
	panic("nothing is lost, so nothing is put back")
}

func (b *SimBranch) landed(_ context.Context, top epic.Commit) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tip == top
}

// NewDispatch is the Executor of a simulated epic whose branch begins at tip.
func NewDispatch(d Deps, tip epic.Commit) (Executor, *SimBranch) {
	b := &SimBranch{tip: tip}
	return &dispatch{Deps: d, tip: b, activity: map[epic.TaskID]string{}}, b
}
