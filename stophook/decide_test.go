package stophook_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

func settings() stophook.Settings {
	return stophook.Settings{Enabled: true, CheckReady: true, CheckInProgress: true, MaxCycles: 50,
		AllowExitOn: []string{"all_complete", "all_blocked", "context_checkpoint"}, Promises: []string{"ALL TASKS COMPLETE", "EPIC COMPLETE", "BLOCKED - NEEDS USER", "CONTEXT LIMIT - CHECKPOINT"}}
}

// standing is an epic with this work left, which has moved as the fingerprint has.
func standing(fingerprint string, w epic.Work) *stophook.Standing {
	o := epic.Outlook{Promise: epic.LoopBlocked}
	switch {
	case w.Ready+w.InProgress > 0:
		o.Promise = epic.LoopContinue
	case w.Left() == 0:
		o.Promise = epic.LoopDone
	}
	return &stophook.Standing{Work: w, Outlook: o, Fingerprint: fingerprint}
}

// TestDecide is the policy table, row for row.
func TestDecide(t *testing.T) {
	t.Parallel()
	with := func(change func(*stophook.Settings)) stophook.Settings { s := settings(); change(&s); return s }
	says := func(text string) session.Input { return session.Input{LastMessage: text} }
	ready := standing("p", epic.Work{Ready: 1})
	bound := session.Session{ID: "s", Epic: "e"}
	tests := []struct {
		name    string
		facts   stophook.Facts
		block   bool
		verdict stophook.Cause
	}{
		{"switched off", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.Enabled = false }), Session: bound, Epic: ready}, false, stophook.Disabled},
		{"released by a person", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Cancelled: true}, Epic: ready}, false, stophook.Cancelled},
		{"background tasks run", stophook.Facts{Settings: settings(), Input: session.Input{BackgroundTasks: 1}, Session: bound, Epic: ready}, false, stophook.Background},
		{"nothing is left", stophook.Facts{Settings: settings(), Session: bound, Epic: standing("p", epic.Work{Done: 3})}, false, stophook.Done},
		{"all that is left is blocked", stophook.Facts{Settings: settings(), Session: bound, Epic: standing("p", epic.Work{Done: 3, Blocked: 2})}, false, stophook.AllBlocked},
		{"blocked, and the settings say to go on", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.AllowExitOn = nil }), Session: bound, Epic: standing("p", epic.Work{Blocked: 2})}, true, stophook.WorkLeft},
		{"the context is full", stophook.Facts{Settings: settings(), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Epic: ready}, false, stophook.Checkpoint},
		{"full, and the settings say to go on", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.AllowExitOn = []string{"all_blocked"} }), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"sent back too often", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Blocks: 50}, Epic: ready}, false, stophook.MaxCycles},
		{"the third stop without progress", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", NoProgress: 2, Fingerprint: "p"}, Epic: ready}, false, stophook.NoProgress},
		{"the second", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", NoProgress: 1, Fingerprint: "p"}, Epic: ready}, true, stophook.WorkLeft},
		{"progress since", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", NoProgress: 2, Fingerprint: "q"}, Epic: ready}, true, stophook.WorkLeft},
		{"something is ready", stophook.Facts{Settings: settings(), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"something is in progress", stophook.Facts{Settings: settings(), Session: bound, Epic: standing("p", epic.Work{InProgress: 1})}, true, stophook.WorkLeft},
		{"ready tasks are not asked about", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.CheckReady = false }), Session: bound, Epic: ready}, false, stophook.AllBlocked},
		{"nor those in progress", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.CheckInProgress = false }), Session: bound, Epic: standing("p", epic.Work{InProgress: 1, Waiting: 2})}, false, stophook.AllBlocked},
		{"it says done while work is left", stophook.Facts{Settings: settings(), Input: says("<promise>EPIC COMPLETE</promise>"), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"it says blocked while work is left", stophook.Facts{Settings: settings(), Input: says("<promise>BLOCKED - NEEDS USER</promise>"), Session: bound, Epic: ready}, false, stophook.Promised},
		{"blocked, beside done, which says nothing of it", stophook.Facts{Settings: settings(), Input: says("<promise>COMPLETE</promise> <promise>blocked - needs  user</promise>"), Session: bound, Epic: ready}, false, stophook.Promised},
		{"blocked, in words that are not listed", stophook.Facts{Settings: settings(), Input: says("<promise>BLOCKED</promise>"), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"blocked, and nothing is left", stophook.Facts{Settings: settings(), Input: says("<promise>BLOCKED - NEEDS USER</promise>"), Session: bound, Epic: standing("p", epic.Work{Done: 3})}, false, stophook.Done},
		{"words of the team's own", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.Promises = []string{"STOP NOW"} }), Input: says("<promise>stop now</promise>"), Session: bound, Epic: ready}, false, stophook.Promised},
		{"the same, and the tracker does not answer", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.Promises = []string{"STOP NOW"} }), Input: says("<promise>STOP NOW</promise>"), Session: bound}, false, stophook.Promised},
		{"the same in a quote", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.Promises = []string{"STOP NOW"} }), Input: says("not `<promise>STOP NOW</promise>`"), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"words that are not listed", stophook.Facts{Settings: settings(), Input: says("<promise>STOP NOW</promise>"), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"full, which is not listed", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.Promises = nil }), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Epic: ready}, true, stophook.WorkLeft},
		{"the tracker does not answer", stophook.Facts{Settings: settings(), Session: bound}, true, stophook.Unknown},
		{"the client sends it back no more", stophook.Facts{Settings: settings(), Input: session.Input{StopHookActive: true}, Session: session.Session{Epic: "e", BlocksThisPrompt: 8}, Epic: ready, Caps: stophook.ClientCaps{MaxBlocks: 8}}, false, stophook.ClientCap},
		{"it does, for another prompt", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", BlocksThisPrompt: 8}, Epic: ready, Caps: stophook.ClientCaps{MaxBlocks: 8}}, true, stophook.WorkLeft},
		{"the context is full, and the client can drop it", stophook.Facts{Settings: settings(), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Epic: ready, Caps: stophook.ClientCaps{NewSession: true}}, true, stophook.WorkLeft},
		{"a limit was reached", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1}, Outlook: epic.Outlook{Promise: epic.LoopBlocked, Code: reason.RunIterations}}}, false, stophook.AllBlocked},
		{"the tracker was out of reach", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1}, Outlook: epic.Outlook{Promise: epic.LoopError, Code: reason.TrackerDown}}}, false, stophook.Failed},
		{"the run's agents do not start, and it would be handed a task", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1}, Outlook: epic.Outlook{Promise: epic.LoopError, Code: reason.AgentCrashed}, Offer: epic.Offer{Despite: reason.AgentCrashed}}}, true, stophook.WorkLeft},
		{"they have no login", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1}, Outlook: epic.Outlook{Promise: epic.LoopBlocked, Code: reason.AgentAuth}, Offer: epic.Offer{Despite: reason.AgentAuth}}}, true, stophook.WorkLeft},
		{"they do not start, and ready tasks are not asked about", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.CheckReady = false }), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1}, Outlook: epic.Outlook{Promise: epic.LoopError, Code: reason.AgentCrashed}, Offer: epic.Offer{Despite: reason.AgentCrashed}}}, false, stophook.AllBlocked},
		{"others are at what is left", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{InProgress: 1}, Outlook: epic.Outlook{Promise: epic.LoopContinue}, Offer: epic.Offer{Code: reason.NothingReady}}}, false, stophook.Elsewhere},
		{"others have all places", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1, InProgress: 1}, Outlook: epic.Outlook{Promise: epic.LoopContinue}, Offer: epic.Offer{Code: reason.PlacesTaken}}}, false, stophook.Elsewhere},
		{"nothing more for it, and it has a task", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1, InProgress: 1}, Outlook: epic.Outlook{Promise: epic.LoopContinue}, Offer: epic.Offer{InHand: 1, Code: reason.Paused}}}, true, stophook.WorkLeft},
		{"what is ready waits for a time", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Ready: 1}, Outlook: epic.Outlook{Promise: epic.LoopContinue}, Offer: epic.Offer{Code: reason.BackOff}}}, true, stophook.WorkLeft},
		{"no task is left, and the gate has yet to judge the branch", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Done: 2}, Outlook: epic.Outlook{Promise: epic.LoopContinue, Reason: "the gate has yet to judge"}, Offer: epic.Offer{Code: reason.NothingReady, Settles: true}}}, true, stophook.WorkLeft},
		{"which the run does that goes on", stophook.Facts{Settings: settings(), Session: bound, Epic: &stophook.Standing{Work: epic.Work{Done: 2}, Outlook: epic.Outlook{Promise: epic.LoopContinue, Reason: "the gate has yet to judge"}, Offer: epic.Offer{Code: reason.NothingReady}}}, false, stophook.AllBlocked},
		{"for the third time", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Unreadable: 2}}, false, stophook.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := stophook.Decide(tt.facts)
			require.Equal(t, tt.verdict, got.Cause, got.Why)
			require.Equal(t, tt.block, got.Block)
			require.NotEmpty(t, got.Why)
			require.Equal(t, got, stophook.Decide(tt.facts), "the same facts, the same answer")
		})
	}
}

// TestBlocksAreBounded, whatever the tracker, the model and the client do: in a row
// without progress, and in all.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		set := settings()
		set.MaxCycles = 1 + rnd.IntN(20)
		s := session.Session{ID: "s", Epic: "e"}
		blocks, still, print := 0, 0, ""
		for range 500 {
			f := stophook.Facts{Settings: set, Session: s, Input: session.Input{BackgroundTasks: rnd.IntN(8) / 7, LastMessage: []string{"", "x", "<promise>COMPLETE</promise>", "<promise>BLOCKED</promise>"}[rnd.IntN(4)]}}
			if rnd.IntN(6) > 0 {
				f.Epic = standing(fmt.Sprint(rnd.IntN(3)), epic.Work{Ready: rnd.IntN(2), InProgress: rnd.IntN(2), Blocked: 1})
			}
			if rnd.IntN(3) == 0 && s.Blocked { // its model binds it again
				s = s.Bind("s", "e")
			}
			a := stophook.Decide(f)
			s = a.Session
			if a.Block {
				blocks++
			}
			if f.Epic == nil || f.Input.BackgroundTasks > 0 {
				continue
			}
			if f.Epic.Fingerprint != print {
				print, still = f.Epic.Fingerprint, 0
			}
			if a.Block {
				still++
				require.LessOrEqual(t, still, 3, "seed %d", seed)
			}
		}
		require.LessOrEqual(t, blocks, set.MaxCycles, "seed %d", seed)
	}
}

// TestLetGo: a session that may end is no longer held; only a person begins it again.
func TestLetGo(t *testing.T) {
	t.Parallel()
	held := session.Session{ID: "s", Epic: "e", NoProgress: 2, Fingerprint: "p", Blocked: true}
	require.False(t, stophook.Decide(stophook.Facts{Settings: settings(), Session: held, Epic: standing("p", epic.Work{Ready: 1})}).Session.Blocked)
	require.True(t, stophook.Decide(stophook.Facts{Settings: settings(), Session: held, Input: session.Input{BackgroundTasks: 1}, Epic: standing("p", epic.Work{Ready: 1})}).Session.Blocked)
}
