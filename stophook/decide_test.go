package stophook_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

func settings() stophook.Settings {
	return stophook.Settings{Enabled: true, CheckReady: true, CheckInProgress: true, MaxCycles: 50,
		AllowExitOn: []string{"all_complete", "all_blocked", "context_checkpoint"}, Promises: []string{"ALL TASKS COMPLETE"}}
}

// TestDecide is the policy table, row for row.
func TestDecide(t *testing.T) {
	t.Parallel()
	with := func(change func(*stophook.Settings)) stophook.Settings { s := settings(); change(&s); return s }
	says := func(text string) session.Input { return session.Input{LastMessage: text} }
	ready := &stophook.Work{Ready: 1, Print: "p"}
	bound := session.Session{ID: "s", Epic: "e"}
	tests := []struct {
		name    string
		facts   stophook.Facts
		block   bool
		verdict stophook.Verdict
	}{
		{"switched off", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.Enabled = false }), Session: bound, Work: ready}, false, stophook.Disabled},
		{"let go by a person", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Cancelled: true}, Work: ready}, false, stophook.Cancelled},
		{"background tasks run", stophook.Facts{Settings: settings(), Input: session.Input{Waiting: 1}, Session: bound, Work: ready}, false, stophook.Background},
		{"nothing is left", stophook.Facts{Settings: settings(), Session: bound, Work: &stophook.Work{Done: 3, Print: "p"}}, false, stophook.Done},
		{"all that is left is blocked", stophook.Facts{Settings: settings(), Session: bound, Work: &stophook.Work{Done: 3, Blocked: 2, Print: "p"}}, false, stophook.AllBlocked},
		{"blocked, and the settings say to go on", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.AllowExitOn = nil }), Session: bound, Work: &stophook.Work{Blocked: 2, Print: "p"}}, true, stophook.WorkLeft},
		{"the context is full", stophook.Facts{Settings: settings(), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Work: ready}, false, stophook.Fresh},
		{"full, and the settings say to go on", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.AllowExitOn = []string{"all_blocked"} }), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Work: ready}, true, stophook.WorkLeft},
		{"sent back too often", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Cycles: 50}, Work: ready}, false, stophook.MaxCycles},
		{"the third stop without progress", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Still: 2, Print: "p"}, Work: ready}, false, stophook.NoProgress},
		{"the second", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Still: 1, Print: "p"}, Work: ready}, true, stophook.WorkLeft},
		{"progress since", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Still: 2, Print: "q"}, Work: ready}, true, stophook.WorkLeft},
		{"something is ready", stophook.Facts{Settings: settings(), Session: bound, Work: ready}, true, stophook.WorkLeft},
		{"something is in progress", stophook.Facts{Settings: settings(), Session: bound, Work: &stophook.Work{InProgress: 1, Print: "p"}}, true, stophook.WorkLeft},
		{"ready tasks are not asked about", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.CheckReady = false }), Session: bound, Work: ready}, false, stophook.AllBlocked},
		{"nor those in progress", stophook.Facts{Settings: with(func(s *stophook.Settings) { s.CheckInProgress = false }), Session: bound, Work: &stophook.Work{InProgress: 1, Waiting: 2, Print: "p"}}, false, stophook.AllBlocked},
		{"it says done while work is left", stophook.Facts{Settings: settings(), Input: says("<promise>EPIC COMPLETE</promise>"), Session: bound, Work: ready}, true, stophook.WorkLeft},
		{"it says blocked while work is left", stophook.Facts{Settings: settings(), Input: says("<promise>BLOCKED - NEEDS USER</promise>"), Session: bound, Work: ready}, true, stophook.WorkLeft},
		{"the tracker does not answer", stophook.Facts{Settings: settings(), Session: bound}, true, stophook.Unknown},
		{"the client sends it back no more", stophook.Facts{Settings: settings(), Input: session.Input{Again: true}, Session: session.Session{Epic: "e", Row: 8}, Work: ready, Client: stophook.Limits{MaxBlocks: 8}}, false, stophook.ClientCap},
		{"it does, for another prompt", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Row: 8}, Work: ready, Client: stophook.Limits{MaxBlocks: 8}}, true, stophook.WorkLeft},
		{"the context is full, and the client can drop it", stophook.Facts{Settings: settings(), Input: says("<promise>CONTEXT LIMIT - CHECKPOINT</promise>"), Session: bound, Work: ready, Client: stophook.Limits{Fresh: true}}, true, stophook.WorkLeft},
		{"for the third time", stophook.Facts{Settings: settings(), Session: session.Session{Epic: "e", Unknown: 2}}, false, stophook.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := stophook.Decide(tt.facts)
			require.Equal(t, tt.verdict, got.Verdict, got.Why)
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
			f := stophook.Facts{Settings: set, Session: s, Input: session.Input{Waiting: rnd.IntN(8) / 7, LastMessage: []string{"", "x", "<promise>COMPLETE</promise>", "<promise>BLOCKED</promise>"}[rnd.IntN(4)]}}
			if rnd.IntN(6) > 0 {
				f.Work = &stophook.Work{Ready: rnd.IntN(2), InProgress: rnd.IntN(2), Blocked: 1, Print: fmt.Sprint(rnd.IntN(3))}
			}
			if rnd.IntN(3) == 0 && s.Held { // its model binds it again
				s = s.Bind("s", "e")
			}
			a := stophook.Decide(f)
			s = a.Session
			if a.Block {
				blocks++
			}
			if f.Work == nil || f.Input.Waiting > 0 {
				continue
			}
			if f.Work.Print != print {
				print, still = f.Work.Print, 0
			}
			if a.Block {
				still++
				require.LessOrEqual(t, still, 3, "seed %d", seed)
			}
		}
		require.LessOrEqual(t, blocks, set.MaxCycles, "seed %d", seed)
	}
}

func issue(id string, status tracker.Status, needs ...string) tracker.Issue {
	i := tracker.Issue{ID: id, Title: id, Status: status, Type: "task", Dependencies: []tracker.Dependency{{IssueID: id, DependsOnID: "e", Type: tracker.DepParent}}}
	for _, n := range needs {
		i.Dependencies = append(i.Dependencies, tracker.Dependency{IssueID: id, DependsOnID: n, Type: tracker.DepBlocks})
	}
	return i
}

// TestWorkOf counts each task once; the epic itself, which the tracker calls ready, never.
func TestWorkOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	epic := tracker.Issue{ID: "e", Title: "E", Type: tracker.TypeEpic, Status: tracker.StatusOpen}
	tests := map[string]struct {
		issues []tracker.Issue
		want   stophook.Work
	}{
		"nothing":     {nil, stophook.Work{}},
		"all closed":  {[]tracker.Issue{issue("e.1", "closed")}, stophook.Work{Done: 1}},
		"ready":       {[]tracker.Issue{issue("e.1", "open"), issue("e.2", "open", "e.1")}, stophook.Work{Ready: 1, Waiting: 1}},
		"in progress": {[]tracker.Issue{issue("e.1", "in_progress"), issue("e.2", "open", "e.1"), issue("e.3", "open", "e.2")}, stophook.Work{InProgress: 1, Waiting: 2}},
		"behind what is blocked": {[]tracker.Issue{issue("e.1", "blocked"), issue("e.2", "open", "e.1"), issue("e.3", "open", "e.2"), issue("e.4", "closed")},
			stophook.Work{Blocked: 3, Done: 1}},
		"a circle":       {[]tracker.Issue{issue("e.1", "open", "e.2"), issue("e.2", "open", "e.1")}, stophook.Work{Blocked: 2}},
		"deferred":       {[]tracker.Issue{{ID: "e.1", Title: "x", Status: "deferred", Type: "task", Dependencies: issue("e.1", "open").Dependencies}}, stophook.Work{Blocked: 1}},
		"another epic's": {[]tracker.Issue{{ID: "x", Title: "x", Status: "open", Type: "task"}}, stophook.Work{}},
	}
	for name, tt := range tests {
		got := stophook.WorkOf(append(tt.issues, epic), "e", "tip", now)
		got.Print = ""
		require.Equal(t, tt.want, got, name)
	}
	a := stophook.WorkOf([]tracker.Issue{epic, issue("e.1", "open")}, "e", "tip", now)
	require.NotEqual(t, a.Print, stophook.WorkOf([]tracker.Issue{epic, issue("e.1", "open")}, "e", "next", now).Print, "a landing is progress")
	require.Equal(t, "1 ready", a.String())
}

// TestLetGo: a session that may end is no longer held; only a person begins it again.
func TestLetGo(t *testing.T) {
	t.Parallel()
	held := session.Session{ID: "s", Epic: "e", Still: 2, Print: "p", Held: true}
	require.False(t, stophook.Decide(stophook.Facts{Settings: settings(), Session: held, Work: &stophook.Work{Ready: 1, Print: "p"}}).Session.Held)
	require.True(t, stophook.Decide(stophook.Facts{Settings: settings(), Session: held, Input: session.Input{Waiting: 1}, Work: &stophook.Work{Ready: 1, Print: "p"}}).Session.Held)
}
