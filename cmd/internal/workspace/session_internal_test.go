package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/worktree"
)

// TestSessionGone: by its process, by its client's word, or after an hour without a sign.
func TestSessionGone(t *testing.T) {
	t.Parallel()
	common := filepath.Join(t.TempDir(), "r", ".git")
	now := time.Now()
	w := &Workspace{&project.Project{App: &cli.App{Process: cli.Process{Now: func() time.Time { return now }}}, Root: filepath.Dir(common), Home: filepath.Join(common, "orch")}}
	client := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, client.Start())
	task := &epic.Task{Node: epic.Node{ID: "e.1"}}
	h := withProcess(epic.SessionHolder{Session: "s"}, client.Process.Pid)
	require.NotZero(t, h.PID)
	a := epic.Attempt{Number: 1, Started: now, InSession: true, Holder: h}
	gone := w.sessionGone("e")
	require.Empty(t, gone(task, a))

	path := session.File(common, "s")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, session.Save(path, session.Session{ID: "s", Ended: true}))
	require.Contains(t, gone(task, a), "its client has ended it")
	require.NoError(t, session.Save(path, session.Session{ID: "s"}))
	require.Empty(t, gone(task, a))

	now = now.Add(SessionIdle + time.Minute)
	require.Contains(t, gone(task, a), "no sign for 1h")
	dir := worktree.NamesOf(w.Worktrees(), "e", "e.1", 1).Dir
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Chtimes(dir, now, now))
	require.Empty(t, gone(task, a), "a file has changed")

	require.NoError(t, client.Process.Kill())
	_ = client.Wait() // killed
	require.Contains(t, gone(task, a), "has ended")
	a.Holder.Here = "another machine"
	require.Empty(t, gone(task, a), "a process of another machine tells nothing here")
	require.Empty(t, gone(task, epic.Attempt{Number: 1, Started: now, InSession: true, Holder: withProcess(epic.SessionHolder{}, os.Getpid())}))
	require.NotZero(t, proc.Born(os.Getpid()))
}
