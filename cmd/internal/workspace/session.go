package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/worktree"
)

// SessionTimeout is how long a session may give no sign before it counts as gone: no commit and no
// changed file in its worktree, no checkpoint, no stop of its client.
const SessionTimeout = time.Hour

// SessionVariables are what clients tell the id of a session in.
func SessionVariables() []string {
	return []string{"CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID", "CODEX_SESSION_ID", "COPILOT_AGENT_SESSION_ID", "GEMINI_SESSION_ID"}
}

// SessionID is the client's id of the session that a command is called from; "" when it is from
// none, or the client does not tell. It is what JSON can hold, as hooks are told it: other bytes are
// replaced.
func SessionID(a *cli.Invocation) string {
	for _, name := range SessionVariables() {
		if id := a.Getenv(name); id != "" {
			return string([]rune(id))
		}
	}
	return ""
}

// Self is this process.
func Self() epic.Process {
	pid := os.Getpid()
	return epic.Process{PID: pid, Born: proc.Born(pid), Here: proc.Here()}
}

// Caller is the session that a command is called from: a client's, else that of a terminal, else
// the process that calls orch and outlives the call.
func Caller(a *cli.Invocation) epic.SessionHolder {
	if id := SessionID(a); id != "" {
		return clientOf(id)
	}
	line := proc.Lineage()
	if !a.Served {
		if pid, ok := proc.Terminal(); ok {
			return withProcess(epic.SessionHolder{Name: fmt.Sprintf("the terminal of process %d", pid)}, pid)
		}
		if len(line) == 1 { // nothing is known of the processes above
			return epic.SessionHolder{Name: fmt.Sprintf("the processes of session %d on %s", line[0].Session, Hostname())}
		}
	}
	pid := outliving(line, a.Served)
	if pid == 0 {
		return epic.SessionHolder{Name: "commands without a session on " + Hostname()}
	}
	h, below := withProcess(epic.SessionHolder{}, pid), processes(between(line, pid))
	if h.PID != 0 && len(below) > 0 {
		h.Below, pid = epic.Below(below), below[0].PID
	}
	h.Name = fmt.Sprintf("process %d on %s", pid, Hostname())
	return h
}

// IsCaller tells whether the session that a command is called from is who holds an attempt. Where
// neither tells an id, that is so when the command comes from the holder's process, or from
// below it: a client is the same whatever process session it gives a command, and two clients that
// a shell has started are two.
func IsCaller(a *cli.Invocation) epic.IsSession {
	me, above := Caller(a), processes(proc.Ancestors())
	return func(h epic.SessionHolder) bool {
		p, there := nearest(h)
		switch {
		case !there || me.Session != "":
			return h.Same(me)
		case h.Session != "":
			return p == epic.Process{PID: me.PID, Born: me.Born, Here: me.Here}
		}
		return slices.Contains(above, p)
	}
}

// IsStopping tells whether the session of an id, whose client calls its stop hook, is who holds an
// attempt, as far as is known.
func IsStopping(id string) epic.IsSession {
	above := processes(proc.Ancestors())
	return func(h epic.SessionHolder) bool {
		if h.Session != "" {
			return h.Session == id
		}
		p, there := nearest(h)
		return h.PID == 0 || h.Here != proc.Here() || there && slices.Contains(above, p)
	}
}

// nearest is the first of a holder's processes that is there as far as is known; ok is false where
// none is, or none is known.
func nearest(h epic.SessionHolder) (p epic.Process, ok bool) {
	for _, p := range h.Candidates() {
		if !proc.Gone(p.PID, p.Born, p.Here) {
			return p, true
		}
	}
	return epic.Process{}, false
}

// HolderName is how a person is told who holds an attempt: of a client that is known by its processes
// alone, the nearest that is still there.
func HolderName(h epic.SessionHolder) string {
	if p, ok := nearest(h); ok && h.Session == "" && h.Below != "" && p.Here == proc.Here() {
		return fmt.Sprintf("process %d on %s", p.PID, Hostname())
	}
	return h.String()
}

// processes are those of these numbers that can be distinguished from others.
func processes(pids []int) (all []epic.Process) {
	for _, pid := range pids {
		if born := proc.Born(pid); born != 0 {
			all = append(all, epic.Process{PID: pid, Born: born, Here: proc.Here()})
		}
	}
	return all
}

// between are the processes of a line, which begins with the command, that are below pid and may be
// the client that the command comes from: all that are not there for one command.
func between(line []proc.Ancestor, pid int) (below []int) {
	for _, p := range line[1:] {
		if p.PID == pid {
			return below
		}
		if !forOneCommand(p.Args) {
			below = append(below, p.PID)
		}
	}
	return nil
}

// outliving is the process that a command without a session's id comes from; 0 when there is none.
// Line is the command and what is above it. That a client starts a process session for each of its
// commands makes it no other client: where all of the command's process session is there for the
// command, it is the nearest process above that is not. Else it is what that process session began
// with, such as a script, a shell that somebody types into, or the client itself. A server is called
// by the process above it.
func outliving(line []proc.Ancestor, served bool) int {
	if len(line) == 0 {
		return 0
	}
	top := 0
	for !served && top+1 < len(line) && line[top+1].Session == line[0].Session {
		top++
	}
	if first := line[top]; first.PID == 1 && top > 1 { // of a container: what was started in it
		for n := top - 1; n > 0; n-- {
			if !forOneCommand(line[n].Args) {
				return line[n].PID
			}
		}
	}
	if top > 0 && !forOneCommand(line[top].Args) {
		return line[top].PID
	}
	for _, p := range line[top+1:] {
		if p.PID > 1 && !forOneCommand(p.Args) {
			return p.PID
		}
	}
	if last := line[len(line)-1]; last.PID == 1 && len(line) > 1 && line[len(line)-2].Session == last.Session {
		return 1 // a client that is all that a container was started for
	}
	return 0
}

// forOneCommand reports whether a process is there for the command that it was given, by its
// command line: it ends with that.
func forOneCommand(args []string) bool {
	if len(args) == 0 {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(args[0]), "-"), ":")
	switch name {
	case "setsid", "env", "nice", "nohup", "stdbuf", "timeout", "sshd", "sshd-session":
		return true
	case "sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh", "busybox":
	default:
		return false
	}
	value := false // of the option before
	for _, arg := range args[1:] {
		switch {
		case value:
			value = false
		case strings.HasPrefix(arg, "/dev/fd/"), strings.HasPrefix(arg, "/proc/self/fd/"):
			return true
		case name == "busybox" && (arg == "sh" || arg == "ash"):
		case !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+"):
			return false // a script
		case !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c"):
			return true
		default:
			value = strings.HasSuffix(strings.ToLower(arg), "o") && !strings.HasPrefix(arg, "--")
		}
	}
	return false
}

// clientOf is the session of an id, with the client that its commands come from: the nearest process above
// that was not told the id, since it is the one that tells. A process right below that one which was told, and is
// not there for one command, may be the client itself, started with an id: where it has a client's name, it is; else, while it is
// there, another that comes from the process above is no command of the session.
func clientOf(id string) epic.SessionHolder {
	h, told := epic.SessionHolder{Session: id}, 0
	for _, pid := range proc.Ancestors() {
		if !toldOf(pid, id) {
			h = withProcess(h, pid)
			break
		}
		told = pid
	}
	if h.PID == 0 || told == 0 {
		return h
	}
	line := proc.Lineage()
	i := slices.IndexFunc(line, func(p proc.Ancestor) bool { return p.PID == told })
	switch {
	case i <= 0 || forOneCommand(line[i].Args):
	case isClient(line[i].Args) && i+1 < len(line) && !isClient(line[i+1].Args): // started with an id: the session ends with it
		h = withProcess(h, told)
	default:
		h.Below = epic.Below(processes([]int{told}))
	}
	return h
}

// isClient reports whether a process is an agent's client, by its command line: its own name, or that of the program which an
// interpreter runs.
func isClient(args []string) bool {
	if len(args) == 0 {
		return false
	}
	name := strings.TrimPrefix(filepath.Base(args[0]), "-")
	switch name {
	case "node", "nodejs", "bun", "deno", "sh", "bash", "dash":
		if len(args) == 1 {
			return false
		}
		name = strings.TrimSuffix(filepath.Base(args[1]), ".js")
	}
	_, known := all.Client(name)
	return known
}

// toldOf reports whether a process was started with the id of a session in its environment.
func toldOf(pid int, id string) bool {
	return slices.ContainsFunc(proc.Environment(pid), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return value == id && slices.Contains(SessionVariables(), name)
	})
}

// withProcess has a session end with a process, where it can be distinguished from others.
func withProcess(h epic.SessionHolder, pid int) epic.SessionHolder {
	if born := proc.Born(pid); pid > 0 && born != 0 {
		h.PID, h.Born, h.Here = pid, born, proc.Here()
	}
	return h
}

// SessionGone says why the session that works on an attempt is gone, in a clause; "" when it is
// there as far as is known, or no session works on it. All that report an attempt's holder ask it.
func (w *Workspace) SessionGone(epicID epic.TaskID) orchestrator.SessionGone {
	return func(t *epic.Task, a epic.Attempt) string {
		h := a.Holder
		if !a.InSession || h.IsZero() {
			return ""
		}
		seen := a.Started
		if h.Session != "" {
			path := session.File(filepath.Dir(w.Project.Home), h.Session)
			if s, ok, err := session.Load(path, h.Session); err == nil && ok && s.Ended {
				return "its client has ended it"
			}
			if info, err := os.Lstat(path); err == nil && info.ModTime().After(seen) {
				seen = info.ModTime()
			}
		}
		if proc.Gone(h.PID, h.Born, h.Here) {
			return fmt.Sprintf("its process, %d, has ended", h.PID)
		}
		for _, dir := range []string{worktree.NamesOf(w.Project.Worktrees(), string(epicID), string(t.ID), a.Number).Dir, checkpoint.Dir(epicdir.Attempt(w.EpicDir(epicID), t.ID, a.Number))} {
			if at := worktree.Changed(dir); at.After(seen) {
				seen = at
			}
		}
		if idle := w.Now().Sub(seen); idle > SessionTimeout {
			return "it has given no sign for " + cli.FormatDuration(idle)
		}
		return ""
	}
}

// Asker is a session that would ask for a task of the epic; is reports whether a holder is that
// session, and parallel is how many tasks may be under way where no run drives the epic.
func (p *EpicView) Asker(is epic.IsSession, parallel int) epic.Asker {
	gone := p.Workspace.SessionGone(p.State.Epic)
	return epic.Asker{Is: is, Gone: func(t *epic.Task) bool { return gone(t, t.Last()) != "" },
		Held: p.Held, Driven: p.Held && p.Holder.Drives(), MaxParallel: parallel}
}
