package beads_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// scriptedBD is a bd that is a shell script: it knows its version, and does what
// the script says for anything else.
func scriptedBD(t *testing.T, timeout time.Duration, script string) (*beads.BD, error) {
	t.Helper()
	dir := t.TempDir()
	beadsDir := filepath.Join(dir, ".beads")
	require.NoError(t, os.MkdirAll(beadsDir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(beadsDir, "metadata.json"), []byte("{}"), 0o600))
	bd := filepath.Join(dir, "bd")
	text := "#!/bin/sh\nif [ \"$1\" = version ]; then " + versionAnswer(script) + "; fi\n" + script
	require.NoError(t, os.WriteFile(bd, []byte(text), 0o700))
	return beads.OpenBD(t.Context(), beads.BDOptions{Run: proc.New(proc.Options{Now: time.Now}).Run, Binary: bd, Dir: dir, BeadsDir: beadsDir,
		Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: timeout})
}

func versionAnswer(script string) string {
	if v, ok := strings.CutPrefix(script, "#version "); ok {
		v, _, _ = strings.Cut(v, "\n")
		return "echo '" + v + "'; exit"
	}
	return `echo '{"version": "1.0.5"}'; exit`
}

const oneIssue = `[{"id": "t-1", "title": "T", "status": "open", "priority": 1, "issue_type": "task"}]`

// TestSurveyOfAFaultyBD: whatever bd does, a reading is right or an error that
// says what came.
func TestSurveyOfAFaultyBD(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		check  func(*testing.T, []tracker.Issue, error)
	}{
		"warns before the JSON": {"echo 'Warning: old [schema]'; echo 'note: {'; echo '" + oneIssue + "'", func(t *testing.T, got []tracker.Issue, err error) {
			require.NoError(t, err)
			require.Len(t, got, 1)
		}},
		"speaks for people":        {"echo 'No issues found.'", wantParseError("No issues found.")},
		"says nothing":             {"", wantParseError("")},
		"is cut off":               {"echo '[{\"id\": \"t-1\", '", wantParseError("cut off")},
		"adds a word after":        {"echo '" + oneIssue + "'; echo 'Tip: upgrade'", wantParseError("Tip: upgrade")},
		"answers an error, exit 0": {`echo '{"error": "database is sad"}'`, wantParseError("database is sad")},
		"answers an error, exit 1": {`echo '{"error": "database is sad"}' >&2; exit 1`, wantCallError("database is sad")},
		"is killed":                {"echo '" + oneIssue + "'; kill -9 $$", wantCallError("SIGKILL")},
		"floods":                   {"yes '" + oneIssue + "' | head -c 100000000", wantCallError("too many")},
		"took another database": {"echo 'using default database name' >&2; echo '[]'", func(t *testing.T, _ []tracker.Issue, err error) {
			require.ErrorIs(t, err, beads.ErrWrongDatabase)
		}},
		"hangs": {"echo '{' >&2; echo '['; exec sleep 60", func(t *testing.T, _ []tracker.Issue, err error) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "bd list: it did not answer in time", "and not what it had printed so far")
		}},
		"hangs, and ignores SIGTERM": {"trap '' TERM; while :; do sleep 0.1; done", func(t *testing.T, _ []tracker.Issue, err error) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if strings.HasPrefix(name, "hangs") {
				timeout = time.Second
			}
			b, err := scriptedBD(t, timeout, tt.script)
			require.NoError(t, err)
			issues, err := b.Survey(t.Context())
			tt.check(t, issues, err)
		})
	}
}

func wantParseError(quote string) func(*testing.T, []tracker.Issue, error) {
	return func(t *testing.T, _ []tracker.Issue, err error) {
		var parse *beads.ParseError
		require.ErrorAs(t, err, &parse)
		require.Contains(t, err.Error(), quote)
	}
}

func wantCallError(said string) func(*testing.T, []tracker.Issue, error) {
	return func(t *testing.T, _ []tracker.Issue, err error) {
		var call *beads.CallError
		require.ErrorAs(t, err, &call)
		require.Contains(t, err.Error(), said)
		require.Less(t, len(err.Error()), 1000)
	}
}

// TestVersions: what is too old, or no bd at all, is refused with what it said.
func TestVersions(t *testing.T) {
	t.Parallel()
	for said, ok := range map[string]bool{
		`{"version": "1.0.5"}`:                true,
		`{"version": "1.0.0"}`:                true,
		`{"version": "v1.3.2-18-gabc"}`:       true,
		`{"version": "12.0.0+dirty"}`:         true,
		`{"version": "0.99.9"}`:               false,
		`{"version": "next"}`:                 false,
		`{"version": "1.0"}`:                  false,
		`bd version 0.20.1 (for people only)`: false,
		``:                                    false,
	} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			_, err := scriptedBD(t, time.Minute, "#version "+said)
			if ok {
				require.NoError(t, err)
				return
			}
			var version *beads.VersionError
			require.ErrorAs(t, err, &version)
			require.Contains(t, err.Error(), "1.0.0")
		})
	}
}

// fault is what happens to one call of bd.
type fault string

const (
	none       fault = ""
	didAndFail fault = "it did it, and exits 1"
	didAndDied fault = "it did it, and is killed before it answers"
	didNothing fault = "it did nothing, and exits 0"
	died       fault = "it is killed before it does anything"
	garbled    fault = "it did it, and answers garbage"
)

// faulty runs the calls that write under one fault after the other, the rest as they are.
type faulty struct {
	run  command.Runner
	mu   sync.Mutex
	todo []fault
}

func (f *faulty) Run(ctx context.Context, c command.Cmd) (command.Result, error) {
	what := none
	if !slices.Contains(c.Argv, "list") && !slices.Contains(c.Argv, "version") {
		f.mu.Lock()
		if len(f.todo) > 0 {
			what, f.todo = f.todo[0], f.todo[1:]
		}
		f.mu.Unlock()
	}
	killed := &command.ExitError{ExitCode: 137, Signal: "SIGKILL"}
	switch what {
	case didNothing:
		return command.Result{Stdout: []byte("[]")}, nil
	case died:
		return command.Result{ExitCode: 137}, killed
	}
	res, err := f.run(ctx, c)
	switch what {
	case didAndFail:
		return command.Result{Stderr: []byte("Error: the disk blinked"), ExitCode: 1}, &command.ExitError{ExitCode: 1}
	case didAndDied:
		return command.Result{ExitCode: 137}, killed
	case garbled:
		return command.Result{Stdout: []byte("\x00\xff done!")}, nil
	}
	return res, err
}

// standIn answers as bd does, from the embedded tracker; it stands in for bd
// where there is none, below the same faults.
type standIn struct{ *beads.File }

func (s standIn) Run(ctx context.Context, c command.Cmd) (command.Result, error) {
	args := c.Argv[1:]
	actor := ""
	if args[0] == "--actor" {
		actor, args = args[1], args[2:]
	}
	var changes []tracker.Change
	switch args[0] {
	case "version":
		return command.Result{Stdout: []byte(`{"version": "1.0.5"}`)}, nil
	case "batch":
		for line := range strings.Lines(string(c.Stdin)) {
			changes = append(changes, batchLine(line))
		}
	case "close":
		changes = []tracker.Change{{ID: args[1], Kind: tracker.Close}}
	case "create":
		_, err := s.Create(ctx, tracker.Issue{Title: args[1], Type: "bug", Labels: []string{args[slices.Index(args, "--labels")+1]}}, "")
		return s.answer(ctx, err)
	case "update":
		if n := slices.Index(args, "--append-notes"); n >= 0 && !slices.Contains(args, "--status") {
			_, err := s.Update(ctx, args[1], func(i *tracker.Issue) error { i.Notes += "\n" + args[n+1]; return nil })
			return s.answer(ctx, err)
		}
		changes = updates(args[1:])
	}
	_, err := s.Apply(ctx, actor, changes)
	if args[0] == "batch" && err == nil {
		return command.Result{Stdout: fmt.Appendf(nil, `{"operations": %d, "status": "ok"}`, len(changes))}, nil
	}
	return s.answer(ctx, err)
}

func (s standIn) answer(ctx context.Context, err error) (command.Result, error) {
	if err != nil {
		return command.Result{Stderr: []byte(err.Error()), ExitCode: 1}, &command.ExitError{ExitCode: 1}
	}
	issues, err := s.Survey(ctx)
	if err != nil {
		return command.Result{}, err
	}
	slices.Reverse(issues) // what was made last comes first
	out, err := json.Marshal(issues)
	return command.Result{Stdout: out}, err
}

func batchLine(line string) tracker.Change {
	f := strings.Fields(line)
	if f[0] == "close" {
		return tracker.Change{ID: f[1], Kind: tracker.Close, Reason: strings.Join(f[2:], " ")}
	}
	return tracker.Change{ID: f[1], Kind: tracker.SetStatus, Status: tracker.Status(strings.TrimPrefix(f[2], "status="))}
}

func updates(args []string) (changes []tracker.Change) {
	if n := slices.Index(args, "--claim"); n >= 0 {
		for _, id := range args[:n] {
			changes = append(changes, tracker.Change{ID: id, Kind: tracker.Claim})
		}
		return changes
	}
	c := tracker.Change{ID: args[0], Kind: tracker.SetStatus, Status: tracker.Status(args[slices.Index(args, "--status")+1])}
	if n := slices.Index(args, "--append-notes"); n >= 0 {
		c.Note = args[n+1]
	}
	return []tracker.Change{c}
}

// faultyPlaces are bd, where there is one, and its stand-in, below faults.
func faultyPlaces(t *testing.T, test func(t *testing.T, f *faulty, b *beads.BD, ids []string)) {
	t.Run("stand-in", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), ".beads")
		file, err := beads.OpenFile(beads.FileOptions{Dir: dir, Now: time.Now, Actor: "t"})
		require.NoError(t, err)
		ids := []string{}
		for n := range 3 {
			i, err := file.Create(t.Context(), tracker.Issue{Title: fmt.Sprint("task ", n), Type: tracker.TypeTask}, "")
			require.NoError(t, err)
			ids = append(ids, i.ID)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "metadata.json"), []byte("{}"), 0o600))
		f := &faulty{run: standIn{file}.Run}
		b, err := beads.OpenBD(t.Context(), beads.BDOptions{Run: f.Run, Binary: "bd", Dir: dir, BeadsDir: dir, Timeout: time.Minute})
		require.NoError(t, err)
		test(t, f, b, ids)
	})
	t.Run("bd", func(t *testing.T) {
		t.Parallel()
		f := &faulty{run: proc.New(proc.Options{Now: time.Now}).Run}
		b, run := newBDOver(t, f.Run)
		ids := []string{}
		for n := range 3 {
			ids = append(ids, run("", "create", fmt.Sprint("task ", n), "--silent", "-p", "2"))
		}
		test(t, f, b, ids)
	})
}

// TestWritesAreReadBack: under every fault, asking again until there is an
// answer leaves what was wanted, once, and never an answer that is not true.
func TestWritesAreReadBack(t *testing.T) {
	t.Parallel()
	faults := []fault{didAndFail, didAndDied, didNothing, died, garbled}
	faultyPlaces(t, func(t *testing.T, f *faulty, b *beads.BD, ids []string) {
		for _, what := range faults {
			for round, kind := range []tracker.ChangeKind{tracker.Claim, tracker.SetStatus, tracker.Close, tracker.Create} {
				f.todo = []fault{what}
				changes := wanted(kind, ids, fmt.Sprint(what, round))
				require.NoError(t, askUntilAnswered(t, b, changes), "%s: %s", what, kind)
				issues, err := b.Survey(t.Context())
				require.NoError(t, err)
				for _, c := range changes {
					require.Equal(t, 1, showing(issues, c), "%s: %s %s", what, kind, c.ID)
				}
				f.todo = nil
				require.NoError(t, askUntilAnswered(t, b, opened(ids)))
			}
		}
	})
}

// askUntilAnswered asks as a run does: again, for the same, while nothing is known.
func askUntilAnswered(t *testing.T, b *beads.BD, changes []tracker.Change) error {
	var err error
	for range 3 {
		var outcomes []tracker.Outcome
		if outcomes, err = b.Apply(t.Context(), "orch/e/1", changes); err == nil {
			for _, o := range outcomes {
				err = errors.Join(err, o.Err)
			}
			return err
		}
	}
	return err
}

func wanted(kind tracker.ChangeKind, ids []string, title string) (changes []tracker.Change) {
	if kind == tracker.Create {
		return []tracker.Change{{Kind: kind, Issue: &tracker.Issue{Title: title, Type: "bug", Labels: []string{"orch-meta"}}}}
	}
	for n, id := range ids {
		c := tracker.Change{ID: id, Kind: kind}
		if kind == tracker.SetStatus {
			c.Status = tracker.StatusBlocked
			c.Note = strings.Repeat("why ", n)
		}
		changes = append(changes, c)
	}
	return changes
}

func opened(ids []string) (changes []tracker.Change) {
	for _, id := range ids {
		changes = append(changes, tracker.Change{ID: id, Kind: tracker.SetStatus, Status: tracker.StatusOpen})
	}
	return changes
}

// showing counts the issues that show the change.
func showing(issues []tracker.Issue, c tracker.Change) (n int) {
	for _, i := range issues {
		switch {
		case c.Kind == tracker.Create:
			if i.Title == c.Issue.Title {
				n++
			}
		case i.ID != c.ID:
		case c.Kind == tracker.Claim && i.Status == tracker.StatusInProgress && i.Assignee == "orch/e/1",
			c.Kind == tracker.SetStatus && i.Status == c.Status && strings.Contains(i.Notes, strings.TrimSpace(c.Note)),
			c.Kind == tracker.Close && i.Status == tracker.StatusClosed:
			n++
		}
	}
	return n
}

// TestClosedBy: who closed an issue is known where the tracker tells.
func TestClosedBy(t *testing.T) {
	t.Parallel()
	b, run := newBD(t)
	a, c := run("", "create", "a", "--silent"), run("", "create", "c", "--silent")
	run("", "--actor", "orch/e/1", "close", a)
	run("close "+c, "batch")
	require.Equal(t, "orch/e/1", issueOf(t, b, a).ClosedBy)
	require.Empty(t, issueOf(t, b, c).ClosedBy)
	run("", "reopen", a)
	require.Empty(t, issueOf(t, b, a).ClosedBy)
}

func FuzzParse(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add([]byte(r.Stdout))
	}
	f.Add([]byte("Warning\n{\"schema_version\": 1, \"data\": [{\"id\": \"a\", \"title\": \"b\"}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		issues, err := beads.Parse(t.Context(), data)
		if err != nil {
			var parse *beads.ParseError
			require.ErrorAs(t, err, &parse)
			return
		}
		for _, i := range issues {
			require.NotEmpty(t, i.ID)
		}
		x := tracker.NewIndex(issues)
		for _, i := range issues {
			x.Blockers(i.ID)
			x.Descendants(i.ID)
		}
	})
}

func FuzzParseJSONL(f *testing.F) {
	f.Add([]byte(`{"id": "a", "title": "b", "unknown": {"x": [1]}}` + "\n" + `{"_type": "memory", "key": "k"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		issues, err := beads.ParseJSONL(data)
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, i := range issues {
			line, err := json.Marshal(i)
			require.NoError(t, err)
			again.Write(append(line, '\n'))
		}
		same, err := beads.ParseJSONL(again.Bytes())
		require.NoError(t, err, "what was read can be written and read: %s", again.Bytes())
		require.Len(t, same, len(issues))
	})
}
