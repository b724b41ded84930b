package orchestrator

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/land"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// TestRestoreAfterAnotherMove: the branch is moved again between the look and what was decided on it. What
// is there then decides, and the machine is not blamed.
func TestRestoreAfterAnotherMove(t *testing.T) {
	t.Parallel()
	w := gittest.New(t, os.Getenv("PATH"))
	r := w.Open()
	const branch = "refs/heads/epic/e"
	old, tip := w.Commit("a", "1"), w.Commit("b", "1")
	later := w.Commit("c", "1")
	lease, err := land.Acquire(t.Context(), r, "e", land.LeaseContent("e", 1, "a test"))
	require.NoError(t, err)
	b := epicBranch{repo: r, epic: "e", name: branch, lease: &lease}
	s := epic.State{Epic: "e", Tip: tip, Tasks: []*epic.Task{{Node: epic.Node{ID: "e.1"}, State: epic.Landed, Commit: tip}}}
	set := func(c git.Commit) {
		t.Helper()
		require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: branch, New: c, Old: git.AnyOld}}))
	}
	looked := epic.TipMove{From: tip, To: old, Lost: []epic.TaskID{"e.1"}}
	for name, now := range map[string]git.Commit{"it is gone": "", "it is elsewhere": later, "it is where the look found it": old, "it is back": tip} {
		if set(tip); now != tip {
			set(now)
		}
		e := b.restore(t.Context(), s, looked, reason.Tampered)
		if m, moved := e.Fact.(epic.BranchMoved); moved {
			require.Equal(t, now, m.To, name)
			if m.Forward {
				set(tip) // it holds all work, and would be taken as it is
				continue
			}
			s := epic.Apply(epic.Apply(s, epic.Event{Fact: epic.RestoreStarted{TipMove: looked}}), epic.Current(s, e))
			require.True(t, s.Moved.Pending(), name)
			require.False(t, s.Moved.Restoring, "it is decided anew: %s", name)
			e = b.restore(t.Context(), s, s.Moved.TipMove, reason.Tampered)
		}
		if now == tip {
			require.IsType(t, epic.TipSeen{}, e.Fact, name)
			continue
		}
		require.IsType(t, epic.BranchRestored{}, e.Fact, "%s: %s", name, e.Reason)
		at, err := b.at(t.Context(), branch)
		require.NoError(t, err)
		require.Equal(t, tip, at, name)
		require.True(t, b.landed(t.Context(), tip), "the tip reference goes with it: %s", name)
	}
}

// TestRestoreOfWhatWasAccepted: where the gate is red on what was accepted, the branch goes back to where it
// was before, wherever it is by then.
func TestRestoreOfWhatWasAccepted(t *testing.T) {
	t.Parallel()
	w := gittest.New(t, os.Getenv("PATH"))
	r := w.Open()
	tip, accepted := w.Commit("a", "1"), w.Commit("b", "1")
	later := w.Commit("c", "1")
	const branch = "refs/heads/epic/e"
	lease, err := land.Acquire(t.Context(), r, "e", land.LeaseContent("e", 1, "a test"))
	require.NoError(t, err)
	b := epicBranch{repo: r, epic: "e", name: branch, lease: &lease}
	m := epic.TipMove{From: tip, To: accepted, Forward: true}
	s := epic.State{Epic: "e", Tip: accepted, Moved: epic.Moved{TipMove: m, Accepted: true, Restoring: true}}
	for name, now := range map[string]git.Commit{"there": accepted, "on": later, "back already": tip, "gone": ""} {
		require.NoError(t, r.UpdateRefs(t.Context(), []git.RefChange{{Name: branch, New: now, Old: git.AnyOld}}), name)
		e := b.restore(t.Context(), s, m, reason.Tampered)
		require.IsType(t, epic.BranchRestored{}, e.Fact, "%s: %s", name, e.Reason)
		after := epic.Apply(s, e)
		require.Equal(t, tip, after.Tip, name)
		require.False(t, after.Moved.Restoring, name)
		at, err := b.at(t.Context(), branch)
		require.NoError(t, err)
		require.Equal(t, tip, at, name)
	}
}
