package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// TestATrackerThatIsRestored: a task that has landed, and of which the tracker has a record from before that, is closed
// again; what a person has opened since, or what nobody can tell from that, is done again.
func TestATrackerThatIsRestored(t *testing.T) {
	t.Parallel()
	s := after(t, idle(t, open("e.1"), Node{ID: "e.2", Parent: "e", Status: "in_progress", Assignee: "bob"}), append(landedOne, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed", By: "orch/e"}}}})...)
	landed := s.Task("e.1").Since
	closed := landed.Add(time.Minute)
	record := func(status tracker.Status, updated time.Time) []tracker.Issue {
		parent := []tracker.Dependency{{DependsOnID: "e", Type: tracker.DepParent}}
		return []tracker.Issue{{ID: "e", Type: "epic", Status: "in_progress", Assignee: "orch/e"},
			{ID: "e.1", Type: "task", Title: "e.1", Status: status, UpdatedAt: updated, Dependencies: parent}, {ID: "e.2", Type: "task", Status: "in_progress", Assignee: "bob", Dependencies: parent}}
	}
	read := func(s State, status tracker.Status, updated time.Time) (State, []Event) {
		r := Diff(s, tracker.NewIndex(record(status, updated)), 0)
		found := OutdatedIn(s, r.Nodes)
		return after(t, s, append([]Event{{At: closed, Fact: r}}, found...)...), found
	}
	for name, tt := range map[string]struct {
		updated  time.Time
		restored bool
	}{
		"a copy from before it landed":  {landed.Add(-time.Hour), true},
		"a copy of shortly before":      {landed.Add(-2 * time.Second), true},
		"which may be in whole seconds": {landed.Add(-time.Second / 2), false},
		"a person's word":               {closed.Add(time.Hour), false},
		"nobody tells":                  {time.Time{}, false},
	} {
		got, found := read(s, "open", tt.updated)
		if !tt.restored {
			require.Empty(t, found, name)
			require.Equal(t, Waiting, got.Task("e.1").State, name)
			require.Empty(t, got.Restored(), name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Equal(t, TaskID("e.1"), found[0].Task)
		require.Equal(t, Landed, got.Task("e.1").State, name)
		require.Len(t, got.Restored(), 1, name)
		require.Contains(t, told(got, closed), "e.1 close", name)

		same, again := read(got, "open", tt.updated)
		require.Empty(t, again, "it is said once")
		require.Equal(t, Landed, same.Task("e.1").State)
		word, none := read(got, "open", closed.Add(time.Hour))
		require.Empty(t, none)
		require.Equal(t, Waiting, word.Task("e.1").State, "a person has opened it before it was closed again")

		mended := after(t, got, Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed", By: "orch/e"}}}})
		require.Empty(t, mended.Restored())
		require.NotContains(t, told(mended, closed), "e.1 close")
		word, _ = read(mended, "open", closed.Add(time.Hour))
		require.Equal(t, Waiting, word.Task("e.1").State, "a person has opened it after it was closed again")
	}
	inWork, found := read(s, "in_progress", landed.Add(-time.Hour))
	require.Len(t, found, 1)
	require.Contains(t, told(inWork, closed), "e.1 close")
	require.Equal(t, "closed", s.Task("e.1").Status)
}
