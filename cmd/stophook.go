package cmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/config"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator/slug"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/templates"
)

// hookPatience is how long a hook takes at most; a client's own limit is 30 s or more.
const hookPatience = 2 * time.Second

func newStopHookCmd(a sessionCmd) *cobra.Command {
	var explain bool
	var simulate, name string
	c := &cobra.Command{
		Use:   "stop-hook",
		Short: "a client's stop hook: state decides whether the session may end",
		Long: `Stop-hook reads what a client tells its stop hook, and prints either nothing, and
the session may end, or one JSON object that sends it back to work. It decides by
the tracker and by git, and only for sessions that were bound: to an epic, by
/run-tasks or orch session bind; or to the criteria in .loop/state.json. Whatever
goes wrong, it lets the session end and says so on standard error.`,
		Args: cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			if simulate != "" {
				f, err := os.Open(simulate)
				if err != nil {
					return &cli.Error{Code: "NO_INPUT", What: "there is no such input", Why: err.Error(), Exit: cli.ExitNotFound, Fix: []string{"orch stop-hook --simulate FILE, with the JSON that a client sends"}}
				}
				defer f.Close()
				a.Stdin, explain = f, true
			}
			return a.stopHook(c.Context(), name, explain)
		},
	}
	c.Flags().StringVar(&name, "client", "claude", "the `client` that calls: "+workspace.HookedNames())
	c.Flags().BoolVar(&explain, "explain", false, "say how it would decide, and change nothing")
	c.Flags().StringVar(&simulate, "simulate", "", "as --explain, for the input in this `file`")
	return c
}

// stop is one decision with what it was made from.
type stop struct {
	in     session.Input
	client client.Client
	answer stophook.Answer
	prompt string       // what a session that is blocked is told
	keep   func() error // keeps the session's count; nil when nothing is kept
}

func (a sessionCmd) stopHook(ctx context.Context, name string, explain bool) error {
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	s, err := a.decideStop(ctx, name)
	if explain {
		return a.explainStop(s, err)
	}
	if err == nil && s.keep != nil {
		err = s.keep()
	}
	if err != nil { // it fails open: a session must not hang on a hook
		fmt.Fprintf(a.Stderr, "orch stop-hook: %s; the session may end\n", cli.FirstLine(err.Error()))
		return nil
	}
	if s.answer.Block {
		return json.NewEncoder(a.Stdout).Encode(s.client.Block(s.prompt, s.answer.Fresh))
	}
	if s.answer.Verdict != stophook.NotBound && s.answer.Verdict != stophook.Attempt {
		fmt.Fprintf(a.Stderr, "orch stop-hook: the session may end  [%s] %s\n", s.answer.Verdict, s.answer.Why)
	}
	return nil
}

func (a sessionCmd) explainStop(s stop, err error) error {
	if err != nil {
		return &cli.Error{Code: "HOOK_FAILS_OPEN", What: "the hook lets the session end, since it can not decide", Why: err.Error(), Exit: cli.ExitFailed, Err: err, Fix: []string{"orch doctor"}}
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.stop/1", "session": s.in.Session, "block": s.answer.Block, "verdict": s.answer.Verdict, "why": s.answer.Why,
			"prompt": s.prompt, "counts": s.answer.Session})
		return nil
	}
	word := "may end"
	if s.answer.Block {
		word = "is sent back to work"
	}
	fmt.Fprintf(a.Stdout, "session %s %s  [%s] %s\n", cmp.Or(s.in.Session, "(none)"), word, s.answer.Verdict, s.answer.Why)
	if c := s.answer.Session; c.Epic != "" || c.Cycles > 0 {
		fmt.Fprintf(a.Stdout, "  epic %s, sent back %d times, %d stops without progress\n", cmp.Or(c.Epic, "-"), c.Cycles, c.Still)
	}
	if s.answer.Block {
		fmt.Fprintf(a.Stdout, "\n%s\n", s.prompt)
	}
	return nil
}

// decideStop finds out which binding applies, by facts, and decides by it.
func (a sessionCmd) decideStop(ctx context.Context, name string) (stop, error) {
	in, err := readInput(ctx, a.Process)
	if err != nil {
		return stop{}, err
	}
	s := stop{in: in, answer: stophook.Answer{Verdict: stophook.NotBound, Why: "neither an epic nor a loop is bound to this session"}}
	if a.Getenv("ORCH_ATTEMPT") != "" {
		s.answer = stophook.Answer{Verdict: stophook.Attempt, Why: "orch started this agent, and judges its work itself"}
		return s, nil
	}
	project := session.Project(in, a.Getenv, a.Dir)
	root, common := session.Repository(project)
	var ours bool
	if s.client, ours, err = a.caller(name, cmp.Or(root, project)); err != nil || !ours {
		return s, err
	}
	if common != "" && in.Session != "" {
		path := session.File(common, in.Session)
		bound, ok, err := session.Load(path, in.Session)
		if err != nil {
			return s, err
		}
		if ok && bound.Epic != "" {
			w, err := workspace.Glance(a.App, root, common)
			if err != nil {
				return s, err
			}
			return a.decideEpic(ctx, s, bound, w, path)
		}
	}
	return a.decideLoop(s, cmp.Or(root, project))
}

// limits is what a client can not do, or can besides.
func limits(k client.Client) stophook.Limits {
	return stophook.Limits{MaxBlocks: k.MaxBlocks, Fresh: k.Fresh}
}

// readInput reads the client's words, and gives up when they do not come.
func readInput(ctx context.Context, p Process) (session.Input, error) {
	type read struct {
		in  session.Input
		err error
	}
	done := make(chan read, 1)
	go func() {
		in, err := session.ReadInput(p.Stdin)
		done <- read{in, err}
	}()
	select {
	case r := <-done:
		return r.in, r.err
	case <-ctx.Done():
		return session.Input{}, fmt.Errorf("waiting for the client's input: %w", context.Cause(ctx))
	}
}

func (a sessionCmd) decideEpic(ctx context.Context, s stop, bound session.Session, w *workspace.Workspace, path string) (stop, error) {
	work, read, err := workOf(ctx, w, bound.Epic)
	if err != nil {
		fmt.Fprintf(a.Stderr, "orch stop-hook: %s\n", cli.FirstLine(err.Error()))
	}
	if s.in.LastMessage == "" && s.in.Transcript != "" {
		s.in.LastMessage = session.LastSaid(s.in.Transcript)
	}
	s.answer = stophook.Decide(stophook.Facts{Input: s.in, Settings: hookSettings(w.Config.StopHook), Session: bound, Work: work, Client: limits(s.client)})
	if age := a.Now().Sub(read.At); work != nil && age > time.Second {
		s.answer.Why += ", as of " + cli.Span(age) + " ago"
	}
	s.keep = func() error {
		if s.answer.Session == bound {
			return read.save()
		}
		return errors.Join(read.save(), session.Save(path, s.answer.Session))
	}
	if s.answer.Block {
		s.prompt, err = runTasks(w, bound.Epic)
		return s, err
	}
	return s, nil
}

// snapshotLife is how old a reading of the tracker may be when it does not answer.
const snapshotLife = 10 * time.Minute

// reading is what the tracker said.
type reading struct {
	beads.Snapshot
	path string // where it is kept
	old  bool   // and was kept already
}

// save keeps a reading that is new.
func (r reading) save() error {
	if r.old || r.path == "" {
		return nil
	}
	return r.Save(r.path)
}

// workOf asks the tracker, and git, how the epic stands, and says what it goes by. A
// tracker that does not answer is stood in for by its newest snapshot; without one the
// work is nil.
func workOf(ctx context.Context, w *workspace.Workspace, epic string) (*stophook.Work, reading, error) {
	now := reading{Snapshot: beads.Snapshot{At: w.Now()}, path: filepath.Join(w.Home, "tracker.json")}
	read, cancel := context.WithTimeout(ctx, hookPatience*3/4) // so that a snapshot can be looked at still
	defer cancel()
	var err error
	if now.Issues, err = w.Survey(read); err != nil {
		kept, none := beads.LoadSnapshot(now.path)
		if none != nil || w.Now().Sub(kept.At) > snapshotLife {
			return nil, reading{}, err
		}
		now.Snapshot, now.old = kept, true
	}
	work := stophook.WorkOf(now.Issues, epic, refTip(filepath.Dir(w.Home), "refs/heads/epic/"+slug.Of(epic)), w.Now())
	return &work, now, err
}

// refTip reads a reference without running git; "" when it is not found. It says only
// whether something has moved.
func refTip(common, ref string) string {
	if b, err := os.ReadFile(filepath.Join(common, filepath.FromSlash(ref))); err == nil {
		return strings.TrimSpace(string(b))
	}
	packed, err := os.ReadFile(filepath.Join(common, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return id
		}
	}
	return ""
}

// runTasks is the prompt of a session that runs an epic.
func runTasks(w *workspace.Workspace, epic string) (string, error) {
	return templates.RunTasks(templates.RunTasksData{Epic: epic, Tracker: w.TasksCommand()})
}

func hookSettings(c config.StopHook) stophook.Settings {
	return stophook.Settings{Enabled: c.Enabled, CheckReady: c.CheckReadyTasks, CheckInProgress: c.CheckInProgress, MaxCycles: c.MaxCycles,
		AllowExitOn: c.AllowExitOn, Promises: c.CompletionPromises}
}

// The files of a criteria loop: the loop itself, and what is kept of the session that
// runs it.
const (
	loopSession = ".loop/session.json"
)

func (a sessionCmd) decideLoop(s stop, project string) (stop, error) {
	l, err := stophook.ReadLoop(filepath.Join(project, session.LoopFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	path := filepath.Join(project, loopSession)
	bound, err := readLoopSession(path)
	if err != nil || bound.ID != "" && bound.ID != s.in.Session {
		return s, err // another session's
	}
	cfg, _, err := workspace.Settings(a.Process, project)
	if err != nil {
		return s, err
	}
	print, err := json.Marshal(l)
	if err != nil {
		return s, err
	}
	sum := sha256.Sum256(print)
	s.answer = stophook.DecideLoop(s.in, hookSettings(cfg.StopHook), bound, l, hex.EncodeToString(sum[:12]), limits(s.client))
	if s.answer.Session != bound {
		s.keep = func() error { return session.Save(path, s.answer.Session) }
	}
	if s.answer.Block {
		s.prompt = loopPrompt(l, s.answer.Why)
	}
	return s, nil
}

// readLoopSession is what is kept of a loop's session; its ID is "" when the loop
// belongs to whichever session works here.
func readLoopSession(path string) (session.Session, error) {
	s, _, err := session.Load(path, "")
	return s, err
}

func loopPrompt(l stophook.Loop, why string) string {
	next := ""
	if len(l.RemainingSteps) > 0 {
		next = " Next step: " + l.RemainingSteps[0] + "."
	}
	return fmt.Sprintf("The loop is not done: %s.%s Run `orch loop status` first; work on the first unmet criterion; then `orch loop verify`. "+
		"When all criteria are true, end with <loop-complete>.", why, next)
}
