package standin_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/standin"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// kept is an embedded tracker.
type kept struct{ *beads.File }

func (k kept) Issues(ctx context.Context) ([]tracker.Issue, error) { return k.Survey(ctx) }

// session is one on an epic with two tasks, of which the agent has the first.
func session(t testing.TB) (standin.Session, *beads.File) {
	t.Helper()
	f, err := beads.OpenFile(beads.FileOptions{Dir: t.TempDir(), Now: time.Now, Actor: "t"})
	require.NoError(t, err)
	for _, i := range []tracker.Issue{{ID: "e", Title: "The epic", Type: "epic"}, {ID: "e.1", Title: "one", Type: "task"}, {ID: "e.2", Title: "two", Type: "task"}} {
		parent := ""
		if i.ID != "e" {
			parent = "e"
		}
		_, err := f.Create(t.Context(), i, parent)
		require.NoError(t, err)
	}
	require.NoError(t, f.AddDependency(t.Context(), "e.2", "e.1", tracker.DepBlocks))
	return standin.Session{Tracker: kept{f}, Task: "e.1", Epic: "e", Actor: "orch/e/1", Now: time.Now}, f
}

func do(t testing.TB, s standin.Session, stdin, line string) standin.Answer {
	return s.Do(t.Context(), strings.Split(line, " "), []byte(stdin))
}

// TestReads: each verb that reads prints what bd prints: the same ids and edges, an array where bd has one.
func TestReads(t *testing.T) {
	t.Parallel()
	s, _ := session(t)
	for line, want := range map[string]string{
		"list --json": "e e.1 e.2", "list --type task --json": "e.1 e.2", "ready --json": "e e.1", "ready --type task --json": "e.1", "blocked --json": "e.2",
		"show e.1 --json": "e.1", "children e --json": "e.1 e.2", "dep list e.2 --json": "e e.1", "dep tree e.2 --json": "e.2 e e.1", "list --status closed --json": "", "comments e.1 --json": "",
		"--json show e.2": "e.2",
	} {
		a := do(t, s, "", line)
		require.Zero(t, a.Exit, "%s: %s", line, a.Stderr)
		var out []struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(a.Stdout), &out), line)
		ids := []string{}
		for _, i := range out {
			ids = append(ids, i.ID)
		}
		require.ElementsMatch(t, strings.Fields(want), ids, line)
	}
	a := do(t, s, "", "show e.none --json")
	require.Equal(t, 1, a.Exit)
	require.Contains(t, a.Stderr, "no issues found")
}

// TestRefuses: what is not the agent's own changes nothing, and says what to do instead.
func TestRefuses(t *testing.T) {
	t.Parallel()
	s, f := session(t)
	before, err := f.Export(t.Context())
	require.NoError(t, err)
	for _, line := range []string{
		"close e.1", "close e.2 --force", "update e.1 --status closed", "update e.1 -s open", "update e.2 --append-notes x", "update e.1 --claim", "update e.1 --notes x --title y",
		"comment e.2 x", "comments add e.2 x", "note e.2 x", "create x --parent e.1", "create x --deps e.2", "create x --deps blocks:e.2", "create x -t epic", "create x --id e.9", "create x --graph f",
		"dep add e.1 e.2", "dep remove e.2 e.1", "delete e.1", "import f", "init", "sql x", "batch", "label add e.1 x", "ready --claim", "--db /x list", "-C / list", "list --nope", "comment e.1 --file /etc/passwd",
		"create x --body-file /etc/passwd", "reopen e.1", "config set a b", "comment e.1",
	} {
		a := do(t, s, "", line+" --json")
		require.Equal(t, 1, a.Exit, line)
		var e struct {
			Error, Code string
			Hint        []string
		}
		require.NoError(t, json.Unmarshal([]byte(a.Stderr), &e), "%s: %s", line, a.Stderr)
		require.NotEmpty(t, e.Error+e.Code, line)
	}
	after, err := f.Export(t.Context())
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// TestWrites: comments, notes and what was found are written under the agent's name.
func TestWrites(t *testing.T) {
	t.Parallel()
	s, _ := session(t)
	require.Zero(t, do(t, s, "from a pipe", "comment e.1 --stdin").Exit)
	a := do(t, s, "", "comments e.1 --json")
	require.Contains(t, a.Stdout, "from a pipe")
	require.Contains(t, a.Stdout, "orch/e/1")
	require.Contains(t, do(t, s, "", "update e.1 --append-notes noted --json").Stdout, `"notes": "noted"`)
	id := strings.TrimSpace(do(t, s, "why", "create found --body-file - --deps discovered-from:e.1 --parent e --silent").Stdout)
	require.Contains(t, do(t, s, "", "show "+id+" --json").Stdout, "discovered-from")
	require.Contains(t, do(t, s, "", "children e --json").Stdout, id)
	require.Equal(t, 1, do(t, s, strings.Repeat("x", 65<<10), "comment e.1 --stdin").Exit)
}

// TestCreatesEach: each call makes an issue of its own, whatever titles are there, by the agent's name.
func TestCreatesEach(t *testing.T) {
	t.Parallel()
	s, f := session(t)
	ids := map[string]bool{"e.2": true}
	for _, why := range []string{"the first text", "the second text"} {
		for _, title := range []string{"two", "found"} { // another task has the one, and the other is the agent's own
			a := s.Do(t.Context(), []string{"create", title, "-d", why, "--json"}, nil)
			require.Zero(t, a.Exit, a.Stderr)
			var made struct {
				ID, Title, Description string
				By                     string `json:"created_by"`
			}
			require.NoError(t, json.Unmarshal([]byte(a.Stdout), &made))
			require.False(t, ids[made.ID], "%s is there already", made.ID)
			ids[made.ID] = true
			require.Equal(t, []string{title, why, s.Actor}, []string{made.Title, made.Description, made.By})
		}
	}
	issues, err := f.Survey(t.Context())
	require.NoError(t, err)
	require.Len(t, issues, 7)
}

// TestHelp: a flag asks for help and for the version as well as a verb does, and does nothing else.
func TestHelp(t *testing.T) {
	t.Parallel()
	s, f := session(t)
	for as, lines := range map[string][]string{
		"help":    {"--help", "-h", "create --help", "create found -h", "--help create found", "comment e.1 said --help", "search --help", "--json help"},
		"version": {"--version", "-V"},
	} {
		want := do(t, s, "", as)
		require.NotEmpty(t, want.Stdout)
		for _, line := range lines {
			require.Equal(t, want, do(t, s, "", line), line)
		}
	}
	issues, err := f.Survey(t.Context())
	require.NoError(t, err)
	require.Len(t, issues, 3)
}

// TestSearchesAndCounts: bd search and bd count print what bd does.
func TestSearchesAndCounts(t *testing.T) {
	t.Parallel()
	s, f := session(t)
	_, err := f.Create(t.Context(), tracker.Issue{ID: "e-9", Title: "an Urgent one", Description: "in hay", Type: "bug", Assignee: "bob", Labels: []string{"x", "y"}}, "")
	require.NoError(t, err)
	require.NoError(t, f.CloseIssue(t.Context(), "e.2", "", true))
	for line, want := range map[string]string{
		"search ONE":                          "Found 2 issues matching 'ONE':\ne-9 [P0] [bug] open @bob [x y] - an Urgent one\ne.1 [P0] [task] open - one\n",
		"search e.2":                          "No issues found matching 'e.2'\n",
		"search e.2 --status all":             "Found 1 issues matching 'e.2':\ne.2 [P0] [task] closed - two\n",
		"search one -t task":                  "Found 1 issues matching 'one':\ne.1 [P0] [task] open - one\n",
		"search one --desc-contains hay -n 1": "Found 1 issues matching 'one':\ne-9 [P0] [bug] open @bob [x y] - an Urgent one\n",
		"search hay --json":                   "[]\n",
		"count":                               "4\n",
		"count --status open --json":          "{\n  \"count\": 3,\n  \"schema_version\": 1\n}\n",
		"count --by-label":                    "Total: 4\n\n(no labels): 3\nx: 1\ny: 1\n",
		"count --by-status":                   "Total: 4\n\nclosed: 1\nopen: 3\n",
		"count --by-assignee --json -t bug":   "{\n  \"groups\": [\n    {\n      \"count\": 1,\n      \"group\": \"bob\"\n    }\n  ],\n  \"schema_version\": 1,\n  \"total\": 1\n}\n",
	} {
		a := do(t, s, "", line)
		require.Zero(t, a.Exit, "%s: %s", line, a.Stderr)
		require.Equal(t, want, a.Stdout, line)
	}
	require.Equal(t, 1, do(t, s, "", "search").Exit)
	require.Equal(t, 1, do(t, s, "", "count --by-type --by-label").Exit)
}

// FuzzDo: no command line changes an issue that is not the agent's, or closes one.
func FuzzDo(f *testing.F) {
	for _, line := range []string{"show e.1 --json", "close\ne.2", "update\ne.2\n--notes\nx", "create\nx\n--deps\nblocks:e.2", "comment\ne.1\n--stdin", "dep\ntree\ne.2", "--json\n--\nclose\ne.2"} {
		f.Add(line, "in")
	}
	f.Fuzz(func(t *testing.T, line, stdin string) {
		s, file := session(t)
		s.Do(t.Context(), strings.Split(line, "\n"), []byte(stdin))
		issues, err := file.Survey(t.Context())
		require.NoError(t, err)
		two, _ := tracker.NewIndex(issues).Issue("e.2")
		require.Equal(t, tracker.StatusOpen, two.Status)
		require.Empty(t, two.Notes)
		require.Len(t, two.Dependencies, 2)
		one, _ := tracker.NewIndex(issues).Issue("e.1")
		require.Equal(t, tracker.StatusOpen, one.Status)
	})
}
