package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/drive"
	"github.com/beadsorch/orch/cmd/internal/show"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/watch"
)

func newWatchCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "watch [EPIC]",
		Aliases: []string{"attach"},
		Short:   "show a run that goes on, from any terminal",
		Long: `Watch shows the run of an epic that goes on, whoever drives it, to its end, and
exits as the run does. q or ctrl-c leaves it; the run goes on. Of an epic that
no run drives it shows the status, and how the newest run ended.
Before the first run it shows the status alone, and exits 0; with --json that
is the document of orch status, in place of the lines of orch events.`,
		Args:        cli.AtMost(1, "at most one epic"),
		Annotations: cli.PrintsLines(),
		RunE:        func(c *cobra.Command, args []string) error { return a.watch(c.Context(), args) },
	}
}

// viewer shows the newest run of an epic that some other process drives.
type viewer struct {
	app   *app
	epic  *workspace.EpicView
	watch *watch.Watch
	view  *show.View // nil where events are printed for a program
	run   int
}

func (a *app) watch(ctx context.Context, args []string) error {
	p, task, err := workspace.Look(ctx, a.App, args)
	if err != nil {
		return err
	}
	if task != nil {
		return cli.Usage("%s is a task of %s; name the epic", task.ID, p.State.Epic)
	}
	if !p.Held && p.State.Run.Number == 0 { // no run to look back on
		return show.Page(ctx, p) // there are no events either
	}
	v := &viewer{app: a, epic: p, watch: watch.Open(p.Folder, a.App.Now), run: p.State.Run.Number}
	if !p.Held && !a.App.JSON {
		if err := show.Page(ctx, p); err != nil {
			return err
		}
		return v.ended()
	}
	if p.Held {
		a.App.End() // what this process holds of the repository: from here on it reads the epic's folder alone
	}
	if !a.App.JSON {
		v.show()
	}
	leave, back := a.leaving()
	defer back()
	for {
		over, err := v.look()
		if err != nil {
			return err
		}
		if over {
			return v.ended()
		}
		select {
		case <-time.After(watch.Every):
		case sig := <-leave:
			return v.left(sig)
		}
	}
}

// show begins the view of the run that goes on.
func (v *viewer) show() {
	title := v.epic.State.Epic.String()
	if t := v.epic.State.Task(v.epic.State.Epic); t != nil {
		title = show.Title(t.ID, t.Title)
	}
	v.view = show.NewView(v.app.App, v.watch, show.ViewOptions{Run: v.run, Title: title, Foot: "q leaves; the run goes on", Recent: 10})
}

// look shows what has come, and says whether the run that was watched is over.
func (v *viewer) look() (over bool, err error) {
	holder, held, err := v.watch.Holder() // before the journal: what it has when nobody writes any more is all
	if err != nil {
		return false, err
	}
	if v.view != nil {
		err = v.view.Show()
	} else {
		err = v.watch.Read(v.print)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return false, viewError(err)
	}
	s, _ := v.watch.Snapshot()
	v.run = max(v.run, s.Run.Number) // another run may have begun before this one was seen to end
	_, kept := drive.Kept(v.epic.Folder, v.run)
	ended := !s.Run.Ended.IsZero() && kept && !holder.Started.After(s.Run.Ended) // else the next run is about to begin
	if held && !ended {
		return false, nil
	}
	if v.view != nil {
		err = viewError(v.view.End())
	}
	return true, err
}

// print prints an event of the run for a program.
func (v *viewer) print(e watch.Event) error {
	if e.Record.Seq == 0 || e.State.Run.Number < v.run {
		return nil
	}
	return show.PrintEvent(v.app.App, e.Record, func(epic.Event) bool { return true })
}

// ended says how the newest run ended, and is the error that the viewer ends with: that of the
// run.
func (v *viewer) ended() error {
	s, _ := v.watch.Snapshot()
	if s.Epic == "" { // nothing was read yet, or it is gone
		s = v.epic.State
	}
	out, kept := drive.Kept(v.epic.Folder, v.run)
	if out.Exit == cli.ExitDone && s.Run.Promise != string(epic.LoopDone) { // the journal is what counts
		kept = false
	}
	switch {
	case kept && out.Error != nil: // which may have kept it from its end
		return out.Say(v.app.App)
	case s.Looked().Run.CutOff():
		return cutOff(v.epic.State.Epic, v.run, "nobody drives it, and it has not ended")
	case v.app.App.JSON && kept:
		return cli.ExitWith(out.Exit) // the events have shown all
	case kept:
		return out.Say(v.app.App)
	}
	if !v.app.App.JSON {
		fmt.Fprintf(v.app.App.Stdout, "run %d of %s has ended: %s\n", v.run, s.Epic, s.Run.Promise)
	}
	if s.Run.Mode != epic.ModeRun {
		return nil // a short command, which says itself what it did
	}
	return cli.ExitWith(exitOf(s, endOf(s), 0))
}

// endOf is how the newest run ended, whatever has become of the epic since.
func endOf(s epic.State) epic.Summary {
	sum := epic.Summarize(s.WithoutRun(s.Run.Ended), s.Run.Ended)
	if was := epic.Promise(s.Run.Promise); sum.Promise != was {
		sum.Promise, sum.Code = was, s.Run.Drain
		if was == epic.LoopError && sum.Code == "" {
			sum.Code = reason.TrackerDown
		}
	}
	return sum
}

// left says that the run goes on.
func (v *viewer) left(sig os.Signal) error {
	if sig == syscall.SIGHUP {
		return cli.ExitWith(cli.ExitHangup)
	}
	if v.view != nil {
		if err := v.view.End(); err != nil {
			return cli.ExitWith(cli.ExitHangup)
		}
		id := cli.Quote(v.epic.State.Epic)
		fmt.Fprintf(v.app.App.Stdout, "%s goes on; orch watch %s shows it again, orch stop %s ends it after what runs now\n", v.epic.State.Epic, id, id)
	}
	return nil
}

// leaving tells when the person wants to leave: by a signal, or by the key q where there is a
// terminal. back makes the terminal as it was.
func (a *app) leaving() (leave <-chan os.Signal, back func()) {
	out := make(chan os.Signal, 4)
	signal.Notify(out, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	a.App.TakeSignals()
	keys, restore := cli.Keys(a.App.Stdin)
	over := make(chan struct{})
	go func() {
		for {
			select {
			case key, open := <-keys:
				if !open {
					return
				}
				if key == 'q' || key == 'Q' {
					out <- os.Interrupt
					return
				}
			case <-over:
				return
			}
		}
	}()
	return out, func() { signal.Stop(out); close(over); restore() }
}
