package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/templates"
)

// fastExit is how quickly an agent has to end badly to count as one that does
// not start.
const fastExit = 5 * time.Second

// turn is one Job that is being run.
type turn struct {
	engine.Job
	e        *Engine
	files    *private.Dir // that the epic's folder is below
	dir      string       // of the attempt, for briefs and logs
	names    engine.Names
	progress func(engine.Progress)
	cell     left           // that the agent ran in; nil for none
	bounds   command.Limits // on what the agent uses
	setAside string         // what of earlier attempts is where, in a clause; "" nothing
}

func (e *Engine) newTurn(j engine.Job, progress func(engine.Progress)) (*turn, error) {
	files, err := epicdir.Open(e.Dir)
	if err != nil {
		return nil, err
	}
	return &turn{Job: j, e: e, files: files, progress: serialize(progress),
		dir: epicdir.Attempt(e.Dir, j.Task, j.Number), names: e.Bench.Name(string(j.Task), j.Number)}, nil
}

// serialize makes calls of progress one at a time, and drops those after the one that says that the
// process has exited: a process's output and its end are reported by different goroutines.
func serialize(progress func(engine.Progress)) func(engine.Progress) {
	var mu sync.Mutex
	exited := false
	return func(p engine.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if !exited {
			exited = p.Stage == engine.Exited
			progress(p)
		}
	}
}

// prepare writes the brief and gathers what the agent's process is given.
func (t *turn) prepare() (harness.Spec, []string, error) {
	data := t.Brief
	data.Branch = shortBranch(t.names.Branch)
	if t.Previous > 0 {
		data.Previous = t.e.Bench.Name(string(t.Task), t.Previous).Attic
	}
	if t.e.Sandbox != nil && !t.HandOver {
		data.Bounded = true
	}
	brief, err := templates.Brief(data)
	if err != nil {
		return harness.Spec{}, nil, err
	}
	brief = t.e.Redact.String(brief)
	path := epicdir.Brief(t.dir, t.Turn)
	if err := t.files.WriteFile(path, []byte(brief)); err != nil {
		return harness.Spec{}, nil, err
	}
	env := append([]string{
		"ORCH_EPIC=" + string(t.Epic), "ORCH_TASK=" + string(t.Task), "ORCH_ATTEMPT=" + strconv.Itoa(t.Number),
		"ORCH_ITERATION=" + strconv.Itoa(t.Turn), "ORCH_ATTEMPT_DIR=" + t.dir,
		"ORCH_WORKTREE=" + t.names.Dir, "ORCH_BRANCH=" + data.Branch, "ORCH_BRIEF=" + path,
		"BD_ACTOR=" + t.Actor, "BEADS_ACTOR=" + t.Actor,
	}, t.e.Env...)
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], "\x00", "") // which a variable cannot hold
	}
	return harness.Spec{Brief: brief, BriefPath: path, Dir: t.names.Dir, Session: t.Conversation.ID, Resume: t.Conversation.Resume}, env, nil
}

// run starts the agent and waits for its end. It fails when it cannot be started.
func (t *turn) run(ctx context.Context, spec harness.Spec, env []string) (w engine.Work, err error) {
	h, err := t.e.Harness(t.Client)
	if err != nil {
		return w, err
	}
	launch, err := h.Launch(spec)
	if err != nil {
		return w, err
	}
	cmd, err := t.enter(ctx, command.Cmd{Dir: spec.Dir, Argv: launch.Argv, Env: append(env, launch.Env...), Stdin: launch.Stdin}, spec.BriefPath)
	if err != nil {
		return w, fmt.Errorf("making its sandbox: %w", err)
	}
	t.bounds = cmd.Limits
	reader := h.Reader()
	report := t.activityReporter(reader)
	began, log := t.e.Now(), epicdir.Output(t.dir, t.Turn)
	p, err := t.e.Proc.Start(ctx, proc.Spec{
		Cmd:     cmd,
		Log:     log,
		Filter:  func(w io.Writer) io.WriteCloser { return t.e.Redact.Writer(w) },
		Files:   t.files,
		Output:  func(b []byte) { reader.Write(b); report(false) }, // Write never fails, by its contract
		Timeout: t.Limits.Time,
		Idle:    t.Limits.NoProgress,
		Moved:   t.changeDetector(context.WithoutCancel(ctx)),
	})
	if err != nil {
		return w, err
	}
	report(true)
	exit := waitOrInterrupt(ctx, p)
	out := reader.Outcome(exit.Code)
	w = t.classify(exit, out)
	if w.End == epic.EndedCrash {
		w.Reason = withLastOutput(t.files, w.Reason, log)
		if t.e.Sandbox != nil && t.refusalHint() == "" {
			w.Reason = joinClauses(w.Reason, validation.BoundsHint(w.Reason))
		}
	}
	w.Took, w.Survivors, w.Sandbox = t.e.Now().Sub(began), exit.Survivors, t.e.level()
	w.Fast = w.End == epic.EndedCrash && w.Took < fastExit || exit.Code == 126 || exit.Code == 127
	t.progress(engine.Progress{Stage: engine.Exited, End: w.End})
	return w, nil
}

// activityReporter makes a function that reports what the agent does now, if that has changed, or always.
// The agent's output may come before its process is known to have started.
func (t *turn) activityReporter(r harness.Reader) (report func(always bool)) {
	var mu sync.Mutex
	last := ""
	return func(always bool) {
		mu.Lock()
		defer mu.Unlock()
		if now := r.Activity(); always || now != last {
			last = now
			t.progress(engine.Progress{Stage: engine.Working, Activity: now})
		}
	}
}

// changeDetector makes a function that reports whether the worktree has changed since its last call.
func (t *turn) changeDetector(ctx context.Context) func() bool {
	since := t.e.Now()
	return func() bool {
		was := since
		since = t.e.Now()
		return t.e.Bench.ChangedSince(ctx, string(t.Task), t.Number, was)
	}
}

// waitOrInterrupt waits for the process, and interrupts it when ctx ends first.
func waitOrInterrupt(ctx context.Context, p *proc.Process) proc.Exit {
	done := make(chan proc.Exit, 1)
	go func() { done <- p.Wait() }()
	select {
	case exit := <-done:
		return exit
	case <-ctx.Done():
		p.Stop(proc.Interrupted)
		return <-done
	}
}

// The ends of a log that are read, in bytes: for its last line, and for what was refused.
const (
	maxLastOutput    = 4 << 10
	maxRefusedOutput = 256 << 10
)

// refusalHint is what of the turn's output says that a path was refused, in a sandbox; "" for nothing.
func (t *turn) refusalHint() string {
	if t.e.Sandbox == nil || t.HandOver {
		return ""
	}
	return validation.RefusalHint(tailOf(t.files, epicdir.Output(t.dir, t.Turn), maxRefusedOutput), t.names.Dir)
}

// tailOf is the end of a log; "" where it cannot be read.
func tailOf(files *private.Dir, log string, bytes int64) string {
	f, err := files.Open(log)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	end := make([]byte, bytes)
	n, err := f.ReadAt(end, max(0, info.Size()-bytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(end[:n])
}

// withLastOutput adds to a reason the last line that a crashed agent printed, unless it is in
// there, or is an event for a program: a client that does not start says why on stderr.
func withLastOutput(files *private.Dir, reason, log string) string {
	last := ""
	for line := range strings.Lines(tailOf(files, log, maxLastOutput)) {
		if line = text.Clause(line, 160); line != "" && line[0] != '{' {
			last = line
		}
	}
	if last == "" || strings.Contains(reason, last) {
		return reason
	}
	return reason + ": " + last
}

func shortBranch(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }
