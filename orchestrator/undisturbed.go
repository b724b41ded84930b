package orchestrator

import (
	"context"
	"slices"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tamper"
)

// toleratedMoves is how often the epic branch may move forward in gates, with no candidate judged in peace
// between them, before that is taken for the gate's own doing: a person may commit there at any time.
const toleratedMoves = 3

// judgeUndisturbed has the lander judge a stack, and looks then whether the epic branch is still where the
// state has it. Where the gate has moved it, it is put back, and the gate asked again; a gate that
// does it twice has not passed. The events say what was put back, and what the gate has left.
func (x *dispatch) judgeUndisturbed(ctx context.Context, s epic.State, d epic.Decision, st land.Stack) (j land.Judgement, events []epic.Event, err error) {
	for again := false; ; again = true {
		j, err = x.Lander.Judge(ctx, st)
		events = append(events, survivorsEvent(j.Survivors, "the gate")...)
		found := x.unblock()
		moved, restored := x.afterGate(context.WithoutCancel(ctx), s, ownCommits(st, j))
		found = append(found, moved...)
		if len(found) > 0 {
			events = append(events, tamperingEvent(found, x.suspects(d)))
		}
		if restored == nil {
			return j, events, err
		}
		events = append(events, *restored)
		if err != nil || ctx.Err() != nil {
			return j, events, err
		}
		if again {
			j.Passed, j.Why = false, "the gate moved the epic branch, each time that it ran: "+restored.Fact.(epic.BranchRestored).String()
			j.Feedback = j.Why
			j.Rules = append([]iteration.RuleOutcome{{Rule: "epic branch"}}, j.Rules...)
			return j, events, err
		}
	}
}

// ownCommits are the stack's commits, which only a gate or an agent would put onto the epic branch.
func ownCommits(st land.Stack, j land.Judgement) (own []epic.Commit) {
	for _, b := range j.Built {
		own = append(own, b.Candidate)
	}
	for _, t := range st.Tasks {
		own = append(own, t.Head)
	}
	return own
}

// unblock takes away what the gate has left for git to wait for, before git is asked where the epic branch is. What
// cannot be removed is reported by the inspection of the whole repository.
func (x *dispatch) unblock() []tamper.Change {
	if x.guard == nil {
		return nil
	}
	found, err := x.guard.Clear(nil)
	if err != nil {
		return nil
	}
	return found
}

// afterGate puts back the epic branch and its tip reference, where the gate has moved them. What of
// that failed is seen by the next look at the branch.
func (x *dispatch) afterGate(ctx context.Context, s epic.State, own []epic.Commit) (found []tamper.Change, restored *epic.Event) {
	if x.Repo == nil {
		return nil, nil
	}
	m, err := CompareTip(ctx, x.Repo, x.Store.EpicBranch(), s)
	switch {
	case err != nil || m.To == "" && s.Ended():
		return nil, nil
	case m.From == "":
		if len(own) > 0 { // the base check comes after each move
			x.gateMoves.Store(0)
		}
		return x.keepTip(ctx, s), nil
	case m.Forward && !x.hasAncestorIn(ctx, own, m.To) && x.gateMoves.Add(1) < toleratedMoves:
		return nil, nil // it may be a person's, and is judged
	}
	e := x.tip.restore(ctx, s, m, reason.Tampered)
	if _, ok := e.Fact.(epic.BranchRestored); !ok {
		return nil, nil
	}
	return []tamper.Change{{Path: x.Store.EpicBranch(), What: e.Reason, Restored: true}}, &e
}

// hasAncestorIn reports whether a commit has one of own as its ancestor.
func (x *dispatch) hasAncestorIn(ctx context.Context, own []epic.Commit, c epic.Commit) bool {
	return slices.ContainsFunc(own, func(o epic.Commit) bool {
		yes, err := x.Repo.IsAncestor(ctx, o, c)
		return err == nil && yes
	})
}

// keepTip puts the tip reference back; where a person's word on the branch is being written there, it
// is left alone.
func (x *dispatch) keepTip(ctx context.Context, s epic.State) []tamper.Change {
	ref := land.TipRef(string(s.Epic))
	if now, err := x.branch().at(ctx, ref); err != nil || now == s.Tip || s.Moved.Pending() {
		return nil
	}
	err := land.Pin(ctx, x.Repo, string(s.Epic), s.Tip)
	return []tamper.Change{{Path: ref, What: "was moved", Restored: err == nil}}
}
