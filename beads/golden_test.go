package beads_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

const recorded = "testdata/bd-1.0.5"

// state is one of bd's answers to a whole tracker.
type state struct {
	Issues json.RawMessage     `json:"issues"`
	Now    time.Time           `json:"now"`
	Ready  map[string][]string `json:"ready"`
	Parent map[string][]string `json:"ready_parent"`
	Block  map[string][]string `json:"blocked"`
}

// corpus reads the recorded states.
func corpus(t *testing.T) (states []state) {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, "ready-corpus.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var s state
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		states = append(states, s)
	}
	require.NoError(t, lines.Err())
	require.Len(t, states, 50)
	return states
}

func ids(issues []tracker.Issue) []string {
	out := []string{}
	for _, i := range issues {
		out = append(out, i.ID)
	}
	return out
}

// TestReadyAsBD compares ready work, its order, and what is blocked by what, with
// bd's own answers on 50 random states.
func TestReadyAsBD(t *testing.T) {
	t.Parallel()
	for n, s := range corpus(t) {
		issues, err := beads.Parse(t.Context(), s.Issues)
		require.NoError(t, err)
		x := tracker.NewIndex(issues)
		for by, want := range s.Ready {
			require.Equal(t, want, ids(x.Ready(tracker.Filter{Sort: by}, s.Now)), "state %d, %s", n, by)
		}
		for parent, want := range s.Parent {
			require.Equal(t, want, ids(x.Ready(tracker.Filter{Parent: parent}, s.Now)), "state %d, below %s", n, parent)
		}
		blocked := x.Blocked()
		for id, want := range s.Block {
			slices.Sort(want)
			require.Equal(t, want, blocked[id], "state %d, %s", n, id)
		}
		require.Len(t, blocked, len(s.Block), "state %d", n)
	}
}

// TestBlockersAgreeWithReady: what Blockers names, taken with the statuses, says
// the same of each issue as the rules of ready work do.
func TestBlockersAgreeWithReady(t *testing.T) {
	t.Parallel()
	for n, s := range corpus(t) {
		issues, err := beads.Parse(t.Context(), s.Issues)
		require.NoError(t, err)
		x := tracker.NewIndex(issues)
		blocked := x.Blocked()
		done := func(id string) bool {
			i, ok := x.Issue(id)
			return !ok || i.Status.Done()
		}
		for _, i := range issues {
			if i.Status.Done() {
				continue
			}
			free := true
			for _, row := range x.Blockers(i.ID) {
				free = free && slices.ContainsFunc(row, done)
			}
			if _, is := blocked[i.ID]; !is && waitsForChildren(i) {
				continue // bd names nothing for it
			}
			_, is := blocked[i.ID]
			require.Equal(t, !is, free, "state %d, %s: %v", n, i.ID, x.Blockers(i.ID))
		}
	}
}

// recording is one call of bd.
type recording struct {
	Name   string   `json:"name"`
	Argv   []string `json:"argv"`
	Exit   int      `json:"exit"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
}

func recordings(t testing.TB) (out []recording) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recorded, "recordings.jsonl"))
	require.NoError(t, err)
	for line := range bytes.Lines(data) {
		var r recording
		require.NoError(t, json.Unmarshal(line, &r))
		out = append(out, r)
	}
	require.Len(t, out, 137)
	return out
}

// TestParseRecordings reads everything that bd printed: what is issues is read
// without loss, what is not is an error that quotes it.
func TestParseRecordings(t *testing.T) {
	t.Parallel()
	read := 0
	for _, r := range recordings(t) {
		issues, err := beads.Parse(t.Context(), []byte(r.Stdout))
		lists := len(r.Argv) > 1 && slices.Contains([]string{"list", "ready", "query", "children"}, r.Argv[1]) && slices.Contains(r.Argv, "--json")
		if err != nil {
			var bad *beads.ParseError
			require.ErrorAs(t, err, &bad, r.Name)
			require.False(t, lists && r.Exit == 0 && !slices.Contains(r.Argv, "--explain"), "%s: %v: %v", r.Name, r.Argv, err)
			continue
		}
		read++
		again, err := json.Marshal(issues)
		require.NoError(t, err, r.Name)
		same(t, r.Stdout, again, r.Name)
	}
	require.Greater(t, read, 50)
}

// same compares JSON, taking one object for an array of one.
func same(t *testing.T, want string, got []byte, name string) {
	t.Helper()
	var w, g any
	start := strings.IndexAny(want, "[{")
	require.NoError(t, json.Unmarshal([]byte(want[start:]), &w), name)
	require.NoError(t, json.Unmarshal(got, &g), name)
	if env, ok := w.(map[string]any); ok {
		if data, ok := env["data"]; ok {
			w = data
		}
	}
	if _, ok := w.(map[string]any); ok {
		w = []any{w}
	}
	require.Equal(t, w, g, name)
}

// TestExportsKeepEverything reads and writes the recorded exports.
func TestExportsKeepEverything(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chain", "diamond", "nested", "mixed"} {
		data, err := os.ReadFile(filepath.Join(recorded, name+".jsonl"))
		require.NoError(t, err)
		issues, err := beads.ParseJSONL(data)
		require.NoError(t, err)
		n := 0
		for line := range bytes.Lines(data) {
			got, err := json.Marshal(issues[n])
			require.NoError(t, err)
			require.JSONEq(t, string(line), string(got))
			n++
		}
		require.Len(t, issues, n)
	}
}

// TestExpectedOfEpics compares the four recorded epics with what bd said of them.
func TestExpectedOfEpics(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(recorded, "expected.json"))
	require.NoError(t, err)
	var expected map[string]struct {
		Ready   map[string][]string `json:"ready"`
		Parent  map[string][]string `json:"ready_parent"`
		Blocked map[string][]string `json:"blocked"`
		At      time.Time           `json:"evaluated_at"`
	}
	require.NoError(t, json.Unmarshal(data, &expected))
	for name, want := range expected {
		data, err := os.ReadFile(filepath.Join(recorded, name+".jsonl"))
		require.NoError(t, err)
		issues, err := beads.ParseJSONL(data)
		require.NoError(t, err)
		x := tracker.NewIndex(issues)
		for by, list := range want.Ready {
			require.Equal(t, list, ids(x.Ready(tracker.Filter{Sort: by}, want.At)), "%s, %s", name, by)
		}
		for parent, list := range want.Parent {
			require.Equal(t, list, ids(x.Ready(tracker.Filter{Parent: parent}, want.At)), "%s below %s", name, parent)
		}
	}
}

func waitsForChildren(i tracker.Issue) bool {
	return slices.ContainsFunc(i.Dependencies, func(d tracker.Dependency) bool { return d.Type == tracker.DepWaitsFor })
}
