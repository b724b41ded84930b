package watch_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// folder is an epic's folder with the text of a journal; none where that is nil.
func folder(t *testing.T, text []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "orch", "epics", "e")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	if text != nil {
		put(t, dir, text)
	}
	return dir
}

func put(t *testing.T, dir string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, journal.File), text, 0o600))
}

// kept is the text of a journal that a run has written, of another epic each.
func kept(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "journals", name+".jsonl"))
	require.NoError(t, err)
	return text
}

// replayed is what the journal in a folder says, read as a whole.
func replayed(t *testing.T, dir string) (epic.State, []journal.Record) {
	t.Helper()
	rec, err := journal.Read(dir)
	require.NoError(t, err)
	s, err := epicstore.ReplayIn(dir, rec.Records)
	require.NoError(t, err)
	return s, rec.Records
}

// collector keeps the records that it is told.
type collector struct{ records []journal.Record }

func (c *collector) take(e watch.Event) error {
	c.records = append(c.records, e.Record)
	return nil
}

// A journal that grows, and is read at any moment, is told as if it had been read at the end.
func TestFollowsAJournalThatGrows(t *testing.T) {
	t.Parallel()
	text := kept(t, "v1-demo")
	dir := folder(t, nil)
	w := watch.Open(dir, time.Now)
	var told collector
	require.ErrorIs(t, w.Read(told.take), fs.ErrNotExist)
	for n := 0; n < len(text); n += 997 { // mostly in the middle of a record
		put(t, dir, text[:n])
		require.NoError(t, w.Read(told.take))
	}
	put(t, dir, text)
	require.NoError(t, w.Read(told.take))
	want, records := replayed(t, dir)
	got, _ := w.Snapshot()
	require.Equal(t, want, got)
	require.Equal(t, records, told.records)
	require.Zero(t, w.Resets())
}

// A slow reader misses no event, and sees the state after each.
func TestStateAfterEachEvent(t *testing.T) {
	t.Parallel()
	dir := folder(t, kept(t, "v1-stuck"))
	s := epic.NewState()
	w := watch.Open(dir, time.Now)
	require.NoError(t, w.Read(func(e watch.Event) error {
		var err error
		s, _, err = epicstore.ReplayOn(dir, s, e.Record)
		require.NoError(t, err)
		require.Equal(t, s, e.State)
		return nil
	}))
}

// An epic that is removed, or replaced by another, is no longer what it was.
func TestAnotherJournal(t *testing.T) {
	t.Parallel()
	dir := folder(t, kept(t, "v1-demo"))
	w := watch.Open(dir, time.Now)
	require.NoError(t, w.Read(nil))
	require.NoError(t, os.RemoveAll(dir))
	require.ErrorIs(t, w.Read(nil), fs.ErrNotExist)
	s, _ := w.Snapshot()
	require.Empty(t, s.Epic)
	require.Equal(t, 1, w.Resets())
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for n, name := range []string{"v1-stuck", "v1-demo"} {
		text := kept(t, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), text, 0o600))
		require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, journal.File)))
		var told collector
		require.NoError(t, w.Read(told.take))
		want, records := replayed(t, dir)
		got, _ := w.Snapshot()
		require.Equal(t, want, got)
		require.Equal(t, records, told.records)
		require.Equal(t, 1+n, w.Resets())
	}
}

// What cannot be replayed is an error each time, and not a state that nobody was in.
func TestBrokenJournal(t *testing.T) {
	t.Parallel()
	dir := folder(t, nil)
	j, _, err := journal.Open(dir, time.Now)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	_, err = j.AppendAll(epic.Event{Fact: epic.TaskLanded{}, Task: "e.1"})
	require.NoError(t, err)
	w := watch.Open(dir, time.Now)
	var replay *epicstore.ReplayError
	require.ErrorAs(t, w.Read(nil), &replay)
	require.ErrorAs(t, w.Read(nil), &replay)
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	dir := folder(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	require.ErrorIs(t, watch.Open(dir, time.Now).Follow(ctx, nil, func() error { cancel(enough); return nil }), enough)
	put(t, dir, kept(t, "v1-demo"))
	require.ErrorIs(t, watch.Open(dir, time.Now).Follow(t.Context(), func(watch.Event) error { return enough }, nil), enough)
	require.ErrorIs(t, watch.Open(dir, time.Now).Follow(t.Context(), nil, func() error { return enough }), enough)
}

// running is a folder whose epic has a task that an agent works on, and the state.
func running(t *testing.T) (string, epic.State) {
	t.Helper()
	text := kept(t, "v1-demo")
	dir := folder(t, nil)
	for n, line := 0, ""; ; {
		line, _, _ = strings.Cut(string(text[n:]), "\n")
		require.NotEmpty(t, line)
		n += len(line) + 1
		put(t, dir, text[:n])
		if s, _ := replayed(t, dir); len(agentsOf(s)) > 1 {
			return dir, s
		}
	}
}

func agentsOf(s epic.State) (ids []epic.TaskID) {
	for _, t := range s.Tasks {
		if t.State == epic.Running {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// What agents do is seen from outside while the run goes on, without secrets, and no longer.
func TestActivity(t *testing.T) {
	t.Parallel()
	dir, s := running(t)
	var late atomic.Int64 // by how much the reader's clock is later
	now := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	w := watch.Open(dir, now)
	require.NoError(t, w.Read(nil))
	p := watch.NewPublisher(dir, redact.New(redact.Options{Env: []string{"API_TOKEN=hunter2hunter2"}}), time.Now)
	p.Observe(epic.Event{Fact: epic.AttemptStarted{}}, s)
	p.Observe(epic.Event{Fact: epic.TrackerFailed{}, Reason: "it is locked"}, s)
	p.Start(func(id epic.TaskID) string { return "works on " + id.String() + " with hunter2hunter2\x1b[2J" })
	path := filepath.Join(dir, "activity.json")
	var remarks []epic.Event
	read := func() (a watch.Activity) {
		require.NoError(t, w.Read(func(e watch.Event) error {
			require.Zero(t, e.Record.Seq)
			remarks = append(remarks, e.Event)
			return nil
		}))
		_, a = w.Snapshot()
		return a
	}
	require.Eventually(t, func() bool { return len(read().Agents) > 0 }, time.Minute, time.Millisecond)
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	a := read()
	for _, id := range agentsOf(s) {
		require.Equal(t, "works on "+id.String()+" with [redacted API_TOKEN]", a.Of(id))
	}
	require.Len(t, a.Agents, len(agentsOf(s)))
	require.Len(t, remarks, 1, "it is told once")
	require.Equal(t, "it is locked", remarks[0].Reason)

	late.Store(int64(time.Hour))
	require.Empty(t, read(), "a run that has told nothing for an hour")
	late.Store(0)
	require.NotEmpty(t, read())
	require.NoError(t, p.Close())
	require.NoFileExists(t, path)
	require.Empty(t, read())
}

// Nothing that an agent puts in the place of the volatile file keeps a reader, or the run.
func TestActivityThatIsNone(t *testing.T) {
	t.Parallel()
	dir, s := running(t)
	path := filepath.Join(dir, "activity.json")
	for name, plant := range map[string]func() error{
		"nonsense": func() error { return os.WriteFile(path, []byte("{"), 0o600) },
		"a link":   func() error { return os.Symlink("/dev/zero", path) },
		"a folder": func() error { return os.MkdirAll(filepath.Join(path, "x"), 0o700) },
		"too much": func() error { return os.WriteFile(path, []byte(strings.Repeat(" ", 1<<20)), 0o600) },
	} {
		require.NoError(t, plant())
		w := watch.Open(dir, time.Now)
		require.NoError(t, w.Read(nil), name)
		_, a := w.Snapshot()
		require.Empty(t, a, name)
		p := watch.NewPublisher(dir, nil, time.Now)
		p.Observe(epic.Event{}, s)
		p.Start(func(epic.TaskID) string { return "works" })
		require.Eventually(t, func() bool {
			require.NoError(t, w.Read(nil))
			_, a := w.Snapshot()
			return len(a.Agents) > 0
		}, time.Minute, time.Millisecond, name)
		require.NoError(t, p.Close(), name)
	}
}

// Observe never waits, also while the publisher cannot write, or an agent's words do not come.
func TestObserveDoesNotWait(t *testing.T) {
	t.Parallel()
	dir, s := running(t)
	p := watch.NewPublisher(dir, nil, time.Now)
	p.Observe(epic.Event{}, s)
	asked, answer := make(chan struct{}), make(chan struct{})
	var once atomic.Bool
	p.Start(func(epic.TaskID) string {
		if once.CompareAndSwap(false, true) {
			close(asked)
		}
		<-answer
		return ""
	})
	<-asked
	for range 1000 {
		p.Observe(epic.Event{Fact: epic.TrackerFailed{}}, s)
	}
	close(answer)
	require.NoError(t, p.Close())
}

func FuzzActivity(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","run":1,"agents":[{"task":"e.1","attempt":1,"doing":"x"}],"remarks":[{"number":1,"event":{"kind":"tracker_failed"}}]}`))
	f.Add([]byte(`{"agents":[{}],"remarks":null}`))
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC) }
	dir := filepath.Join(f.TempDir(), "e")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "activity.json"), data, 0o600))
		w := watch.Open(dir, now)
		require.ErrorIs(t, w.Read(func(e watch.Event) error {
			require.False(t, e.Journaled(), "only the journal tells what is in the journal")
			return nil
		}), fs.ErrNotExist)
		_, a := w.Snapshot()
		for _, agent := range a.Agents {
			require.NotContains(t, agent.Doing, "\x1b")
		}
	})
}
