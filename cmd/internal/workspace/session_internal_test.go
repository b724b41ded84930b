package workspace

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	w := &Workspace{&project.Project{Invocation: &cli.Invocation{Process: cli.Process{Now: func() time.Time { return now }}}, Root: filepath.Dir(common), Home: filepath.Join(common, "orch")}}
	client := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, client.Start())
	task := &epic.Task{Node: epic.Node{ID: "e.1"}}
	h := withProcess(epic.SessionHolder{Session: "s"}, client.Process.Pid)
	require.NotZero(t, h.PID)
	a := epic.Attempt{Number: 1, Started: now, InSession: true, Holder: h}
	gone := w.SessionGone("e")
	require.Empty(t, gone(task, a))

	path := session.File(common, "s")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, session.Save(path, session.Session{ID: "s", Ended: true}))
	require.Contains(t, gone(task, a), "its client has ended it")
	require.NoError(t, session.Save(path, session.Session{ID: "s"}))
	require.Empty(t, gone(task, a))

	now = now.Add(SessionTimeout + time.Minute)
	require.Contains(t, gone(task, a), "no sign for 1h")
	dir := worktree.NamesOf(w.Project.Worktrees(), "e", "e.1", 1).Dir
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

// TestOutliving: who calls orch, by the processes above it: each row is the command and what is above
// it, the nearest first, as PID, process session and command line.
func TestOutliving(t *testing.T) {
	t.Parallel()
	p := func(pid, session int, args ...string) proc.Ancestor {
		return proc.Ancestor{PID: pid, Session: session, Args: args}
	}
	client, initial := p(50, 50, "node", "client.js"), p(1, 1, "/sbin/init")
	for name, row := range map[string]struct {
		want   int
		served bool
		line   []proc.Ancestor
	}{
		"a client's shell in its session":             {want: 50, line: []proc.Ancestor{p(90, 50, "orch"), p(80, 50, "bash", "-c", "orch next"), client, initial}},
		"a client's shell in a session of its own":    {want: 50, line: []proc.Ancestor{p(90, 80, "orch"), p(80, 80, "/bin/bash", "-lc", "orch next"), client, initial}},
		"the same, with options":                      {want: 50, line: []proc.Ancestor{p(90, 80, "orch"), p(80, 80, "bash", "-eo", "pipefail", "-c", "orch next"), client, initial}},
		"the same, that has become orch":              {want: 50, line: []proc.Ancestor{p(90, 90, "orch"), client, initial}},
		"the same, with make between":                 {want: 50, line: []proc.Ancestor{p(90, 80, "orch"), p(85, 80, "make"), p(80, 80, "bash", "-c", "make next"), client, initial}},
		"the same, a script between":                  {want: 50, line: []proc.Ancestor{p(90, 80, "orch"), p(85, 80, "sh", "next.sh"), p(80, 80, "bash", "-c", "./next.sh"), client, initial}},
		"commands as a file that is open":             {want: 50, line: []proc.Ancestor{p(90, 80, "orch"), p(80, 80, "bash", "/dev/fd/3"), client, initial}},
		"a shell that a client keeps":                 {want: 80, line: []proc.Ancestor{p(90, 80, "orch"), p(80, 80, "bash"), client, initial}},
		"setsid from a login shell":                   {want: 40, line: []proc.Ancestor{p(90, 90, "orch"), p(80, 40, "setsid", "-w", "orch", "next"), p(40, 40, "-bash"), p(30, 30, "sshd: u"), initial}},
		"setsid from a shell for one command":         {want: 50, line: []proc.Ancestor{p(90, 90, "orch"), p(80, 50, "bash", "-c", "setsid -w orch next; true"), client, initial}},
		"a script of cron":                            {want: 70, line: []proc.Ancestor{p(90, 70, "orch"), p(70, 70, "/bin/sh", "/etc/nightly"), p(60, 20, "CRON"), p(20, 20, "cron"), initial}},
		"a line of cron":                              {want: 60, line: []proc.Ancestor{p(90, 70, "orch"), p(70, 70, "/bin/sh", "-c", "cd x && orch next"), p(60, 20, "CRON"), p(20, 20, "cron"), initial}},
		"a service that is a script":                  {want: 70, line: []proc.Ancestor{p(90, 70, "orch"), p(70, 70, "bash", "-e", "drive.sh"), initial}},
		"a service that is one command":               {want: 0, line: []proc.Ancestor{p(90, 70, "orch"), p(70, 70, "sh", "-c", "orch next"), initial}},
		"a command over ssh":                          {want: 20, line: []proc.Ancestor{p(90, 90, "orch"), p(40, 40, "sshd: u@notty"), p(30, 30, "sshd-session: u [priv]"), p(20, 20, "launcher"), initial}},
		"a container whose sessions began outside":    {want: 50, line: []proc.Ancestor{p(90, 0, "orch"), p(80, 0, "sh", "-c", "orch next"), p(50, 0, "client"), p(1, 0, "tini", "client")}},
		"the same, commands in sessions of their own": {want: 50, line: []proc.Ancestor{p(90, 80, "orch"), p(80, 80, "sh", "-c", "orch next"), p(50, 0, "client"), p(1, 0, "tini", "client")}},
		"a container that is the client":              {want: 1, line: []proc.Ancestor{p(90, 1, "orch"), p(80, 1, "sh", "-c", "orch next"), p(1, 1, "client")}},
		"a container that is one command":             {want: 1, line: []proc.Ancestor{p(90, 1, "orch"), p(1, 1, "sh", "-c", "orch next; orch land e.1")}},
		"a command sent into a container":             {want: 0, line: []proc.Ancestor{p(90, 90, "orch")}},
		"a server":                                    {want: 50, served: true, line: []proc.Ancestor{p(90, 50, "orch", "mcp"), client, p(40, 40, "-bash"), initial}},
		"a server in a session of its own":            {want: 50, served: true, line: []proc.Ancestor{p(90, 80, "orch", "mcp"), p(80, 80, "sh", "-c", "orch mcp"), client, initial}},
		"a server of a client on a terminal":          {want: 60, served: true, line: []proc.Ancestor{p(90, 40, "orch", "mcp"), p(60, 40, "client"), p(40, 40, "-bash"), initial}},
	} {
		require.Equal(t, row.want, outliving(row.line, row.served), name)
	}
	require.Zero(t, outliving(nil, false))
}

// TestSessionIDAsJSON: an id that is no UTF-8 is the same in a variable as in what a hook is told.
func TestSessionIDAsJSON(t *testing.T) {
	t.Parallel()
	const id = "\xff\xfe a"
	b, err := json.Marshal(id)
	require.NoError(t, err)
	var told string
	require.NoError(t, json.Unmarshal(b, &told))
	require.Equal(t, told, SessionID(&cli.Invocation{Process: cli.Process{Env: []string{"CLAUDE_SESSION_ID=" + id}}}))
}

// TestHolderBelow: of the processes that a client may be, the nearest that is there counts.
func TestHolderBelow(t *testing.T) {
	t.Parallel()
	line := []proc.Ancestor{{PID: 90, Args: []string{"orch", "next"}}, {PID: 80, Args: []string{"sh", "-c", "orch next"}}, {PID: 50, Args: []string{"sh", "client.sh"}}, {PID: 40, Args: []string{"bash", "-c", "sh client.sh & wait"}}, {PID: 30, Args: []string{"launcher"}}}
	require.Equal(t, []int{50}, between(line, 30), "but for shells that are there for one command")
	require.Empty(t, between(line, 50))
	require.Empty(t, between(line, 7), "of another line")

	client := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, client.Start())
	h := withProcess(epic.SessionHolder{}, os.Getpid())
	h.Below = epic.Below(processes([]int{client.Process.Pid}))
	require.Len(t, h.Candidates(), 2)
	p, ok := nearest(h)
	require.True(t, ok)
	require.Equal(t, client.Process.Pid, p.PID)
	require.NoError(t, client.Process.Kill())
	_ = client.Wait() // killed
	p, ok = nearest(h)
	require.True(t, ok)
	require.Equal(t, os.Getpid(), p.PID, "what has started it, when it has ended")
	_, ok = nearest(epic.SessionHolder{Name: "commands without a session"})
	require.False(t, ok)
}

// FuzzHolderBelow: what a journal says of processes is read, whatever it is.
func FuzzHolderBelow(f *testing.F) {
	f.Add("7.9 8.10")
	f.Add(". 1. .1 -1.-1 9999999999999999999999.1")
	f.Fuzz(func(t *testing.T, below string) {
		for _, p := range (epic.SessionHolder{Below: below}).Candidates() {
			again := epic.SessionHolder{Below: epic.Below([]epic.Process{p})}
			require.Equal(t, []epic.Process{p}, again.Candidates())
		}
	})
}

// TestIsClient: by its own name, or that of the program which an interpreter runs.
func TestIsClient(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"claude": true, "/usr/bin/claude -p x": true, "-codex": true, "node /usr/lib/gemini.js": true, "node /usr/bin/gemini --yolo": true, "sh /opt/claude": true, "/bin/bash": false,
		"": false, "vim claude": false, "bash -c claude": false, "sh helper": false, "python3 claude.py": false,
	} {
		require.Equal(t, want, isClient(strings.Fields(line)), line)
	}
}
