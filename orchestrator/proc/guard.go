package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const (
	guardFailed   = 125                   // exit code of a guard that could not do its work
	lingerGrace   = 2 * time.Second       // for daemons, after the command itself has ended
	lostGrace     = 3 * time.Second       // for the tree, after the starter has died
	killTimeout   = 3 * time.Second       // for the kernel, after SIGKILL
	pressInterval = 25 * time.Millisecond // between rounds while a tree ends
)

// guard is the state of a guard process; one goroutine owns it.
type guard struct {
	line    *os.File
	orders  chan order
	signals chan os.Signal
	tick    *time.Ticker

	command int // pid
	status  report
	ending  bool
	killAt  time.Time
}

// Guard is the whole work of a guard process: it starts argv (a path and its arguments; what
// is before the first "--", and that, is skipped) with the environment environ and the inherited stdio, in a session
// of its own, adopts every orphan below it, and returns the exit code of argv, 128+n after
// signal n, when nothing of the tree is left.
//
// What outlives argv gets SIGTERM, and SIGKILL 2 s later. When the lifeline ends or the
// guard itself is told to end, the whole tree gets SIGTERM, and SIGKILL 3 s later. The caller
// exits with the returned code at once; 125 means that the guard could not do its work.
func Guard(argv, environ []string) int {
	if n := slices.Index(argv, "--"); n >= 0 {
		argv = argv[n+1:]
	}
	line, err := inheritedLifeline()
	if err == nil && len(argv) == 0 {
		err = fmt.Errorf("no command")
	}
	if err == nil {
		err = becomeReaper()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "orch guard:", err)
		return guardFailed
	}
	g := &guard{
		line: line, orders: make(chan order), signals: make(chan os.Signal, 16),
		tick: time.NewTicker(time.Hour),
	}
	signal.Notify(g.signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if err := g.start(argv, environ); err != nil {
		return guardFailed
	}
	go readOrders(line, g.orders)
	return g.run()
}

// start starts the command, tells the starter, and lets go of the command's stdio, so
// that the pipes end with the tree. It fails when the command cannot be started.
func (g *guard) start(argv, environ []string) error {
	runtime.LockOSThread() // the command is killed with the thread that started it, never to be unlocked
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: environ, Files: []uintptr{0, 1, 2}, Sys: commandAttr(),
	})
	if err != nil {
		errno, ok := err.(syscall.Errno)
		if !ok {
			errno = syscall.EINVAL
		}
		g.tell(report{Errno: int(errno)})
		return err
	}
	g.command = pid
	g.tell(report{Started: pid})
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil // the pipes are then given up by the starter, a second late
	}
	for fd := range 3 {
		redirect(int(null.Fd()), fd)
	}
	return nil
}

// tell reports; a starter that is gone is noticed where the orders are read.
func (g *guard) tell(r report) {
	line, err := json.Marshal(r)
	must(err, "a report is JSON")
	if _, err := g.line.Write(line); err != nil {
		g.line.Close()
	}
}

func (g *guard) run() int {
	for {
		ran := !g.status.Ended
		gone := g.reap()
		if ran && g.status.Ended && !gone { // all of the machine's processes are looked at only where something is left
			g.end(syscall.SIGTERM, lingerGrace)
		}
		if gone || g.overdue() {
			return g.finish(gone)
		}
		select {
		case s := <-g.signals:
			if s != syscall.SIGCHLD {
				g.end(syscall.SIGTERM, lostGrace)
			}
		case o, ok := <-g.orders:
			g.obey(o, ok)
		case <-g.tick.C:
			if !time.Now().Before(g.killAt) {
				signalTree(g.command, syscall.SIGKILL)
				g.press()
			}
		}
	}
}

// obey leaves the time between the grades to the starter, as long as there is one.
func (g *guard) obey(o order, alive bool) {
	switch {
	case !alive:
		g.orders = nil
		g.end(syscall.SIGTERM, lostGrace)
	case o == orderKill:
		g.end(syscall.SIGKILL, 0)
	default:
		signalTree(g.command, o.signal())
	}
}

// end signals the tree now and kills it after grace, or sooner where that was already set.
func (g *guard) end(sig syscall.Signal, grace time.Duration) {
	killAt := time.Now().Add(grace)
	if !g.ending || killAt.Before(g.killAt) {
		g.killAt = killAt
	}
	g.ending = true
	g.tick.Reset(pressInterval)
	signalTree(g.command, sig)
}

func (g *guard) overdue() bool {
	return g.ending && time.Since(g.killAt) > killTimeout
}

// reap waits for all children that have ended and says whether nothing is left. That a
// reaper has no child at all means that it has no descendant.
func (g *guard) reap() (gone bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return !groupLeft(g.command)
		case pid == 0:
			return false
		case pid == g.command && !g.status.Ended:
			g.commandEnded(status)
		}
	}
}

// commandEnded reports how; what the command has left behind gets a short time, when there is any.
func (g *guard) commandEnded(status syscall.WaitStatus) {
	g.status = report{Ended: true}
	g.status.Code, _ = waitStatus(status)
	if status.Signaled() {
		g.status.Signal = int(status.Signal())
	}
	g.tell(g.status)
}

// press follows what forks, without a pause, until the next round.
func (g *guard) press() {
	for end := time.Now().Add(pressInterval); time.Now().Before(end) && !g.reap(); {
		left := orphans()
		if len(left) == 0 {
			return
		}
		for _, pid := range slices.Backward(left) { // waited for by nobody else: the numbers are theirs
			signalGroup(pid, syscall.SIGKILL)
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// finish reports; what is not gone, and may not be seen at this moment, is left to the starter.
func (g *guard) finish(gone bool) int {
	last := g.status
	last.Gone = gone
	if !gone {
		for _, p := range below(os.Getpid()) {
			last.Survivors = append(last.Survivors, p.pid)
		}
	}
	g.tell(last)
	if !last.Ended {
		return guardFailed
	}
	return last.Code
}
