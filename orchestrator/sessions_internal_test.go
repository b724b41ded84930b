package orchestrator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
)

// TestAnswers are read once by who asked; those that nobody comes for go after a while, and what is
// no answer is an error.
func TestAnswers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "epics", "e")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	files, err := epicdir.Open(dir)
	require.NoError(t, err)
	defer files.Close()
	now := time.Now()
	x := &dispatch{Deps: Deps{Dir: dir, Now: func() time.Time { return now }}, files: files}
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

// TestWithdrawnOnce: a request that was taken cannot be taken back.
func TestWithdrawnOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "epics", "e")
	id, err := Post(dir, epic.Event{Fact: epic.LandRequested{}, Task: "e.1"}, time.Now())
	require.NoError(t, err)
	there, err := Withdraw(dir, id)
	require.NoError(t, err)
	require.True(t, there)
	there, err = Withdraw(dir, id)
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
