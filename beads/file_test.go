package beads_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// newFile opens an embedded tracker whose file holds these lines.
func newFile(t testing.TB, lines ...string) (f *beads.File, path string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".beads")
	path = filepath.Join(dir, "issues.jsonl")
	if len(lines) > 0 {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	f, err := beads.OpenFile(beads.FileOptions{Dir: dir, Now: time.Now, Actor: "ann"})
	require.NoError(t, err)
	return f, path
}

func linesOf(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// TestFileKeepsWhatItDoesNotKnow: fields, records of other kinds, and lines that
// are not changed stay byte for byte.
func TestFileKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"_type":"issue","id":"a-1","title":"one","status":"open","priority":2,"issue_type":"task","future":{"x":[1,2.50,"é"]},"created_at":"2026-01-02T03:04:05.123456789Z"}`,
		`{"_type":"memory","key":"k","value":"  spaced  "}`,
		`{"id":"a-2","status":"tombstone","title":"gone","deleted_by":"bob"}`,
		`{"id":"a-3","title":"three","status":"open","priority":0,"issue_type":"bug","dependencies":[{"issue_id":"a-3","depends_on_id":"a-1","type":"discovered-from","thread_id":"t"}]}`,
	}
	f, path := newFile(t, lines...)
	_, err := f.Apply(t.Context(), "bob", []tracker.Change{{ID: "a-3", Kind: tracker.Claim}})
	require.NoError(t, err)
	got := linesOf(t, path)
	require.Len(t, got, 4)
	require.Equal(t, lines[:3], got[:3])
	require.Contains(t, got[3], `"thread_id":"t"`)
	require.Contains(t, got[3], `"assignee":"bob"`)
	require.Contains(t, got[3], `"status":"in_progress"`)
}

// TestFileThatIsNone: a named pipe in the tracker's place is an error, and never waited for.
func TestFileThatIsNone(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	dir := filepath.Join(repo, ".beads")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "issues.jsonl"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "redirect"), 0o600))
	found, hasBD, hasFile := beads.Find(repo)
	require.Equal(t, dir, found)
	require.False(t, hasBD || hasFile)
	f, err := beads.OpenFile(beads.FileOptions{Dir: dir, Now: time.Now, Actor: "ann"})
	if err == nil {
		_, err = f.Survey(t.Context())
	}
	require.ErrorContains(t, err, "issues.jsonl: it is a pipe")
}

// TestFileThatDoesNotParse is refused with the line, and never replaced.
func TestFileThatDoesNotParse(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"cut off": `{"id":"a-2","tit`, "no object": `["a"]`, "no id": `{"title":"x","status":"open"}`, "a wrong type": `{"id":"a-2","title":"x","status":"open","priority":"high"}`,
		"zero bytes": "\x00\x00\x00", "zero bytes in a line": "{\"id\":\"a-2\",\"title\":\"\x00\"}", "a merge": "<<<<<<< HEAD", "the middle of a merge": "=======",
		"an id twice": `{"id":"a-1","title":"another","status":"closed"}`, "no UTF-8": "{\"id\":\"a-2\",\"title\":\"\xff\",\"status\":\"open\"}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "issues.jsonl")
			text := `{"id":"a-1","title":"one","status":"open","issue_type":"task"}` + "\n" + bad + "\n"
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err := beads.OpenFile(beads.FileOptions{Dir: dir, Now: time.Now})
			var damaged *beads.DamagedError
			require.ErrorAs(t, err, &damaged)
			require.Equal(t, 2, damaged.Line)
			require.Contains(t, err.Error(), path+", line 2: ")
			require.NotContains(t, err.Error(), "struct")
			_, quick := beads.SurveyFile(t.Context(), dir)
			require.Equal(t, err.Error(), quick.Error())
			is, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, text, string(is))
		})
	}
	f, path := newFile(t, `{"id":"a-1","title":"one","status":"open","issue_type":"task"}`)
	require.NoError(t, os.WriteFile(path, []byte("{{{\n"), 0o600))
	_, err := f.Create(t.Context(), tracker.Issue{Title: "x", Type: "task"}, "")
	require.Error(t, err)
	require.Equal(t, []string{"{{{"}, linesOf(t, path), "what does not parse is left as it is")
}

// TestFileWritersTakeTurns: many at once, over handles of their own, lose nothing
// and leave nothing beside the file.
func TestFileWritersTakeTurns(t *testing.T) {
	t.Parallel()
	_, path := newFile(t)
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f, err := beads.OpenFile(beads.FileOptions{Dir: filepath.Dir(path), Now: time.Now})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range each {
				if _, err := f.Create(t.Context(), tracker.Issue{Title: fmt.Sprint(w, "-", n), Type: "task"}, ""); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	ids := map[string]bool{}
	for _, line := range linesOf(t, path) {
		var i tracker.Issue
		require.NoError(t, json.Unmarshal([]byte(line), &i))
		require.False(t, ids[i.ID], "id %s twice", i.ID)
		ids[i.ID] = true
	}
	require.Len(t, ids, writers*each)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// TestFileSeesOthersWrites at once: what is cached is only for a file that has
// not changed.
func TestFileSeesOthersWrites(t *testing.T) {
	t.Parallel()
	a, path := newFile(t, `{"id":"a-1","title":"one","status":"open","issue_type":"task"}`)
	b, err := beads.OpenFile(beads.FileOptions{Dir: filepath.Dir(path), Now: time.Now})
	require.NoError(t, err)
	for n := range 50 {
		made, err := b.Create(t.Context(), tracker.Issue{Title: fmt.Sprint(n), Type: "task"}, "")
		require.NoError(t, err)
		issues, err := a.Survey(t.Context())
		require.NoError(t, err)
		require.Len(t, issues, n+2)
		require.Equal(t, made.ID, issues[n+1].ID)
	}
	issues, err := a.Survey(t.Context())
	require.NoError(t, err)
	issues[0].Title = "changed by the caller"
	again, err := a.Survey(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", again[0].Title, "the cache is not the caller's")
}

// TestFileRules: what bd refuses is refused.
func TestFileRules(t *testing.T) {
	t.Parallel()
	f, path := newFile(t)
	ctx := t.Context()
	make := func(title, kind, parent string) string {
		i, err := f.Create(ctx, tracker.Issue{Title: title, Type: kind}, parent)
		require.NoError(t, err)
		return i.ID
	}
	epic := make("epic", tracker.TypeEpic, "")
	a, b := make("a", "task", epic), make("b", "task", epic)
	require.Equal(t, epic+".1", a)
	require.NoError(t, f.AddDependency(ctx, b, a, tracker.DepBlocks))
	before := linesOf(t, path)
	for name, err := range map[string]error{
		"itself":              f.AddDependency(ctx, a, a, tracker.DepBlocks),
		"a circle":            f.AddDependency(ctx, a, b, tracker.DepBlocks),
		"a circle of parents": f.AddDependency(ctx, epic, b, tracker.DepParent),
		"an epic for a task":  f.AddDependency(ctx, a, epic, tracker.DepBlocks),
		"closing what waits":  f.CloseIssue(ctx, b, "", false),
		"closing a full epic": f.CloseIssue(ctx, epic, "", false),
	} {
		require.ErrorIs(t, err, tracker.ErrRefused, name)
	}
	for name, err := range map[string]error{
		"from nowhere": f.AddDependency(ctx, "no", a, tracker.DepBlocks),
		"to nowhere":   f.AddDependency(ctx, a, "no", tracker.DepBlocks),
		"no edge":      f.RemoveDependency(ctx, a, b),
		"no issue":     f.CloseIssue(ctx, "no", "", true),
	} {
		require.ErrorIs(t, err, tracker.ErrNotFound, name)
	}
	require.Equal(t, before, linesOf(t, path), "nothing was written")
	require.NoError(t, f.CloseIssue(ctx, a, "done", false))
	require.NoError(t, f.CloseIssue(ctx, b, "done", false))
	require.NoError(t, f.CloseIssue(ctx, epic, "done", false))
	require.Equal(t, "ann", issueOf(t, f, a).ClosedBy)
}

// TestFileRoundTrip: what is exported can be imported elsewhere and is the same.
func TestFileRoundTrip(t *testing.T) {
	t.Parallel()
	f, _ := newFile(t, `{"id":"a-1","title":"one","status":"open","issue_type":"task","priority":3,"labels":["x"],"future":1}`, `{"_type":"memory","key":"k"}`)
	out, err := f.Export(t.Context())
	require.NoError(t, err)
	g, _ := newFile(t)
	issues, err := beads.ParseJSONL(out)
	require.NoError(t, err)
	created, updated, err := g.Import(t.Context(), issues)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{created, updated})
	_, updated, err = g.Import(t.Context(), issues)
	require.NoError(t, err)
	require.Equal(t, 1, updated, "again replaces")
	require.Equal(t, issueOf(t, f, "a-1").Labels, issueOf(t, g, "a-1").Labels)
	_, _, err = g.Import(t.Context(), []tracker.Issue{{ID: "a-2", Title: "two", Status: "open"}, {ID: "a-3"}})
	require.ErrorIs(t, err, tracker.ErrRefused)
	again, err := g.Survey(t.Context())
	require.NoError(t, err)
	require.Len(t, again, 1, "all or nothing")
}

func BenchmarkFileSurvey(b *testing.B) {
	var lines []string
	for n := range 1000 {
		lines = append(lines, fmt.Sprintf(`{"id":"a-%d","title":"task %d","status":"open","issue_type":"task","priority":2,"description":%q}`, n, n, strings.Repeat("words ", 50)))
	}
	f, _ := newFile(b, lines...)
	for b.Loop() {
		if _, err := f.Survey(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReady(b *testing.B) {
	var issues []tracker.Issue
	for n := range 1000 {
		i := tracker.Issue{ID: fmt.Sprint("a-", n), Title: "t", Status: tracker.StatusOpen, Type: "task"}
		if n > 10 {
			i.Dependencies = []tracker.Dependency{{IssueID: i.ID, DependsOnID: fmt.Sprint("a-", n-10), Type: tracker.DepBlocks}}
		}
		issues = append(issues, i)
	}
	for b.Loop() {
		tracker.NewIndex(issues)
	}
}
