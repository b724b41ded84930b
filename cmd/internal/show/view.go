package show

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// View shows a run as it goes: permanent lines, and on a terminal a small live
// footer below them. Without a terminal each line is a logfmt record.
type View struct {
	out      io.Writer
	terminal bool
	width    int
	plain    *log.Logger
	title    string
	now      func() time.Time
	activity func(epic.TaskID) string
	stopped  chan struct{}
	done     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	state  epic.State
	footer int // lines that are drawn below the last permanent one
}

// NewView makes the view of an epic's run; it writes nothing yet.
func NewView(a *cli.App, epicID tracker.Issue) *View {
	v := &View{out: a.Stdout, now: a.Now, title: fmt.Sprintf("%s  %s", text.Clause(epicID.ID, 64), text.Clause(epicID.Title, 200)), stopped: make(chan struct{})}
	if a.JSON {
		v.out = a.Stderr
	}
	v.width, v.terminal = a.Terminal(v.out)
	if !v.terminal {
		v.plain = log.NewWithOptions(v.out, log.Options{Formatter: log.LogfmtFormatter, ReportTimestamp: true, TimeFunction: func(time.Time) time.Time { return a.Now().UTC() }, TimeFormat: time.RFC3339})
	}
	return v
}

// Begin shows the head and starts the live footer.
func (v *View) Begin(o *orchestrator.Orchestrator) {
	v.mu.Lock()
	v.state, v.activity = o.State(), o.Activity
	v.mu.Unlock()
	if !v.terminal {
		return
	}
	v.print(func() { fmt.Fprintf(v.out, "%s\n\n", v.title) })
	v.done.Add(1)
	go func() {
		defer v.done.Done()
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				v.print(func() {})
			case <-v.stopped:
				return
			}
		}
	}()
}

// End takes the footer away; what was printed above it stays.
func (v *View) End() {
	close(v.stopped)
	v.done.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
}

// Observe shows an event, if it is one for people.
func (v *View) Observe(e epic.Event, s epic.State) {
	l, ok := lineOf(e, s)
	l.text = text.Clause(l.text, 2000)
	if v.plain != nil {
		if ok {
			v.log(e, l)
		}
		return
	}
	v.mu.Lock()
	v.state = s
	v.mu.Unlock()
	if ok {
		since := cli.Span(e.At.Sub(s.Run.Started))
		v.print(func() {
			fmt.Fprintln(v.out, cli.Clip(fmt.Sprintf("%5s  %-8s %-10s %s", since, l.word, l.task, l.text), v.width-1))
		})
	}
}

// log writes a line for a program to read.
func (v *View) log(e epic.Event, l line) {
	keys := []any{"ev", string(e.Kind())}
	if l.task != "" {
		keys = append(keys, "task", l.task.String())
	}
	if e.Attempt > 0 {
		keys = append(keys, "attempt", e.Attempt)
	}
	if e.Code != "" {
		keys = append(keys, "code", string(e.Code))
	}
	if l.bad {
		v.plain.Warn(strings.TrimSpace(l.word+": "+l.text), keys...)
		return
	}
	v.plain.Info(strings.TrimSpace(l.word+": "+l.text), keys...)
}

// print writes above the footer and draws it anew.
func (v *View) print(write func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	write()
	if v.activity != nil {
		lines := footer(v.state, v.now(), v.activity, v.width-1)
		fmt.Fprint(v.out, strings.Join(lines, "\n"))
		v.footer = len(lines)
	}
}

// erase moves to the footer's first line and clears to the end of the screen.
func (v *View) erase() {
	if v.footer == 0 {
		return
	}
	if v.footer > 1 {
		fmt.Fprintf(v.out, "\x1b[%dA", v.footer-1)
	}
	fmt.Fprint(v.out, "\r\x1b[J")
	v.footer = 0
}

// footer is the live part: how far, how long still, and who does what.
func footer(s epic.State, now time.Time, activity func(epic.TaskID) string, width int) []string {
	c := epic.Count(s, now)
	head := fmt.Sprintf(" %s %d/%d done", bar(c.Done, c.Total, min(40, width/2)), c.Done, c.Total)
	if eta := epic.ETA(s, now); eta > 0 && s.Run.Drain == "" {
		head += "  eta " + cli.Span(eta)
	}
	if c.NeedsYou > 0 {
		head += fmt.Sprintf("  %d need you", c.NeedsYou)
	}
	if s.Run.Drain != "" {
		head += "  draining"
	}
	if s.Run.Paused {
		head += "  paused"
	}
	lines := []string{"", cli.Clip(head, width)}
	for _, t := range s.Tasks {
		if body, ok := doing(s, t, now, activity); ok && len(lines) < 10 {
			lines = append(lines, cli.Clip(body, width))
		}
	}
	if now.Before(s.Cooldown) {
		lines = append(lines, cli.Clip(fmt.Sprintf(" ~ all agents wait %s: %s", cli.Span(s.Cooldown.Sub(now)), s.Cooling), width))
	}
	return append(lines, cli.Clip(" ctrl-c stops after what runs now, twice stops at once", width))
}

// doing is the footer's line of a task that something happens to.
func doing(s epic.State, t *epic.Task, now time.Time, activity func(epic.TaskID) string) (string, bool) {
	a := t.Last()
	switch {
	case t.State == epic.Validating:
		return fmt.Sprintf(" ● %-10s gate", t.ID), true
	case t.State == epic.Queued:
		return fmt.Sprintf(" ○ %-10s waits to land", t.ID), true
	case t.State != epic.Running:
		return "", false
	}
	what := activity(t.ID)
	if what == "" {
		what = t.Title
	}
	body := fmt.Sprintf(" ● %-10s %4s  %s", t.ID, cli.Span(now.Sub(a.Started)), text.Clause(what, 200))
	if a.Number > 1 {
		body += fmt.Sprintf("  (attempt %d)", a.Number)
	}
	return body, true
}

func bar(done, total, width int) string {
	full := 0
	if total > 0 {
		full = done * width / total
	}
	return "▕" + strings.Repeat("█", full) + strings.Repeat("░", width-full) + "▏"
}
