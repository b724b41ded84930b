package hooks

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/checkpoint"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/registry"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/worktree"
)

func (a sessionCmd) decideEpic(ctx context.Context, s stop, bound session.Session, w *workspace.Workspace, path string) (stop, error) {
	standing, read, err := a.standing(ctx, w, bound, s.in.Session)
	if err != nil {
		fmt.Fprintf(a.app.Stderr, "orch stop-hook: %s\n", text.Head(err.Error()))
	}
	if s.in.LastMessage == "" && s.in.Transcript != "" {
		s.in.LastMessage = session.LastAssistantMessage(s.in.Transcript)
	}
	s.epic = standing
	age := a.app.Now().Sub(read.snapshot.At)
	decide := func(bound session.Session) stophook.Decision {
		answer := stophook.Decide(stophook.Facts{Input: s.in, Settings: hookSettings(w.Project.Config.StopHook), Session: bound, Epic: standing, Caps: limits(s.client)})
		if standing != nil && standing.Unread == "" && age > time.Second {
			answer.Why += ", as of " + cli.FormatDuration(age) + " ago"
		}
		return answer
	}
	s.answer = decide(bound)
	s.settle = func(ctx context.Context) (answer stophook.Decision, err error) {
		if err := read.save(); err != nil {
			return answer, err
		}
		return answer, changeSession(ctx, path, s.in.Session, func(now session.Session, ok bool) (session.Session, error) {
			if !ok || now.Epic != bound.Epic {
				return now, errors.New("the session was bound to something else meanwhile")
			}
			answer = decide(now)
			return answer.Session, nil
		})
	}
	s.keep = func(ctx context.Context, e session.Ending) error {
		return changeSession(ctx, path, s.in.Session, func(now session.Session, ok bool) (session.Session, error) {
			if ok {
				now.Ending = e
			}
			return now, nil
		})
	}
	if s.programs, err = programs(w, bound.Epic, read.snapshot.Issues); err != nil {
		return s, err
	}
	s.allowed = func(ctx context.Context) error { return a.allowed(ctx, w.Project.Root, s.programs) }
	// It may be needed, whatever is decided the second time.
	s.prompt, err = runTasks(w, bound.Epic, s.client.Name)
	return s, err
}

// programs are those of the hooks of an epic's tasks; of an epic that cannot be read, the hooks
// of all tasks count.
func programs(w *workspace.Workspace, epicID string, issues []tracker.Issue) (items []plan.Item, err error) {
	hooks, err := registry.Store{Path: filepath.Join(w.Project.Home, "hooks.json")}.All("")
	if err != nil {
		return nil, err
	}
	below := tracker.NewIndex(issues).Descendants(epicID)
	for _, h := range hooks {
		if h.Enabled && (len(issues) == 0 || slices.Contains(below, h.TaskID)) {
			items = append(items, trust.HookItems(h)...)
		}
	}
	return items, nil
}

// allowed fails with the error UNTRUSTED where nobody has allowed one of the programs, which are
// of the project in a folder. It asks nobody.
func (a sessionCmd) allowed(ctx context.Context, folder string, programs []plan.Item) error {
	app := a.app.InDir(folder)
	defer app.End()
	w, err := workspace.Read(ctx, app)
	var q *trust.Question
	switch {
	case errors.Is(err, git.ErrNotRepository):
		q, err = trust.AskFolder(app, folder)
	case err == nil:
		q, err = trust.Ask(ctx, w.Project, "HEAD")
	}
	if err != nil {
		return err
	}
	return q.RequireItems(programs)
}

// reading is what the tracker said.
type reading struct {
	snapshot beads.Snapshot
	path     string // where it is kept
	old      bool   // and was kept already
}

// save keeps a reading that is new.
func (r reading) save() error {
	if r.old || r.path == "" {
		return nil
	}
	return r.snapshot.Save(r.path)
}

// standing asks the journal, the tracker and git how the epic stands for a session, and says what
// it goes by. A tracker that does not answer in time is stood in for by its newest snapshot, or by the
// newest reading of a run; without one, and without a journal, the standing has only the promise.
func (a sessionCmd) standing(ctx context.Context, w *workspace.Workspace, bound session.Session, id string) (*stophook.Standing, reading, error) {
	now := reading{snapshot: beads.Snapshot{At: w.Now()}, path: filepath.Join(w.Project.Home, "tracker.json")}
	read, cancel := context.WithTimeout(ctx, stophook.Timeout*3/4) // so that a snapshot can be looked at still
	defer cancel()
	epicID := epic.TaskID(bound.Epic)
	p, err := a.viewOf(ctx, w, epicID)
	if e := workspace.JournalFault(err); e != nil {
		refused := stophook.Standing{Outlook: epic.Outlook{Promise: e.Promise, Code: reason.Code(e.Code), Reason: e.What}}
		return &refused, now, err
	}
	if err != nil {
		return nil, reading{}, err
	}
	issues, err := w.Survey(read)
	late := read.Err() != nil
	if workspace.MayUseEarlierReading(err) {
		kept, none := beads.LoadSnapshot(now.path)
		if none == nil && w.Now().Sub(kept.At) <= workspace.MaxReadingAge && (p == nil || kept.At.After(p.LastRead())) {
			now.snapshot, now.old = kept, true
			issues, late = kept.Issues, false
		}
	}
	if err == nil || now.old {
		now.snapshot.Issues = orchestrator.IssuesWithoutSecrets(w.Project.Invocation.Redact, issues)
	}
	unread := err
	if now.old {
		unread = nil
	}
	switch {
	case p != nil:
		p.ApplySurvey(now.snapshot.Issues, unread, late)
		if p.Read.IsZero() {
			now.old, now.snapshot.At = true, p.LastRead() // the tracker's word is that of a run, or none
		}
		err = errors.Join(err, a.lookAtBranch(ctx, w, p))
	default:
		if fault := w.TrackerFault(now.snapshot.Issues, unread, epicID); fault != nil {
			return unreadTracker(fault), reading{}, fault.Err
		}
		p = w.ViewFromIssues(epicID, now.snapshot.Issues)
		err = a.lookAtBranch(ctx, w, p)
	}
	who := p.Asker(workspace.IsStopping(id), w.Project.Config.Run.MaxParallel)
	standing := stophook.StandingOf(p.State, w.Now(), who, fingerprint(w, p.State))
	return &standing, now, err
}

// unreadTracker is how an epic stands of which nothing is known, since the tracker does not tell.
func unreadTracker(f *workspace.TrackerFault) *stophook.Standing {
	return &stophook.Standing{Outlook: epic.Outlook{Promise: epic.LoopError, Code: f.Code, Reason: f.Why}, Unread: f.Why}
}

// viewOf is [workspace.Workspace.ViewOf]. Git is asked only where there is a folder for a journal, and none in it.
func (a sessionCmd) viewOf(ctx context.Context, w *workspace.Workspace, id epic.TaskID) (*workspace.EpicView, error) {
	if dir := w.EpicDir(id); journal.Begun(dir) {
		return w.ViewIn(dir)
	} else if !cli.Exists(dir) {
		return nil, nil
	}
	app := a.app.InDir(w.Project.Root)
	defer app.End()
	whole, err := workspace.Read(ctx, app)
	if err != nil {
		return nil, err
	}
	return nil, whole.CheckJournal(ctx, id)
}

// lookAtBranch brings the state of a view up to date with the epic branch. Git is asked only where the
// file of the branch does not have what the last landing left there, a work tree has it checked out, or
// another clone has landed work.
func (a sessionCmd) lookAtBranch(ctx context.Context, w *workspace.Workspace, p *workspace.EpicView) error {
	s, common, branch := p.State, filepath.Dir(w.Project.Home), refname.Of(string(p.State.Epic)).Branch()
	_, barred, err := git.CheckedOutIn(common, w.Project.Root, branch)
	if err == nil && (p.Held || !barred) && len(s.Sought()) == 0 && (p.Held || s.Tip == "" || refTip(common, branch) == string(s.Tip)) {
		return nil
	}
	app := a.app.InDir(w.Project.Root)
	defer app.End()
	whole, err := workspace.Read(ctx, app)
	if err != nil {
		return err
	}
	at := *p
	at.Workspace = whole
	_, err = at.RefreshBranch(ctx)
	p.State = at.State
	return err
}

// fingerprint is the same as long as nothing of an epic has moved: the states of its tasks, its
// branch, and for what sessions work on, the commits, files and iteration records.
func fingerprint(w *workspace.Workspace, s epic.State) string {
	common, root := filepath.Dir(w.Project.Home), w.Project.Worktrees()
	sum := sha256.New()
	fmt.Fprintln(sum, refTip(common, refname.Of(string(s.Epic)).Branch()))
	for _, t := range s.Tasks {
		at := t.Last()
		fmt.Fprintf(sum, "%q %s %s %d %d\n", t.ID, t.State, t.Status, at.Number, at.Iteration)
		if !at.InSession || !at.Open() {
			continue
		}
		n := worktree.NamesOf(root, string(s.Epic), string(t.ID), at.Number)
		fmt.Fprintln(sum, refTip(common, n.Branch), worktree.Fingerprint(n.Dir), worktree.Fingerprint(checkpoint.Dir(epicdir.Attempt(w.EpicDir(s.Epic), t.ID, at.Number))))
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// refTip reads a reference without running git; "" when it is not found. It says only
// whether something has moved.
func refTip(common, ref string) string {
	if b, err := session.ReadState(filepath.Join(common, filepath.FromSlash(ref))); err == nil {
		return strings.TrimSpace(string(b))
	}
	path := filepath.Join(common, "packed-refs")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxPacked))
	for lines.Scan() {
		if id, name, ok := strings.Cut(strings.TrimSpace(lines.Text()), " "); ok && name == ref {
			return id
		}
	}
	return ""
}

// maxPacked is how much of packed-refs is read, in bytes; it says only whether something has moved.
const maxPacked = 64 << 20

// runTasks is the prompt of a session that runs an epic, as [workspace.Workspace.RunTasks]; a file that is not taken is
// reported.
func runTasks(w *workspace.Workspace, epicID, clientName string) (string, error) {
	prompt, refused, err := w.RunTasks(epicID, clientName)
	if refused != nil {
		fmt.Fprintf(w.Project.Invocation.Stderr, "orch: %s\n", text.Head(refused.Error()))
	}
	return prompt, err
}

func hookSettings(c config.StopHook) stophook.Settings {
	return stophook.Settings{Enabled: c.Enabled, CheckReady: c.CheckReadyTasks, CheckInProgress: c.CheckInProgress, MaxCycles: c.MaxCycles,
		AllowExitOn: c.AllowExitOn, Promises: c.CompletionPromises}
}
