package orchestrator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// answering is a dispatch that has an epic's folder, dir, to leave answers in.
func answering(t *testing.T, now *time.Time) (dir string, x *dispatch) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "epics", "e")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	files, err := epicdir.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return dir, &dispatch{Deps: Deps{Dir: dir, Now: func() time.Time { return *now }}, files: files}
}

// TestAnswers are read once by who asked; those that nobody comes for go after a while, and what is
// no answer is an error.
func TestAnswers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	dir, x := answering(t, &now)
	s := epic.NewState()
	for _, id := range []string{"1", "2"} {
		s = epic.Apply(s, epic.Event{Fact: epic.RequestRefused{Kind: "land_requested"}, Request: id, Reason: "not now"})
	}
	_, ok, err := TakeAnswer(dir, "1")
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, epic.Event{Fact: epic.RequestAnswered{}, Request: "1"}, x.answer(s, "1"))
	a, ok, err := TakeAnswer(dir, "1")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "not now", a.Refused)
	_, ok, err = TakeAnswer(dir, "1")
	require.NoError(t, err)
	require.False(t, ok, "once")

	x.answer(s, "2")
	now = now.Add(2 * answerLife)
	x.answer(s, "1")
	_, ok, err = TakeAnswer(dir, "2")
	require.NoError(t, err)
	require.False(t, ok, "nobody came for it")

	require.NoError(t, os.WriteFile(answerFile(dir, "3"), []byte(`{"request":"4"}`), 0o600))
	_, _, err = TakeAnswer(dir, "3")
	require.ErrorContains(t, err, "another request")
}

// TestUncollected: an attempt whose answer nobody has come for is not held by who asked for it,
// when that process has ended; who is there may come still.
func TestUncollected(t *testing.T) {
	t.Parallel()
	now := time.Now()
	dir, x := answering(t, &now)
	me := epic.Process{PID: os.Getpid(), Born: proc.Born(os.Getpid()), Here: proc.Here()}
	gone := epic.Process{PID: me.PID, Born: me.Born + 1, Here: me.Here}
	attempt := func(asker epic.Process, id string) epic.Attempt {
		s := epic.NewState()
		s.Wishes = []epic.Wish{{ID: id, Kind: "next_requested", Asker: asker}}
		require.Equal(t, epic.Event{Fact: epic.RequestAnswered{}, Request: id}, x.answer(s, id))
		return epic.Attempt{Number: 1, Phase: epic.HandedOver, InSession: true, Request: id, Holder: epic.SessionHolder{Session: "s"}}
	}
	there, ended, unknown := attempt(me, "1"), attempt(gone, "2"), attempt(epic.Process{}, "3")
	later := func(a epic.Attempt, by time.Duration) string { return Uncollected(dir, a, now.Add(by)) }
	require.Empty(t, later(ended, time.Second), "a moment is left to them")
	require.Contains(t, later(ended, 4*time.Second), "had ended before it was told")
	require.Empty(t, later(unknown, 4*time.Second))
	require.Contains(t, later(unknown, 2*time.Minute), "has not come for it")
	require.Empty(t, later(there, time.Hour))

	ok, err := CollectAnswer(dir, "1", gone)
	require.NoError(t, err)
	require.False(t, ok, "who asked is there, and waits for it")
	for id, who := range map[string]epic.Process{"1": me, "2": me, "3": me} {
		ok, err = CollectAnswer(dir, id, who)
		require.NoError(t, err)
		require.True(t, ok, id)
	}
	require.Empty(t, later(ended, time.Hour), "its session has come for it")
	ended.Unwanted = true
	require.Contains(t, later(ended, 0), "does not wait for it any more")

	events := x.reconcileSessions(t.Context(), epic.State{Wishes: []epic.Wish{{ID: "4", Kind: "next_requested", Asker: gone}, {ID: "5", Kind: "next_requested", Asker: me}, {ID: "6", Kind: "next_requested"}}})
	if me.Born != 0 { // else it cannot be told here
		require.Len(t, events, 2)
		require.Equal(t, "4", events[0].Request)
		require.Equal(t, epic.NextDropped{}, events[0].Fact)
	}
}

// TestGiveUp: a request that was not taken yet goes; after that the run is told.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "epics", "e")
	id, err := PostAwaitedRequest(dir, epic.Event{Fact: epic.NextRequested{Holder: epic.SessionHolder{Session: "s"}}}, time.Now())
	require.NoError(t, err)
	for _, want := range []int{0, 1} {
		_, ok, err := CancelNext(dir, id, time.Now())
		require.NoError(t, err)
		require.False(t, ok)
		asked, err := PendingRequests(dir)
		require.NoError(t, err)
		require.Len(t, asked, want)
		if want > 0 {
			require.Equal(t, epic.NextWithdrawn{Of: id}, asked[0].Event.Fact)
		}
	}
}

// TestWithdrawnOnce: a request that was taken cannot be taken back.
func TestWithdrawnOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "epics", "e")
	id, err := PostAwaitedRequest(dir, epic.Event{Fact: epic.LandRequested{}, Task: "e.1"}, time.Now())
	require.NoError(t, err)
	there, err := WithdrawRequest(dir, id)
	require.NoError(t, err)
	require.True(t, there)
	there, err = WithdrawRequest(dir, id)
	require.NoError(t, err)
	require.False(t, there)
}

func FuzzTakeAnswer(f *testing.F) {
	f.Add([]byte(`{"request":"1","refused":"no","promise":"LOOP_DONE"}`))
	f.Add([]byte(`{"request":"1","task":{"id":"e.1","attempts":[{"number":1}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), "epics", "e")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, answerDir), 0o700))
		require.NoError(t, os.WriteFile(answerFile(dir, "1"), data, 0o600))
		a, ok, err := TakeAnswer(dir, "1")
		require.Equal(t, err == nil, ok)
		if ok {
			require.Equal(t, "1", a.Request)
		}
	})
}
