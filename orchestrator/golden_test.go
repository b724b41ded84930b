package orchestrator_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator"
	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
)

// kindsOfVersion1 are the kinds of event that the first journals knew; the last four were
// never written, and are in the golden journals all the same.
func kindsOfVersion1() []string {
	return strings.Fields(`run_started run_ended drain_started kill_started run_paused run_continued tracker_read tracker_written
		base_check_started base_checked attempt_started iteration_started attempt_handed agent_ended attempt_stopped attempt_lost
		attempt_cleaned landing_started landing_conflicted candidate_judged move_started task_landed landing_lost task_found task_parked
		task_retried task_skipped task_limited request_refused breaker_opened meta_issue_wanted meta_issue_filed into_started
		epic_landed_into epic_not_landed worker_panicked leftover_found tracker_busy tracker_failed clean_started agent_exited`)
}

// standing is what a journal says of an epic that every version of orch has to read from it.
type standing struct {
	Epic    TaskID            `json:"epic"`
	Base    Commit            `json:"base"`
	Tip     Commit            `json:"tip"`
	Run     int               `json:"run"`
	Promise string            `json:"promise"`
	Tasks   map[TaskID]detail `json:"tasks"`
}

type detail struct {
	State    TaskState `json:"state"`
	Attempts int       `json:"attempts"`
	Charged  int       `json:"charged,omitempty"`
	Code     Code      `json:"code,omitempty"`
	Why      string    `json:"why,omitempty"`
	Commit   Commit    `json:"commit,omitempty"`
	Tokens   int64     `json:"tokens,omitempty"`
	Hints    []string  `json:"hints,omitempty"`
	Rounds   int       `json:"rounds,omitempty"`
}

func standingOf(s State) standing {
	out := standing{Epic: s.Epic, Base: s.Base, Tip: s.Tip, Run: s.Run.Number, Promise: s.Run.Promise, Tasks: map[TaskID]detail{}}
	for _, t := range s.Tasks {
		out.Tasks[t.ID] = detail{State: t.State, Attempts: len(t.Attempts), Charged: t.Charged, Code: t.Code, Why: t.Why, Commit: t.Commit,
			Tokens: t.Tokens, Hints: t.Hints, Rounds: len(t.Last().Rounds)}
	}
	return out
}

// TestGoldenJournals replays journals that earlier versions wrote. They are frozen: a change
// that reads one of them differently breaks the epics that people have under way.
func TestGoldenJournals(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "journals", "v1-*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	seen := map[string]bool{}
	for _, file := range files {
		rec := readJournal(t, file)
		for _, r := range rec.Records {
			var e Event
			require.NoError(t, json.Unmarshal(r.Event, &e))
			seen[string(e.Kind)] = true
		}
		s, err := Replay(rec.Records)
		require.NoError(t, err, file)
		got, err := json.MarshalIndent(standingOf(s), "", "  ")
		require.NoError(t, err)
		want, err := os.ReadFile(strings.TrimSuffix(file, "jsonl") + "json")
		require.NoError(t, err)
		require.Equal(t, string(want), string(got)+"\n", file)
	}
	for _, kind := range kindsOfVersion1() {
		require.True(t, seen[kind], "no golden journal has %s", kind)
	}
}

// readJournal reads a journal from a file of any name.
func readJournal(t *testing.T, file string) journal.Recovery {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.jsonl"), data, 0o600))
	rec, err := journal.Read(dir)
	require.NoError(t, err, file)
	require.Zero(t, rec.TornBytes, file)
	return rec
}
