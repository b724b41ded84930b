package proc

import (
	"sync/atomic"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
)

const (
	shortestTick = 20 * time.Millisecond
	longestTick  = 15 * time.Second
	busyShare    = 100 // one part in 100 of the time on a processor is life; an idle client uses less
)

// watch measures how long a process has lived and how long it has been quiet. Both are sums of
// steps between ticks, and a step is never counted for more than two ticks: time in which we
// were stopped ourselves, or the machine slept, is not held against the process.
type watch struct {
	timeout, idle time.Duration
	every         time.Duration
	output        *atomic.Int64
	moved         func() bool
	cpu           func(pid int) time.Duration

	last        time.Time
	lived       time.Duration
	quiet       time.Duration
	lastOutput  int64
	lastCPUTime time.Duration
}

func newWatch(sp Spec, output *atomic.Int64) *watch {
	w := &watch{timeout: sp.Timeout, idle: sp.Idle, output: output, moved: sp.Moved, cpu: treeCPU, last: time.Now()}
	w.every = longestTick
	for _, limit := range []time.Duration{sp.Timeout, sp.Idle} {
		if limit > 0 {
			w.every = max(shortestTick, min(w.every, limit/20))
		}
	}
	return w
}

// ticks is when check is due; never, where there is nothing to watch.
func (w *watch) ticks() (<-chan time.Time, func()) {
	if w == nil || (w.timeout <= 0 && w.idle <= 0) {
		return nil, func() {}
	}
	ticker := time.NewTicker(w.every)
	return ticker.C, ticker.Stop
}

// check gives the cause for which the process below the guard pid has to be stopped now, or none.
func (w *watch) check(now time.Time, pid int) Cause {
	step := command.Counted(now.Sub(w.last), w.every)
	w.last = now
	w.lived += step
	if w.timeout > 0 && w.lived >= w.timeout {
		return Timeout
	}
	if w.idle <= 0 {
		return ""
	}
	w.quiet += step
	if w.active(step, pid) || (w.quiet >= w.idle && w.moved != nil && w.moved()) {
		w.quiet = 0
	}
	if w.quiet >= w.idle {
		return Idle
	}
	return ""
}

func (w *watch) active(step time.Duration, pid int) bool {
	output, cpu := w.output.Load(), w.cpu(pid)
	used := cpu - w.lastCPUTime
	wrote := output != w.lastOutput
	w.lastOutput, w.lastCPUTime = output, cpu
	return wrote || used > step/busyShare
}
