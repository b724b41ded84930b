package hooks_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/hooks"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

// sessions is a repository with an epic, in which many sessions come and go.
type sessions struct {
	t       *testing.T
	dir     string
	tracker *beads.File
	now     time.Time
}

func newSessions(t *testing.T) *sessions {
	t.Helper()
	s := &sessions{t: t, dir: t.TempDir(), now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	git := exec.CommandContext(t.Context(), "git", "init", "-q", s.dir)
	git.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	require.NoError(t, git.Run())
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, ".git", "orch", "sessions"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "project.yaml"), []byte("workflow:\n  tracker: {kind: file}\n"), 0o600))
	var err error
	s.tracker, err = beads.OpenFile(beads.FileOptions{Dir: filepath.Join(s.dir, ".beads"), Now: s.clock, Actor: "t"})
	require.NoError(t, err)
	for _, i := range []tracker.Issue{{ID: "e", Title: "E", Type: tracker.TypeEpic}, {ID: "e.1", Title: "one", Type: "task"}} {
		parent := ""
		if i.ID != "e" {
			parent = "e"
		}
		_, err := s.tracker.Create(t.Context(), i, parent)
		require.NoError(t, err)
	}
	return s
}

func (s *sessions) clock() time.Time { s.now = s.now.Add(time.Second); return s.now }

// app is orch in the repository, with an input.
func (s *sessions) app(stdin io.Reader, out, errs io.Writer) *cli.Invocation {
	return &cli.Invocation{Process: cli.Process{Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: s.dir, Stdin: stdin, Stdout: out, Stderr: errs, Now: s.clock}}
}

// call runs a command with an input, and gives what it printed.
func (s *sessions) call(stdin io.Reader, args ...string) (string, string, int) {
	var out, errs bytes.Buffer
	a := s.app(stdin, &out, &errs)
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(hooks.StopHook(a, nobody), hooks.Session(a))
	root.SetArgs(args)
	code := cli.ExitDone
	if err := root.ExecuteContext(s.t.Context()); err != nil {
		code = explain.Report(a, err)
	}
	return out.String(), errs.String(), code
}

// stops lets a session stop, and reports whether it was sent back.
func (s *sessions) stops(id string) bool {
	s.t.Helper()
	return strings.HasPrefix(s.answer(id), `{"decision":"block"`)
}

// answer lets a session stop, and is what the client is told: "" for nothing.
func (s *sessions) answer(id string) string {
	s.t.Helper()
	var out bytes.Buffer
	in := strings.NewReader(fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"Stop"}`, id, s.dir))
	hook := hooks.StopHook(s.app(in, &out, io.Discard), nobody)
	hook.SetArgs([]string{})
	require.NoError(s.t, hook.ExecuteContext(s.t.Context()))
	if out.Len() > 0 {
		require.Regexp(s.t, `\A\{"(decision":"block","reason|systemMessage)":".*\n\z`, out.String())
	}
	return out.String()
}

// TestUnboundSessionsAreNeverBlocked, whatever the bound ones do around them, and these
// are sent back a bounded number of times without progress.
func TestUnboundSessionsAreNeverBlocked(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	events := 20_000
	switch {
	case testing.Short(), os.Getenv("ORCH_TEST_STRICT") == "":
		events = 5_000
	case os.Getenv("ORCH_TEST_LONG") != "":
		events = 100_000
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	bound, still := map[string]bool{}, map[string]int{}
	blocked := 0
	for n := range events {
		id := fmt.Sprintf("s-%d", rnd.IntN(40))
		switch what := rnd.IntN(1000); {
		case what < 2:
			_, errs, code := s.call(nil, "session", "bind", "e", "--session", id)
			require.Zero(t, code, errs)
			bound[id], still[id] = true, 0
		case what < 4 && bound[id]:
			_, errs, code := s.call(nil, "session", "release", "--session", id)
			require.Zero(t, code, errs)
			bound[id] = false
		case what < 5 && n%20 == 0:
			_, err := s.tracker.Create(t.Context(), tracker.Issue{Title: fmt.Sprint("more ", n), Type: "task"}, "e")
			require.NoError(t, err)
			still = map[string]int{}
		case what < 960 && bound[id]: // most stops are of unbound sessions
		default:
			answer := s.answer(id)
			require.True(t, bound[id] || answer == "", "event %d: %s is unbound, and is told %s", n, id, answer)
			if !strings.HasPrefix(answer, `{"decision":"block"`) {
				continue
			}
			blocked++
			still[id]++
			require.LessOrEqual(t, still[id], 3, "event %d: %s", n, id)
		}
	}
	require.Positive(t, blocked)
}

// TestHookNeverHangs on a client that says nothing, or never ends.
func TestHookNeverHangs(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	silent, _ := io.Pipe()
	began := time.Now()
	out, errs, code := s.call(silent, "stop-hook")
	require.Zero(t, code)
	require.Empty(t, out)
	require.Contains(t, errs, "the session may end")
	require.Less(t, time.Since(began), 2*stophook.Timeout)

	long := io.MultiReader(strings.NewReader(`{"session_id":"s","last_assistant_message":"`), strings.NewReader(strings.Repeat("x", 40<<20)))
	out, errs, code = s.call(long, "stop-hook")
	require.Zero(t, code)
	require.Empty(t, out)
	require.Contains(t, errs, "may end")
}

// TestHookOfDamagedTracker: no snapshot stands in for a damaged file, and it holds a session twice at most.
func TestHookOfDamagedTracker(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	_, errs, code := s.call(nil, "session", "bind", "e", "--session", "s")
	require.Zero(t, code, errs)
	snapshot := filepath.Join(s.dir, ".git", "orch", "tracker.json")
	_, _, code = s.call(strings.NewReader(`{"session_id":"s"}`), "stop-hook", "--explain")
	require.Zero(t, code)
	require.NoFileExists(t, snapshot, "to explain changes nothing")
	require.True(t, s.stops("s"))
	require.FileExists(t, snapshot)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, ".beads", "issues.jsonl"), []byte("{{{"), 0o600))
	out, _, _ := s.call(strings.NewReader(`{"session_id":"s"}`), "stop-hook", "--explain")
	require.Contains(t, out, "[UNKNOWN]", "a damaged file is an answer: no snapshot stands in for it")
	s.now = s.now.Add(time.Hour)
	blocked := 0
	for range 5 {
		if s.stops("s") {
			blocked++
		}
	}
	require.Equal(t, 2, blocked, "sent to look for itself, twice")
}

// TestDamagedBindingHoldsNobody: what cannot be read is left as it is.
func TestDamagedBindingHoldsNobody(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	path := session.File(filepath.Join(s.dir, ".git"), "s")
	for _, text := range []string{"", "{", "[]", `{"session":"another","epic":"e"}`, `{"session":"s","epic":5}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.False(t, s.stops("s"), text)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	require.NoError(t, session.Save(path, session.Session{ID: "s", Epic: "e"}))
	require.True(t, s.stops("s"))
}

// TestGitDirs finds the main repository from a linked worktree, without git.
func TestGitDirs(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	main, linked := filepath.Join(dir, "main"), filepath.Join(dir, "linked")
	admin := filepath.Join(main, ".git", "worktrees", "linked")
	require.NoError(t, os.MkdirAll(filepath.Join(linked, "sub"), 0o700))
	require.NoError(t, os.MkdirAll(admin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(linked, ".git"), []byte("gitdir: "+admin+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(admin, "commondir"), []byte("../..\n"), 0o600))
	for _, from := range []string{main, linked, filepath.Join(linked, "sub")} {
		root, common := session.Repository(from)
		require.Equal(t, main, root, from)
		require.Equal(t, filepath.Join(main, ".git"), common)
	}
	root, common := session.Repository(dir)
	require.Empty(t, root+common)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("rubbish"), 0o600))
	root, common = session.Repository(dir)
	require.Empty(t, root+common)
}

// nobody is where no attempt is.
func nobody(context.Context, string) bool { return false }
