package iterate

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// errKilled stands for the death of a command.
var errKilled = errors.New("killed")

// handedOut is the folder of an epic whose task e.1 a session has, with its journal.
func handedOut(t *testing.T, now func() time.Time) string {
	t.Helper()
	top := t.TempDir()
	require.NoError(t, os.Chmod(top, 0o700))
	dir := filepath.Join(top, "orch", "epics", "e")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	j, _, err := journal.Open(dir, now)
	require.NoError(t, err)
	for _, e := range []epic.Event{
		{Fact: epic.RunStarted{Epic: "e", Number: 1, Mode: epic.ModeNext, Tip: "tip"}},
		{Fact: epic.TrackerRead{Nodes: []epic.Node{{ID: "e", Epic: true, Status: "open"}, {ID: "e.1", Parent: "e", Status: "open"}}}},
		{Fact: epic.AttemptStarted{Turn: epic.Turn{Iteration: 1, Base: "tip"}, InSession: true, Holder: epic.SessionHolder{Session: "s-1"}}, Task: "e.1", Attempt: 1},
		{Fact: epic.AttemptHanded{}, Task: "e.1", Attempt: 1}, {Fact: epic.RunEnded{}},
	} {
		e.At = now()
		_, err := j.AppendAll(e)
		require.NoError(t, err)
	}
	require.NoError(t, j.Close())
	return dir
}

// stateIn replays the journal of an epic.
func stateIn(t *testing.T, dir string) epic.State {
	t.Helper()
	rec, err := journal.Read(dir)
	require.NoError(t, err)
	s, err := epicstore.ReplayIn(dir, rec.Records)
	require.NoError(t, err)
	return s
}

// moments are where a command can die.
const (
	nowhere        = iota
	beforeAsking   // nothing is left
	beforeTheLog   // the request is left, the log has no step
	afterTheBook   // the request is left
	afterTheRecord // the journal has it, and the request is left
	moments
)

// TestKilledBetween: a command that is killed anywhere, and given again, leaves the same history in
// the journal as in the log: nothing is missing there, and nothing is there twice.
func TestKilledBetween(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		now := func() time.Time { at = at.Add(time.Millisecond); return at }
		dir := handedOut(t, now)
		home := filepath.Join(dir, "loop")
		command := func(moment int, do func(*checkpoint.Log) error) error {
			h := historianOf(t, dir, now)
			log, err := checkpoint.Open(t.Context(), home, now)
			require.NoError(t, err)
			require.NoError(t, h.attach(log))
			log.OnStep(func(s checkpoint.Step) error {
				if moment == beforeAsking {
					return errKilled
				}
				require.NoError(t, h.record(s))
				if moment == beforeTheLog {
					return errKilled
				}
				return nil
			})
			err = errors.Join(do(log), log.Close())
			if moment == nowhere || moment == afterTheRecord {
				left := requests(t, dir)
				h.waitForJournal(t.Context())
				require.Empty(t, requests(t, dir))
				if moment == afterTheRecord {
					for name, text := range left {
						require.NoError(t, os.WriteFile(name, text, 0o600))
					}
				}
			}
			return err
		}
		for range 1 + rnd.IntN(2) { // loops
			steps := []func(*checkpoint.Log) error{func(log *checkpoint.Log) error {
				_, err := log.Start("e.1", iteration.Config{MaxIterations: 9})
				return err
			}}
			for n := range 1 + rnd.IntN(3) {
				if n > 0 {
					steps = append(steps, func(log *checkpoint.Log) error { _, err := log.Next(""); return err })
				}
				for range 1 + rnd.IntN(2) { // validated again
					steps = append(steps, validate(rnd.IntN(100), ""))
				}
			}
			steps = append(steps, func(log *checkpoint.Log) error { _, err := log.SetLimit(7); return err }, validate(100, "<promise>COMPLETE</promise>"),
				func(log *checkpoint.Log) error { _, err := log.End(); return err })
			for _, do := range steps {
				for err := errKilled; err != nil; {
					err = command(rnd.IntN(moments), do)
					if err != nil {
						require.ErrorIs(t, err, errKilled)
					}
				}
			}
		}
		w := orchestrator.SessionRequests{Dir: dir, Epic: "e", Now: now}
		for name := range requests(t, dir) {
			require.NoError(t, w.Wait(t.Context(), strings.TrimSuffix(filepath.Base(name), ".json")))
		}
		want, err := checkpoint.ReadLoop(home, now)
		require.NoError(t, err)
		got, ok := stateIn(t, dir).Task("e.1").SessionLoop()
		require.True(t, ok)
		require.Len(t, got.History, len(want.History), "seed %d", seed)
		for n := range want.History {
			got.History[n].Timestamp, want.History[n].Timestamp = time.Time{}, time.Time{} // of a try that was killed
		}
		require.Equal(t, want.History, got.History, "seed %d", seed)
		require.Equal(t, want.Iteration, got.Iteration)
		require.Equal(t, want.Done, got.Done)
		require.Equal(t, want.Config, got.Config)
		require.Equal(t, want.Last.Signal, got.Last.Signal)
	}
}

// historianOf is that of the session that has e.1.
func historianOf(t *testing.T, dir string, now func() time.Time) *loopRecorder {
	t.Helper()
	return &loopRecorder{app: &cli.Invocation{Process: cli.Process{Now: now, Stderr: &strings.Builder{}}}, work: workspace.WorkDir{Task: stateIn(t, dir).Task("e.1"), Epic: "e"},
		epic: orchestrator.SessionRequests{Dir: dir, Epic: "e", Now: now}, state: func() (epic.State, error) { return stateIn(t, dir), nil }}
}

// TestLoopOfBefore: a loop that was begun by an orch which recorded no steps is recorded whole with its next
// step, once.
func TestLoopOfBefore(t *testing.T) {
	t.Parallel()
	dir := handedOut(t, time.Now)
	home := filepath.Join(dir, "loop")
	log, err := checkpoint.Open(t.Context(), home, time.Now)
	require.NoError(t, err)
	_, err = log.Start("e.1", iteration.Config{MaxIterations: 9})
	require.NoError(t, err)
	require.NoError(t, validate(50, "")(log))
	_, err = log.Next("")
	require.NoError(t, err)
	require.NoError(t, validate(70, "")(log))
	for _, do := range []func(*checkpoint.Log) error{validate(100, "<promise>COMPLETE</promise>"), func(log *checkpoint.Log) error { _, err := log.End(); return err }} {
		h := historianOf(t, dir, time.Now)
		require.NoError(t, h.attach(log))
		require.NoError(t, do(log))
		h.waitForJournal(t.Context())
	}
	want, err := log.Loop()
	require.NoError(t, err)
	require.NoError(t, log.Close())
	got, ok := stateIn(t, dir).Task("e.1").SessionLoop()
	require.True(t, ok)
	require.Equal(t, want.History, got.History)
	require.Equal(t, want.Config, got.Config)
	require.Equal(t, want.Done, got.Done)
	rec, err := journal.Read(dir)
	require.NoError(t, err)
	require.Len(t, rec.Records, 5+5, "started, two of before, validated, ended")
}

// validate validates with a score; 100 is green.
func validate(score int, says string) func(*checkpoint.Log) error {
	v := validation.Verdict{Score: score, Passed: score == 100, Checks: []validation.Check{{Rule: "tests", Passed: score == 100}}}
	return func(log *checkpoint.Log) error { _, err := log.Validate(v, says, iteration.Hook{}); return err }
}

// requests are the files of requests that nobody has taken.
func requests(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "requests", "*.json"))
	require.NoError(t, err)
	files := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files[name] = text
	}
	return files
}

// TestSettleTakesItsOwn: what a person or a session asks of a run is left for one, and who waits in
// vain says so.
func TestSettleTakesItsOwn(t *testing.T) {
	t.Parallel()
	dir := handedOut(t, time.Now)
	other, err := orchestrator.PostAwaitedRequest(dir, epic.Event{Fact: epic.TaskRetried{}, Task: "e.1"}, time.Now())
	require.NoError(t, err)
	step, err := orchestrator.PostAwaitedRequest(dir, epic.Event{Fact: epic.LoopStepped{Step: epic.LoopStarted, Iteration: 1, Config: &iteration.Config{MaxIterations: 2}}, Task: "e.1", Attempt: 1}, time.Now())
	require.NoError(t, err)
	w := orchestrator.SessionRequests{Dir: dir, Epic: "e", Now: time.Now}
	require.NoError(t, w.Wait(t.Context(), step))
	s := stateIn(t, dir)
	require.True(t, s.Took(step))
	require.False(t, s.Took(other))
	require.Len(t, requests(t, dir), 1)
	// A lock that is taken is waited for, as long as the context goes on.
	held, _, err := journal.Open(dir, time.Now)
	require.NoError(t, err)
	step, err = orchestrator.PostAwaitedRequest(dir, epic.Event{Fact: epic.LoopStepped{Step: epic.LoopAdvanced, Iteration: 2}, Task: "e.1", Attempt: 1}, time.Now())
	require.NoError(t, err)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.Wait(over, step), context.Canceled)
	require.False(t, stateIn(t, dir).Took(step))
	require.NoError(t, held.Close())
	require.NoError(t, w.Wait(t.Context(), step))
	require.True(t, stateIn(t, dir).Took(step))
}
