package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/drive"
	"github.com/beadsorch/orch/cmd/internal/hooks"
	"github.com/beadsorch/orch/cmd/internal/show"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/watch"
)

// attended reports whether a person looks on at a terminal, which may be closed while the run
// goes on. In CI, in an agent's session and within an attempt whoever has started the
// command waits for its end, and ends what it has left behind.
func (a *app) attended() bool {
	switch ci := a.App.Getenv("CI"); {
	case ci != "" && ci != "0" && ci != "false":
		return false
	case hooks.InClient(a.App), a.App.Getenv("ORCH_ATTEMPT") != "", len(proc.GuardsAbove(cli.GuardCommand)) > 0:
		return false
	}
	return cli.OnTerminal(a.App.Progress())
}

// start starts a driver for the epic, and shows its run to the end; with --detach it returns when
// the epic is held. What a person had to be asked they were asked before: the driver goes by the
// answers that are kept, and asks nobody.
func (a *app) start(ctx context.Context, w *workspace.Workspace, epicID epic.TaskID, f runFlags) error {
	in := make(chan os.Signal, 4)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(in)
	a.App.TakeSignals() // from here on they are the driver's
	d, err := drive.Start(w)
	if err != nil {
		return err
	}
	a.App.End() // what this process holds of the repository, which only the driver needs from here on
	hangup := make(chan struct{})
	defer forward(in, d, hangup)()
	held, ok := d.Held()
	if !ok {
		return a.sayEnd(d, epicID, 0)
	}
	if f.detach {
		a.sayStarted(w, epicID, held, d.PID())
		return nil
	}
	v := show.NewView(a.App, watch.Open(w.EpicDir(epicID), a.App.Now), show.ViewOptions{Run: held.Run, Title: held.Title, Foot: stopFoot})
	ended := make(chan struct{})
	go func() { d.Wait(); close(ended) }()
	if err := showUntil(v, ended, hangup); err != nil {
		return err
	}
	return a.sayEnd(d, epicID, held.Run)
}

// sayEnd says what the driver has said: its remarks, and how the run ended; run is 0 where none
// has begun. It is the error that the command ends with.
func (a *app) sayEnd(d *drive.Driver, epicID epic.TaskID, run int) error {
	out, told := d.Wait()
	fmt.Fprint(a.App.Stderr, d.Remarks())
	if told {
		return out.Say(a.App)
	}
	code, sig := d.Exit()
	if run == 0 && (sig == "SIGINT" || sig == "SIGTERM" || sig == "" && code == 128+int(syscall.SIGQUIT)) { // a person's: nothing has begun
		return cli.ExitWith(code)
	}
	how := sig
	if how == "" {
		how = fmt.Sprintf("exit %d", code)
	}
	return cutOff(epicID, run, fmt.Sprintf("its driver, process %d, has ended without a word (%s)", d.PID(), how))
}

// cutOff is the error of a viewer whose run has ended without an end; run is 0 where it has not
// seen it begin.
func cutOff(epicID epic.TaskID, run int, what string) error {
	which := "the run"
	if run > 0 {
		which = fmt.Sprintf("run %d", run)
	}
	return &cli.Error{Code: "RUN_CUT_OFF", What: fmt.Sprintf("%s of %s was cut off: %s", which, epicID, what), Exit: cli.ExitCutOff,
		Why: "its agents end with it, and their work is kept", Fix: []string{"orch run " + cli.Quote(epicID) + "   goes on where it was"}}
}

// viewError is the error of a viewer that cannot show the run: where the terminal is gone it shows
// nothing.
func viewError(err error) error {
	if errors.Is(err, show.ErrOutput) {
		return cli.ExitWith(cli.ExitHangup)
	}
	return err
}

// showUntil shows a run until it has ended, and then the rest of it. It fails where the terminal
// is gone, or the journal cannot be read, which ends nothing but the view.
func showUntil(v *show.View, ended, hangup <-chan struct{}) error {
	tick := time.NewTicker(watch.Every)
	defer tick.Stop()
	for {
		if err := v.Show(); err != nil {
			return viewError(err)
		}
		select {
		case <-ended:
			return viewError(v.End())
		case <-hangup:
			return cli.ExitWith(cli.ExitHangup)
		case <-tick.C:
		}
	}
}

// forward passes the signals that come in on to the driver, but for that of a closed terminal:
// that closes hangup.
func forward(in <-chan os.Signal, d *drive.Driver, hangup chan<- struct{}) (stop func()) {
	over := make(chan struct{})
	go func() {
		for gone := false; ; {
			select {
			case sig := <-in:
				if sig == syscall.SIGHUP {
					if !gone {
						close(hangup)
					}
					gone = true
				} else if sig, ok := sig.(syscall.Signal); ok {
					d.Signal(sig)
				}
			case <-over:
				return
			}
		}
	}()
	return func() { close(over) }
}

// sayStarted says where to look for a run that goes on.
func (a *app) sayStarted(w *workspace.Workspace, epicID epic.TaskID, held drive.Held, pid int) {
	id := cli.Quote(epicID)
	log := w.EpicDir(epicID) + "/" + drive.LogFile
	a.App.Print(document.Started{Epic: epicID, Run: held.Run, PID: pid, Log: log},
		fmt.Sprintf("run %d of %s goes on as process %d\n  orch watch %s   shows it\n  orch stop %s    ends it after what runs now\n", held.Run, held.Title, pid, id, id))
}
