package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/worktree"
)

// SessionIdle is how long a session may give no sign before it counts as gone: no commit and no
// changed file in its worktree, no checkpoint, no stop of its client.
const SessionIdle = time.Hour

// SessionVariables are what clients tell the id of a session in.
func SessionVariables() []string {
	return []string{"CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID", "CODEX_SESSION_ID", "COPILOT_AGENT_SESSION_ID", "GEMINI_SESSION_ID"}
}

// SessionID is the client's id of the session that a command is called from; "" when it is from
// none, or the client does not tell.
func SessionID(a *cli.App) string {
	for _, name := range SessionVariables() {
		if id := a.Getenv(name); id != "" {
			return id
		}
	}
	return ""
}

// Caller is the session that a command is called from: a client's, else that of a terminal.
func Caller(a *cli.App) epic.SessionHolder {
	if id := SessionID(a); id != "" {
		h := epic.SessionHolder{Session: id}
		return withProcess(h, clientProcess(id))
	}
	if pid, ok := proc.Terminal(); ok {
		return withProcess(epic.SessionHolder{Name: fmt.Sprintf("the terminal of process %d", pid)}, pid)
	}
	pid, err := unix.Getsid(0)
	if err != nil {
		return epic.SessionHolder{}
	}
	if above := proc.Ancestors(); pid == 0 && len(above) > 0 {
		// The session began outside of this process namespace, as in a container: what all of its
		// processes here have in common is the outermost that can be seen, but for the first.
		outermost := above[len(above)-1]
		if outermost == 1 && len(above) > 1 {
			outermost = above[len(above)-2]
		}
		return epic.SessionHolder{Name: fmt.Sprintf("the processes below process %d on %s", outermost, Hostname())}
	}
	return epic.SessionHolder{Name: fmt.Sprintf("the processes of session %d on %s", pid, Hostname())}
}

// clientProcess is the client that a session's commands come from: the nearest process above that
// was not told the session's id, since it is the one that tells. 0 when it is not known.
func clientProcess(id string) int {
	for _, pid := range proc.Ancestors() {
		told := slices.ContainsFunc(proc.Environment(pid), func(entry string) bool {
			name, value, _ := strings.Cut(entry, "=")
			return value == id && slices.Contains(SessionVariables(), name)
		})
		if !told {
			return pid
		}
	}
	return 0
}

// withProcess has a session end with a process, where it can be told from others.
func withProcess(h epic.SessionHolder, pid int) epic.SessionHolder {
	if born := proc.Born(pid); pid > 1 && born != 0 {
		h.PID, h.Born, h.Here = pid, born, proc.Here()
	}
	return h
}

// sessionGone says why the session that works on an attempt is gone, in a clause; "" when it is
// there as far as can be told.
func (w *Workspace) sessionGone(epicID epic.TaskID) orchestrator.SessionGone {
	return func(t *epic.Task, a epic.Attempt) string {
		h := a.Holder
		seen := a.Started
		if h.Session != "" {
			path := session.File(filepath.Dir(w.Home), h.Session)
			if s, ok, err := session.Load(path, h.Session); err == nil && ok && s.Ended {
				return "its client has ended it"
			}
			if info, err := os.Lstat(path); err == nil && info.ModTime().After(seen) {
				seen = info.ModTime()
			}
		}
		if h.PID != 0 && h.Here == proc.Here() && proc.Born(h.PID) != h.Born {
			return fmt.Sprintf("its process, %d, has ended", h.PID)
		}
		for _, dir := range []string{worktree.NamesOf(w.Worktrees(), string(epicID), string(t.ID), a.Number).Dir, checkpoint.Dir(epicdir.Attempt(w.EpicDir(epicID), t.ID, a.Number))} {
			if at := worktree.Changed(dir); at.After(seen) {
				seen = at
			}
		}
		if idle := w.App.Now().Sub(seen); idle > SessionIdle {
			return "it has given no sign for " + cli.Span(idle)
		}
		return ""
	}
}
