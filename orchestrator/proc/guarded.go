package proc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
)

const (
	// lifeName is the environment variable by which the processes of one guarded command are found
	// when their guard was killed; its value is random.
	lifeName = "ORCH_LIFE"
	// guardStart is how long a guard may take to start its command.
	guardStart = 30 * time.Second
	// guardPatience is how much longer than its own limits a guard may take before it is itself ended.
	guardPatience = 3 * time.Second
	// haltInterval is the pause between two looks whether a guard is stopped, and haltLooks is how often
	// in a row it is found so before it is taken for dead: a moment is nobody's harm.
	haltInterval = 500 * time.Millisecond
	haltLooks    = 4
	// sweepInterval is the pause between two blows at what a dead guard has left: short, since
	// what forks must not get away.
	sweepInterval = time.Millisecond
	// sweepPatience is how long that may go on.
	sweepPatience = 10 * time.Second
)

// guarded is a command below a guard, seen from the starter.
type guarded struct {
	child   *child // the guard
	line    *os.File
	family  *Children
	life    string // "ORCH_LIFE=..."
	command int    // pid
	reports chan report
}

// ending is how a command ended.
type ending struct {
	code      int
	signal    string
	cause     Cause
	survivors []int
}

// supervision is how a command is to be stopped, and by whom.
type supervision struct {
	interrupt order
	grace     time.Duration // from the interrupt to the kill
	stops     <-chan Cause  // Killed shortens the grace
	watch     *watch
	limits    command.Limits
}

// startGuarded fails when there is no guard, or when the guard or the command cannot be started.
func (s *System) startGuarded(ctx context.Context, c command.Cmd, o launchOptions) (*guarded, error) {
	if len(s.options.Guard) == 0 {
		return nil, ErrNoGuard
	}
	if err := s.options.Children.adopt(); err != nil {
		return nil, err
	}
	ours, theirs, err := newLifeline()
	if err != nil {
		return nil, err
	}
	g := &guarded{line: ours, family: s.options.Children, life: lifeName + "=" + rand.Text(), reports: make(chan report, 4)}
	o.prefix, o.lifeline, o.children, o.system = guardArgv(s.options), theirs, s.options.Children, s
	g.child, err = launch(ctx, s.environment(c, g.life), o)
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	if err := g.awaitStart(); err != nil {
		closing := ours.Close()
		g.force()
		<-g.child.exited
		g.sweep()
		g.child.drain()
		return nil, errors.Join(err, closing)
	}
	return g, nil
}

// awaitStart reads the first report. It fails with the error of exec, or when the guard says nothing.
func (g *guarded) awaitStart() error {
	if err := g.line.SetReadDeadline(time.Now().Add(guardStart)); err != nil {
		return err
	}
	decoder := json.NewDecoder(g.line)
	var first report
	if err := decoder.Decode(&first); err != nil {
		return fmt.Errorf("%w: %w", command.ErrGuard, err)
	}
	if first.Errno != 0 {
		return fmt.Errorf("starting: %w", syscall.Errno(first.Errno))
	}
	g.command = first.Started
	go readReports(decoder, g.reports)
	return g.line.SetReadDeadline(time.Time{})
}

// supervise returns when the guard has ended, and with it the tree.
func (g *guarded) supervise(ctx context.Context, s supervision) ending {
	st := &stopper{supervision: s, guarded: g, end: ending{cause: Ended}, timer: time.NewTimer(time.Hour)}
	defer st.timer.Stop()
	tick, stopTick := s.watch.ticks()
	defer stopTick()
	halts := time.NewTicker(haltInterval)
	defer halts.Stop()
	over := exceeded(g.child.cmd.Process.Pid, s.limits, g.child.exited)
	done := ctx.Done()
	reports := g.reports
	for {
		select {
		case <-g.child.exited:
			return st.finish()
		case r, ok := <-reports:
			if !ok {
				reports = nil
			}
			st.take(r)
		case <-done:
			done = nil
			st.stop(Interrupted)
		case cause := <-s.stops:
			st.stop(cause)
		case cause := <-over:
			st.stop(cause)
			st.stop(Killed)
		case now := <-tick:
			st.look(now)
		case <-halts.C:
			st.lookForHalt()
		case <-st.timer.C:
			st.escalate()
		}
	}
}

// stopper is where a command stands on its way to the end; one goroutine owns it.
type stopper struct {
	supervision
	guarded *guarded
	end     ending
	grade   grade
	ended   bool // the command itself
	gone    bool // the guard found nothing left
	halts   int  // looks in a row at which it was stopped
	timer   *time.Timer
}

type grade int

const (
	running grade = iota
	lingering
	interrupted
	killed
	forced
)

// look asks the watch, for as long as nobody has begun to stop the command.
func (st *stopper) look(now time.Time) {
	if st.grade != running {
		return
	}
	if cause := st.watch.check(now, st.guarded.child.cmd.Process.Pid); cause != "" {
		st.stop(cause)
	}
}

// lookForHalt takes a guard that does not run for dead.
func (st *stopper) lookForHalt() {
	if st.grade == forced {
		return
	}
	if !halted(st.guarded.child.cmd.Process.Pid, st.guarded.command) {
		st.halts = 0
		return
	}
	if st.halts++; st.halts < haltLooks {
		return
	}
	if st.end.cause == Ended && !st.ended {
		st.end.cause = Halted
	}
	st.grade = forced
	st.guarded.force()
}

// take notes what the guard reports; a guard that goes on after that has its own short limits.
func (st *stopper) take(r report) {
	if r.Ended {
		st.end.code, st.ended = r.Code, true
		st.end.signal = unix.SignalName(syscall.Signal(r.Signal))
		if st.grade == running {
			st.grade = lingering
			st.timer.Reset(lingerGrace + killTimeout + guardPatience)
		}
	}
	if r.Gone {
		st.gone, st.end.survivors = true, r.Survivors
	}
}

// stop begins the stop, or with Killed shortens it. The first cause is the one that counts.
func (st *stopper) stop(cause Cause) {
	if st.end.cause == Ended && !st.ended {
		st.end.cause = cause
	}
	switch {
	case cause == Killed && st.grade < killed:
		st.kill()
	case st.grade == running:
		st.grade = interrupted
		st.guarded.order(st.interrupt)
		st.timer.Reset(st.grace)
	}
}

func (st *stopper) escalate() {
	if st.grade == interrupted {
		st.kill()
		return
	}
	st.grade = forced
	st.guarded.force()
}

func (st *stopper) kill() {
	st.grade = killed
	st.guarded.order(orderKill)
	st.timer.Reset(killTimeout + guardPatience)
}

// finish reads the last reports. A guard that did not say that the tree is gone was killed,
// or could not end all of it: then what it has left is ended here.
func (st *stopper) finish() ending {
	must(st.guarded.line.SetReadDeadline(time.Now().Add(drainTime)), "a lifeline takes a deadline")
	for r := range st.guarded.reports {
		st.take(r)
	}
	if !st.ended {
		own := st.guarded.child.ending(st.end.cause)
		st.end.code, st.end.signal = own.code, own.signal
	}
	if !st.gone || len(st.end.survivors) > 0 {
		st.end.survivors = st.guarded.sweep()
	}
	must(st.guarded.line.Close(), "an open lifeline can be closed")
	return st.end
}

// order reaches a guard that lives; one that does not is noticed by its end.
func (g *guarded) order(o order) bool {
	_, err := g.line.Write([]byte{byte(o)})
	return err == nil
}

// force is for a guard that does not do its work: it ends the tree, and then the guard.
func (g *guarded) force() {
	pid := g.child.cmd.Process.Pid
	for end := time.Now().Add(killTimeout); time.Now().Before(end); time.Sleep(sweepInterval) {
		tree := below(pid)
		if len(tree) == 0 {
			break
		}
		killGroups(tree)
		for _, p := range tree {
			p.signal(syscall.SIGKILL)
		}
	}
	signalGroup(pid, syscall.SIGKILL)
}

// sweep kills what the guard has left until it is gone, and gives what it could not end: what
// carries the life of the command, and what has come to this process as an orphan, in whatever
// session, whatever it made of its environment. The guard itself is left out.
func (g *guarded) sweep() []int {
	end := time.Now().Add(sweepPatience)
	again := time.NewTicker(sweepInterval)
	defer again.Stop()
	for quiet := 0; ; <-again.C {
		left := g.family.endStrangers(end)
		for _, p := range g.carriers() {
			p.signal(syscall.SIGKILL)
			left = append(left, p.pid)
		}
		if len(left) > 0 {
			quiet = 0
		} else if quiet++; quiet > 1 { // what was born while one looked is seen the second time
			return nil
		}
		if time.Now().After(end) {
			return left
		}
	}
}

func (g *guarded) carriers() []identity {
	found, err := marked(g.life)
	if err != nil {
		return nil // nothing can be seen, so nothing is known to be left
	}
	return slices.DeleteFunc(found, func(p identity) bool { return p.pid == g.child.cmd.Process.Pid })
}

// guardArgv is the command line of a guard, up to the "--". The marker is in it, since the
// environment of a guard cannot be read by others.
func guardArgv(o Options) []string {
	argv := slices.Clone(o.Guard)
	if o.Marker != "" {
		argv = append(argv, o.Marker)
	}
	return argv
}
