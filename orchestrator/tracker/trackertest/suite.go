// Package trackertest holds what every tracker has to do: a suite that its own test runs.
package trackertest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Subject is a tracker that is tested, empty, with a way to put issues into it.
type Subject struct {
	// Tracker is what is tested.
	Tracker orchestrator.Tracker
	// Add puts an issue into the tracker, as a person does, and gives its id: an epic where parent is
	// "", else a task below it that is blocked by others.
	Add func(t testing.TB, title, parent string, blockers ...string) string
	// Close closes an issue, as a person does; nil where nobody but orch can.
	Close func(t testing.TB, id string)
}

// Run holds a tracker to all that the orchestrator rests on.
func Run(t *testing.T, open func(t testing.TB) Subject) {
	p := open(t)
	epic := p.Add(t, "epic", "")
	a := p.Add(t, "a", epic)
	b := p.Add(t, "b", epic, a)
	c := p.Add(t, "c", epic)
	t.Run("has a name", func(t *testing.T) { require.NotEmpty(t, p.Tracker.Name()) })
	t.Run("reads the whole epic", func(t *testing.T) { suiteSurvey(t, p, epic, []string{a, b, c}) })
	t.Run("claims once", func(t *testing.T) { suiteClaim(t, p, a, c) })
	t.Run("writes statuses, notes and closes", func(t *testing.T) { suiteStatus(t, p, a, b, c) })
	t.Run("reopens only what is closed", func(t *testing.T) { suiteReopen(t, p, p.Add(t, "f", epic)) })
	t.Run("one bad id holds nothing up", func(t *testing.T) { suiteBadID(t, p, b) })
	t.Run("never creates twice", func(t *testing.T) { suiteCreate(t, p) })
	t.Run("takes the same again", func(t *testing.T) { suiteAgain(t, p, p.Add(t, "d", epic)) })
	t.Run("says when a person closes", func(t *testing.T) { suiteClose(t, p, p.Add(t, "e", epic)) })
}

func issueOf(t testing.TB, p orchestrator.Tracker, id string) tracker.Issue {
	t.Helper()
	issues, err := p.Survey(t.Context())
	require.NoError(t, err)
	i, ok := tracker.NewIndex(issues).Issue(id)
	require.True(t, ok, id)
	return i
}

// suiteAgain: an answer may be lost, and then the same changes are asked for again.
func suiteAgain(t testing.TB, p Subject, id string) {
	for _, change := range []tracker.Change{{ID: id, Kind: tracker.Claim}, {ID: id, Kind: tracker.SetStatus, Status: tracker.StatusBlocked},
		{ID: id, Kind: tracker.SetStatus, Status: tracker.StatusOpen}, {ID: id, Kind: tracker.Close, Reason: "landed"}, {ID: id, Kind: tracker.Reopen}, {ID: id, Kind: tracker.Close, Reason: "landed"}} {
		for range 2 {
			out, err := p.Tracker.Apply(t.Context(), "orch/one", []tracker.Change{change})
			require.NoError(t, err, change.Kind)
			require.Len(t, out, 1)
			require.NoError(t, out[0].Err, change.Kind)
		}
	}
	require.Equal(t, tracker.StatusClosed, issueOf(t, p.Tracker, id).Status)
}

// suiteClose: that an issue was closed, and when, is in the next survey; by whom may be told later.
func suiteClose(t testing.TB, p Subject, id string) {
	if p.Close == nil {
		return
	}
	before := time.Now().Add(-tracker.ClosedWithin)
	p.Close(t, id)
	i := issueOf(t, p.Tracker, id)
	require.Equal(t, tracker.StatusClosed, i.Status)
	require.NotNil(t, i.ClosedAt)
	require.True(t, i.ClosedAt.After(before) && i.ClosedAt.Before(time.Now().Add(tracker.ClosedWithin)), "%s", i.ClosedAt)
	require.False(t, strings.HasPrefix(i.ClosedBy, "orch/"), "by a person")
}

func suiteSurvey(t testing.TB, p Subject, epic string, tasks []string) {
	issues, err := p.Tracker.Survey(t.Context())
	require.NoError(t, err)
	x := tracker.NewIndex(issues)
	require.ElementsMatch(t, tasks, x.Descendants(epic))
	require.Equal(t, [][]string{{tasks[0]}}, x.Blockers(tasks[1]))
	require.ElementsMatch(t, []string{tasks[0], tasks[2]}, ids(x.Ready(tracker.Filter{Parent: epic}, time.Now())))
}

func suiteClaim(t testing.TB, p Subject, a, c string) {
	out, err := p.Tracker.Apply(t.Context(), "orch/one", []tracker.Change{{ID: a, Kind: tracker.Claim}})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	out, err = p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{ID: a, Kind: tracker.Claim}, {ID: c, Kind: tracker.Claim}, {ID: "t-none", Kind: tracker.Claim}})
	require.NoError(t, err)
	var held *tracker.ClaimedError
	require.ErrorAs(t, out[0].Err, &held)
	require.Equal(t, "orch/one", held.By)
	require.NoError(t, out[1].Err)
	require.ErrorIs(t, out[2].Err, tracker.ErrNotFound)
	out, err = p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{ID: c, Kind: tracker.Claim}})
	require.NoError(t, err)
	require.NoError(t, out[0].Err, "the same actor again")
	require.Equal(t, "orch/two", issueOf(t, p.Tracker, c).Assignee)
	require.Equal(t, tracker.StatusInProgress, issueOf(t, p.Tracker, c).Status)
}

// suiteReopen: what is closed is opened for whoever claims it first; nobody loses it to a reopening that comes late.
func suiteReopen(t testing.TB, p Subject, a string) {
	apply := func(actor string, kind tracker.ChangeKind) error {
		out, err := p.Tracker.Apply(t.Context(), actor, []tracker.Change{{ID: a, Kind: kind, Reason: "done"}})
		require.NoError(t, err)
		require.Len(t, out, 1)
		return out[0].Err
	}
	require.NoError(t, apply("orch/one", tracker.Claim))
	require.NoError(t, apply("orch/one", tracker.Close))
	require.ErrorIs(t, apply("orch/two", tracker.Claim), tracker.ErrRefused)
	require.NoError(t, apply("orch/two", tracker.Reopen))
	require.Equal(t, tracker.StatusOpen, issueOf(t, p.Tracker, a).Status)
	require.NoError(t, apply("orch/two", tracker.Claim))
	var held *tracker.ClaimedError
	require.ErrorAs(t, apply("orch/one", tracker.Reopen), &held)
	require.Equal(t, "orch/two", held.By)
	require.Equal(t, "orch/two", issueOf(t, p.Tracker, a).Assignee)
	require.Equal(t, tracker.StatusInProgress, issueOf(t, p.Tracker, a).Status)
	out, err := p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{ID: "t-none", Kind: tracker.Reopen}})
	require.NoError(t, err)
	require.ErrorIs(t, out[0].Err, tracker.ErrNotFound)
}

func suiteStatus(t testing.TB, p Subject, a, b, c string) {
	out, err := p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{
		{ID: c, Kind: tracker.SetStatus, Status: tracker.StatusBlocked, Note: "why: \"it\" asks\nsecond line"},
		{ID: a, Kind: tracker.Close, Reason: "landed in abc, \"quoted\" # and \\ more\nlines"},
		{ID: b, Kind: tracker.SetStatus, Status: tracker.StatusBlocked},
	})
	require.NoError(t, err)
	for _, o := range out {
		require.NoError(t, o.Err)
	}
	require.Equal(t, tracker.StatusClosed, issueOf(t, p.Tracker, a).Status)
	require.Contains(t, issueOf(t, p.Tracker, a).CloseReason, "landed in abc")
	require.Equal(t, tracker.StatusBlocked, issueOf(t, p.Tracker, b).Status)
	require.Contains(t, issueOf(t, p.Tracker, c).Notes, "second line")
	out, err = p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{ID: c, Kind: tracker.SetStatus, Status: tracker.StatusOpen}})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	require.Empty(t, issueOf(t, p.Tracker, c).Assignee)
	require.Equal(t, tracker.StatusOpen, issueOf(t, p.Tracker, c).Status)
}

func suiteBadID(t testing.TB, p Subject, b string) {
	out, err := p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{ID: "t-none", Kind: tracker.Close, Reason: "x"}, {ID: b, Kind: tracker.Close, Reason: "y"}})
	require.NoError(t, err)
	require.ErrorIs(t, out[0].Err, tracker.ErrNotFound)
	require.NoError(t, out[1].Err)
	require.Equal(t, tracker.StatusClosed, issueOf(t, p.Tracker, b).Status)
}

func suiteCreate(t testing.TB, p Subject) {
	want := tracker.Issue{Title: "orch: failures", Description: "a text\nof two lines", Type: "bug", Priority: 1, Labels: []string{"orch-meta"}}
	first, err := p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{Kind: tracker.Create, Issue: &want}})
	require.NoError(t, err)
	require.NoError(t, first[0].Err)
	again, err := p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{Kind: tracker.Create, Issue: &want}})
	require.NoError(t, err)
	require.Equal(t, first[0].ID, again[0].ID)
	i := issueOf(t, p.Tracker, first[0].ID)
	require.Equal(t, want.Description, strings.TrimSpace(i.Description))
	require.Equal(t, want.Labels, i.Labels)
	other := want
	other.Description = "another text"
	anew, err := p.Tracker.Apply(t.Context(), "orch/two", []tracker.Change{{Kind: tracker.Create, Anew: true, Issue: &other}})
	require.NoError(t, err)
	require.NoError(t, anew[0].Err)
	require.NotEqual(t, first[0].ID, anew[0].ID)
	require.Equal(t, other.Description, strings.TrimSpace(issueOf(t, p.Tracker, anew[0].ID).Description))
	require.Equal(t, want.Description, strings.TrimSpace(issueOf(t, p.Tracker, first[0].ID).Description))
}

func ids(issues []tracker.Issue) (out []string) {
	for _, i := range issues {
		out = append(out, i.ID)
	}
	return out
}
