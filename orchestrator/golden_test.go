package orchestrator_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/validation"
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
	State    TaskState   `json:"state"`
	Attempts int         `json:"attempts"`
	Charged  int         `json:"charged,omitempty"`
	Code     reason.Code `json:"code,omitempty"`
	Why      string      `json:"why,omitempty"`
	Commit   Commit      `json:"commit,omitempty"`
	Tokens   int64       `json:"tokens,omitempty"`
	Hints    []string    `json:"hints,omitempty"`
	Rounds   int         `json:"rounds,omitempty"`
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
	for name, events := range written(t) {
		if file := filepath.Join(journals, name+".jsonl"); *update && !exists(file) {
			writeJournal(t, file, events)
		}
	}
	files, err := filepath.Glob(filepath.Join(journals, "v*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	seen := map[string]bool{} // by version and kind
	for _, file := range files {
		for _, e := range eventsOf(t, file) {
			seen[filepath.Base(file)[:2]+" "+string(e.Kind())] = true
		}
		s, err := epicstore.Replay(readJournal(t, file).Records)
		require.NoError(t, err, file)
		got, err := json.MarshalIndent(standingOf(s), "", "  ")
		require.NoError(t, err)
		state := strings.TrimSuffix(file, "jsonl") + "json"
		if *update && !exists(state) {
			require.NoError(t, os.WriteFile(state, append(got, '\n'), 0o600))
		}
		want, err := os.ReadFile(state)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got)+"\n", file)
	}
	for _, kind := range kindsOfVersion1() {
		require.True(t, seen["v1 "+kind], "no golden journal of version 1 has %s", kind)
	}
	for kind := range Facts() {
		require.True(t, seen["v3 "+string(kind)], "no golden journal has %s: see written, then go test -run Golden ./orchestrator -update", kind)
	}
}

const journals = "testdata/journals"

// update has the journals written that are missing; those that are there are never changed.
var update = flag.Bool("update", false, "write golden journals that are missing")

// written are the journals that this version has written, by name. A new kind of event has one
// of its own: a start with what it needs, and the event.
func written(t *testing.T) map[string][]Event {
	return map[string][]Event{
		"v3-every-kind":    eventsOf(t, filepath.Join(journals, "v2-every-kind.jsonl")), // the same epic, in the other shape
		"v3-agent-started": begun(first(AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}}), first(AgentStarted{})),
		"v3-judged": begun(first(AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}}),
			first(AgentEnded{Iteration: 1, End: EndedItself, Head: "h1", Changed: true, Signal: "COMPLETE", Round: &Round{Entry: iteration.Entry{Iteration: 1, ValidationScore: 50, FirstUnmet: "tests", Failure: "tests: exit 1", Signal: iteration.Escalate}},
				Outcome: &Outcome{Signal: iteration.Escalate, Promise: "COMPLETE", Guard: reason.MaxIterations, Reason: "Maximum iterations (1) reached.", Feedback: "mend tests"}}),
			Event{Fact: TaskParked{}, Task: "e.1", Attempt: 1, Code: reason.MaxIterations, Reason: "Maximum iterations (1) reached."}, first(TaskRetried{}),
			nth(2, AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}}), nth(2, AgentEnded{Iteration: 1, End: EndedItself, Head: "h2", Changed: true, Outcome: &Outcome{Signal: iteration.Continue, Silent: true, Feedback: "is it done?"}}),
			nth(2, IterationStarted{Turn: Turn{Iteration: 2, Base: "tip0"}}), nth(2, AgentEnded{Iteration: 2, End: EndedItself, Head: "h2", Changed: true, Outcome: &Outcome{Signal: iteration.Continue, Fresh: true, Promise: "CONTEXT LIMIT - CHECKPOINT"}}),
			nth(2, IterationStarted{Turn: Turn{Iteration: 3, Base: "tip0"}}), nth(2, AgentEnded{Iteration: 3, End: EndedItself, Head: "h3", Changed: true, Signal: "COMPLETE", Outcome: &Outcome{Signal: iteration.Complete, Promise: "COMPLETE"}})),
		"v3-short": begun(
			Event{Fact: DrainStarted{}, Code: reason.TimeUp, Reason: "Maximum duration (8 hours) reached"}, Event{Fact: RunEnded{Promise: LoopBlocked}},
			Event{Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeNext, Tip: "tip0"}}, Event{Fact: RunEnded{Promise: LoopContinue}},
			Event{Fact: RunStarted{Epic: "e", Number: 2, Mode: ModeRun, Tip: "tip0"}}),
		"v3-session": begun(
			first(AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}, InSession: true, Holder: SessionHolder{Session: "s-1", PID: 7, Born: 9, Here: "m"}}), first(AttemptHanded{}),
			Event{Fact: NextRequested{Holder: SessionHolder{Name: "tty1"}}, Request: "1-a"}, Event{Fact: AnswerStarted{}, Request: "1-a"}, Event{Fact: RequestAnswered{}, Request: "1-a"},
			Event{Fact: RequestRefused{Kind: "task_retried"}, Request: "1-b", Reason: "it is running"},
			Event{Fact: SessionLookStarted{}}, Event{Fact: SessionLookEnded{}},
			Event{Fact: LandRequested{}, Task: "e.1", Attempt: 1, Request: "1-c"}, first(CollectStarted{}), first(AgentEnded{End: EndedItself, Head: "h1", Changed: true})),
		"v3-asker-gone": begun(
			Event{Fact: NextRequested{Holder: SessionHolder{Session: "s-1"}, Asker: Process{PID: 7, Born: 9, Here: "m"}}, Request: "1-a"}, Event{Fact: NextDropped{}, Request: "1-a", Reason: "it has ended"},
			Event{Fact: NextRequested{Holder: SessionHolder{Session: "s-1"}, Asker: Process{PID: 8, Born: 9, Here: "m"}, AtOnce: true}, Request: "1-b"},
			Event{Fact: AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}, InSession: true, Holder: SessionHolder{Session: "s-1"}}, Task: "e.1", Attempt: 1, Request: "1-b"}, first(AttemptHanded{}),
			Event{Fact: NextWithdrawn{Of: "1-b"}, Request: "1-c"}, Event{Fact: AttemptLost{}, Task: "e.1", Attempt: 1, Code: reason.Orphaned, Reason: "it waits no longer"}),
		"v3-elsewhere": begun(
			Event{Fact: TrackerRead{Nodes: []Node{
				{ID: "e.1", Title: "one", Parent: "e", Status: "closed", ClosedBy: "orch/e/h:1", LandedIn: "0123456789ab"}, {ID: "e.2", Title: "two", Parent: "e", Status: "closed", ClosedBy: "orch/e/h:1"},
				{ID: "e.3", Title: "three", Parent: "e", Status: "closed", ClosedBy: "orch/e/h:1", Waived: true}, {ID: "e.4", Title: "four", Parent: "e", Status: "closed", LandedIn: "0123456789ab"}}, Took: time.Second}},
			Event{Fact: LandingSeekStarted{}}, Event{Fact: TaskFound{Commit: "0123456789abcdef"}, Task: "e.1"},
			Event{Fact: TaskParked{}, Task: "e.2", Code: reason.LandedElsewhere, Reason: "closed by another clone"}, Event{Fact: TaskParked{}, Task: "e.4", Code: reason.LandedElsewhere, Reason: "landed in 0123456789ab"},
			Event{Fact: LandingSeekEnded{Tip: "tip0", Tasks: []TaskID{"e.1", "e.2", "e.4"}}}, Event{Fact: TaskRetried{}, Task: "e.2"}),
		"v3-restored": begun(
			first(AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}}), first(AgentEnded{Iteration: 1, End: EndedItself, Head: "h1", Changed: true, Signal: "COMPLETE"}),
			Event{Fact: LandingStarted{Tasks: []TaskID{"e.1"}}}, Event{Fact: CandidateJudged{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c1"}, Old: "tip0"}, Verdict: Verdict{Passed: true}}},
			Event{Fact: MoveStarted{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c1"}, Old: "tip0"}}}, Event{Fact: TaskLanded{Candidates: Candidates{Tasks: []TaskID{"e.1"}, Commits: []Commit{"c1"}, Old: "tip0"}}},
			Event{Fact: TrackerWritten{Wrote: []WriteResult{{ID: "e.1", Kind: "close", Status: "closed", By: "orch/e"}}}},
			Event{Fact: TrackerRead{Nodes: []Node{{ID: "e.1", Title: "one", Parent: "e", Status: "open", UpdatedAt: time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)}}, Took: time.Second}},
			Event{Fact: TrackerOutdated{}, Task: "e.1", Reason: "the tracker has it as of 2026-11-21 07:00:00"}),
		"v3-session-loop": begun(
			first(AttemptStarted{Turn: Turn{Iteration: 1, Base: "tip0"}, InSession: true, Holder: SessionHolder{Session: "s-1"}}), first(AttemptHanded{}),
			step("1-a", LoopStepped{Step: LoopStarted, Iteration: 1, Config: &iteration.Config{MaxIterations: 3, ValidationRules: []validation.Rule{{Name: "tests", Type: validation.Command, Command: "go test ./..."}}}}),
			step("1-b", LoopStepped{Step: LoopValidated, Iteration: 1, Entry: &iteration.Entry{Iteration: 1, ValidationScore: 50, FirstUnmet: "tests", Failure: "tests: exit 1", Signal: iteration.Continue}}),
			step("1-c", LoopStepped{Step: LoopAdvanced, Iteration: 2}),
			step("1-d", LoopStepped{Step: LoopLimited, Iteration: 2, Config: &iteration.Config{MaxIterations: 2}}),
			step("1-e", LoopStepped{Step: LoopValidated, Iteration: 2, Entry: &iteration.Entry{Iteration: 2, ValidationScore: 50, FirstUnmet: "tests", Failure: "tests: exit 1", Signal: iteration.Escalate}, Guard: iteration.MaxIterations}),
			first(AttemptLost{Head: "h1"}),
			step("1-f", LoopStepped{Step: LoopEnded, Iteration: 2, Done: iteration.Escalate})),
	}
}

// first is an event of the first attempt at e.1.
func first(f Fact) Event { return Event{Fact: f, Task: "e.1", Attempt: 1} }

// step is a step of the loop of the session that has the first attempt at e.1.
func step(id string, f LoopStepped) Event {
	return Event{Fact: f, Task: "e.1", Attempt: 1, Request: id}
}

// nth is an event of the attempt of that number at e.1.
func nth(n int, f Fact) Event { return Event{Fact: f, Task: "e.1", Attempt: n} }

// begun is the start of an epic with one task, e.1, and what happens then.
func begun(then ...Event) (events []Event) {
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	add := func(e Event) {
		at = at.Add(time.Second)
		e.At = at
		events = append(events, e)
	}
	add(Event{Fact: RunStarted{Epic: "e", Number: 1, Mode: ModeRun, Tip: "tip0", Limits: Limits{MaxParallel: 1, Attempts: 1, Iterations: 1, Actor: "orch/e"}}})
	add(Event{Fact: TrackerRead{Nodes: []Node{{ID: "e", Epic: true, Status: "open"}, {ID: "e.1", Title: "one", Parent: "e", Status: "open"}}, Took: time.Second}})
	for _, e := range then {
		add(e)
	}
	return events
}

// TestShapesSayTheSame: what was written in both shapes is the same, event by event, and every
// event of before can be written in the shape of now.
func TestShapesSayTheSame(t *testing.T) {
	t.Parallel()
	for name, events := range written(t) {
		require.Equal(t, events, eventsOf(t, filepath.Join(journals, name+".jsonl")))
	}
	files, err := filepath.Glob(filepath.Join(journals, "v[12]*.jsonl"))
	require.NoError(t, err)
	for _, file := range files {
		for _, e := range eventsOf(t, file) {
			b, err := json.Marshal(e)
			require.NoError(t, err)
			var again Event
			require.NoError(t, json.Unmarshal(b, &again))
			require.Equal(t, e, again)
		}
	}
}

// TestJournalOfBothShapes: an epic is upgraded in the middle of its life.
func TestJournalOfBothShapes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	old, err := os.ReadFile(filepath.Join(journals, "v1-every-kind.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, journal.File), old, 0o600))
	more := eventsOf(t, filepath.Join(journals, "v3-every-kind.jsonl"))[len(eventsOf(t, filepath.Join(journals, "v1-every-kind.jsonl"))):]
	j, _, err := journal.Open(dir, time.Now)
	require.NoError(t, err)
	for _, e := range more {
		_, err := j.AppendAll(e)
		require.NoError(t, err)
	}
	require.NoError(t, j.Close())
	rec, err := journal.Read(dir)
	require.NoError(t, err)
	got, err := epicstore.Replay(rec.Records)
	require.NoError(t, err)
	want, err := epicstore.Replay(readJournal(t, filepath.Join(journals, "v3-every-kind.jsonl")).Records)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func writeJournal(t *testing.T, file string, events []Event) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	clock := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	j, _, err := journal.Open(dir, func() time.Time { clock = clock.Add(time.Second); return clock })
	require.NoError(t, err)
	for _, e := range events {
		_, err := j.AppendAll(e)
		require.NoError(t, err)
	}
	require.NoError(t, j.Close())
	data, err := os.ReadFile(filepath.Join(dir, journal.File))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))
}

// eventsOf are the events of a journal in a file.
func eventsOf(t *testing.T, file string) (events []Event) {
	t.Helper()
	for _, r := range readJournal(t, file).Records {
		var e Event
		require.NoError(t, json.Unmarshal(r.Event, &e), file)
		events = append(events, e)
	}
	return events
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
