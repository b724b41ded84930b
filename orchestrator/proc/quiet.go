package proc

import (
	"context"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
)

// hurried is how long a command with a limit may do nothing once the System was told to hurry.
const hurried = 2 * time.Second

// quiet measures how long a command without a guard has done nothing. Steps are counted as by [watch].
type quiet struct {
	pid    int
	limit  time.Duration
	output *atomic.Int64

	last       time.Time
	since      time.Duration
	lastOutput int64
	lastCPU    time.Duration
}

func newQuiet(pid int, limit time.Duration, output *atomic.Int64) *quiet {
	if !seesTimes {
		limit *= 10
	}
	return &quiet{pid: pid, limit: limit, output: output, last: time.Now()}
}

func (q *quiet) every() time.Duration {
	return max(shortestTick, min(longestTick, q.limit/20))
}

// over reports whether the command has done nothing for too long. Any processor time at all is life: what waits for a
// disk uses a little now and then.
func (q *quiet) over(now time.Time) bool {
	step := command.Counted(now.Sub(q.last), q.every())
	q.last = now
	output, cpu := q.output.Load(), ownCPU(q.pid)
	if output != q.lastOutput || cpu != q.lastCPU {
		q.since, q.lastOutput, q.lastCPU = 0, output, cpu
		return false
	}
	q.since += step
	return q.since >= q.limit
}

// waitOrEnd waits for the process, and ends its group in two steps once ctx is done, or once it has done nothing for too
// long; q may be nil. A process that not even SIGKILL ends is given up.
func (c *child) waitOrEnd(ctx context.Context, grace time.Duration, q *quiet, hurry <-chan struct{}) ending {
	cause := c.awaitEnd(ctx, q, hurry)
	if cause == Ended {
		return c.ending(Ended)
	}
	select { // both may be so, when this process was stopped for a while
	case <-c.exited:
		return c.ending(Ended)
	default:
	}
	signalGroup(c.cmd.Process.Pid, syscall.SIGTERM)
	kill := time.NewTimer(grace)
	defer kill.Stop()
	select {
	case <-c.exited:
	case <-kill.C:
	}
	signalGroup(c.cmd.Process.Pid, syscall.SIGKILL)
	gone := time.NewTimer(killTimeout)
	defer gone.Stop()
	select {
	case <-c.exited:
		return c.ending(cause)
	case <-gone.C: // it waits in the kernel, for a file system whose server is gone
		return ending{code: 128 + int(syscall.SIGKILL), signal: unix.SignalName(syscall.SIGKILL), cause: cause}
	}
}

// awaitEnd is [Ended] when the process has ended, or why it has to.
func (c *child) awaitEnd(ctx context.Context, q *quiet, hurry <-chan struct{}) Cause {
	if q == nil {
		select {
		case <-c.exited:
			return Ended
		case <-ctx.Done():
			return Interrupted
		}
	}
	tick := time.NewTicker(q.every())
	defer tick.Stop()
	for {
		select {
		case <-c.exited:
			return Ended
		case <-ctx.Done():
			return Interrupted
		case <-hurry:
			hurry = nil
			q.limit = min(q.limit, hurried)
			tick.Reset(q.every())
		case now := <-tick.C:
			if q.over(now) {
				return Idle
			}
		}
	}
}
