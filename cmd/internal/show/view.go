package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/log"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// ViewOptions say what a view is of.
type ViewOptions struct {
	// Run is the number of the first run whose events are shown.
	Run int
	// Title is the epic's id and title.
	Title string
	// Foot says what keys do.
	Foot string
	// Recent bounds the lines of the past that a view begins with; 0 is all of the run.
	Recent int
}

// View shows a run as it goes: permanent lines, and on a terminal a small live
// footer below them. Without a terminal each line is a logfmt record. It only watches: where its
// output is stuck, it is late, and nobody else. It is for one goroutine.
type View struct {
	app      *cli.App
	watch    *watch.Watch
	options  ViewOptions
	terminal bool
	plain    *log.Logger
	at       time.Time // of the event whose line plain writes

	begun  bool
	footer []string // what is drawn below the last permanent line
	held   string   // which sessions have all places, as was said last
	lines  bytes.Buffer
}

// NewView makes the view of a run; it shows nothing yet.
func NewView(a *cli.App, w *watch.Watch, o ViewOptions) *View {
	v := &View{app: a, watch: w, options: o}
	if _, v.terminal = a.Terminal(a.Progress()); !v.terminal {
		v.plain = log.NewWithOptions(&v.lines, log.Options{Formatter: log.LogfmtFormatter, ReportTimestamp: true, TimeFunction: func(time.Time) time.Time { return v.at.UTC() }, TimeFormat: time.RFC3339})
	}
	return v
}

// ErrOutput says that the output takes nothing more: nobody looks on.
var ErrOutput = errors.New("the run cannot be shown any more")

// Title is how a view is headed.
func Title(id epic.TaskID, title string) string {
	return strings.TrimSpace(fmt.Sprintf("%s  %s", text.Clause(string(id), 64), text.Clause(title, 200)))
}

// Live shows what comes until ctx ends, and then what has come by then, without the footer. It
// fails when the journal cannot be read, and with [ErrOutput].
func (v *View) Live(ctx context.Context) error {
	tick := time.NewTicker(watch.Every)
	defer tick.Stop()
	for {
		if err := v.Show(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return v.End()
		}
	}
}

// Show shows what has come since it was called last, and draws the footer anew. It fails as Live does.
func (v *View) Show() error { return v.show(true) }

// End shows what has come, and takes the footer away; what was printed above it stays. It fails
// as Live does.
func (v *View) End() error { return v.show(false) }

func (v *View) show(footed bool) error {
	width, _ := v.app.Terminal(v.app.Progress())
	past, err := v.read(width)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it comes, or somebody has removed it: there is nothing to be shown
	}
	if most := v.options.Recent; !v.begun && most > 0 && len(past) > most {
		past = past[len(past)-most:]
	}
	if footed {
		past = append(past, v.places(width))
	}
	body := strings.Join(past, "")
	if v.terminal && !v.begun {
		body = v.options.Title + "\n\n" + body
	}
	v.begun = true
	if writeErr := v.draw(body, footed, width); writeErr != nil {
		return errors.Join(err, fmt.Errorf("%w: %w", ErrOutput, writeErr))
	}
	return err
}

// draw writes above the footer, and draws that anew where something has changed.
func (v *View) draw(body string, footed bool, width int) error {
	var foot []string
	if v.terminal && footed {
		s, activity := v.watch.Snapshot()
		foot = footer(s, v.app.Now(), activity.Of, v.options.Foot, width-1)
	}
	if body == "" && slices.Equal(foot, v.footer) {
		return nil
	}
	var out strings.Builder
	if n := len(v.footer); n > 1 {
		fmt.Fprintf(&out, "\x1b[%dA", n-1) // to its first line,
	}
	if len(v.footer) > 0 {
		out.WriteString("\r\x1b[J") // and from there to the end of the screen
	}
	out.WriteString(body)
	if len(foot) > 0 {
		out.WriteString(strings.Join(foot, "\n") + "\x1b[K") // else the last word waits in the filter for secrets, as the beginning of one
	}
	v.footer = foot
	_, err := io.WriteString(v.app.Progress(), out.String())
	return err
}

// read takes the events that have come, and gives a line for each that is for people.
func (v *View) read(width int) (lines []string, err error) {
	err = v.watch.Read(func(e watch.Event) error {
		if e.State.Run.Number < v.options.Run {
			return nil
		}
		l, ok := lineOf(e.Event, e.State)
		if !ok {
			return nil
		}
		l.text = text.Clause(l.text, 2000)
		v.lines.Reset()
		if v.plain != nil {
			v.log(e.Event, l)
		} else {
			since := cli.Span(e.At.Sub(e.State.Run.Started))
			fmt.Fprintln(&v.lines, text.Cut(fmt.Sprintf("%5s  %-8s %-10s %s", since, l.word, l.task, l.text), width-1))
		}
		lines = append(lines, v.lines.String())
		return nil
	})
	return lines, err
}

// places is the line that says which sessions have the places that ready tasks wait for, once; ""
// for none.
func (v *View) places(width int) string {
	s, _ := v.watch.Snapshot()
	why := epic.HeldPlaces(s, v.app.Now())
	if s.Run.Number < v.options.Run || why == v.held {
		return ""
	}
	if v.held = why; why == "" {
		return ""
	}
	v.lines.Reset()
	if v.terminal {
		fmt.Fprintln(&v.lines, text.Cut(fmt.Sprintf("%5s  %-8s %-10s %s", cli.Span(v.app.Now().Sub(s.Run.Started)), "waits", "", "for a place: "+why), width-1))
	} else {
		v.plain.Warn("waits for a place: " + why)
	}
	return v.lines.String()
}

// log writes a line for a program to read.
func (v *View) log(e epic.Event, l line) {
	if v.at = e.At; v.at.IsZero() {
		v.at = v.app.Now()
	}
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

// footer is the live part: how far, how long still, and who does what.
func footer(s epic.State, now time.Time, activity func(epic.TaskID) string, foot string, width int) []string {
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
	lines := []string{"", text.Cut(head, width)}
	for _, t := range s.Tasks {
		if body, ok := doing(s, t, now, activity); ok && len(lines) < 10 {
			lines = append(lines, text.Cut(body, width))
		}
	}
	if now.Before(s.Cooldown) {
		lines = append(lines, text.Cut(fmt.Sprintf(" ~ all agents wait %s: %s", cli.Span(s.Cooldown.Sub(now)), s.Cooling), width))
	}
	return append(lines, text.Cut(" "+foot, width))
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
