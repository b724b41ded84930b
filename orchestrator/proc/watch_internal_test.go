package proc

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watched is a watch over a process whose life the test makes up.
func watched(sp Spec) (w *watch, output *atomic.Int64, cpu *time.Duration) {
	output, cpu = &atomic.Int64{}, new(time.Duration)
	w = newWatch(sp, output)
	w.cpu = func(int) time.Duration { return *cpu }
	return w, output, cpu
}

func TestWatchCounts(t *testing.T) {
	t.Parallel()
	w, output, cpu := watched(Spec{Idle: time.Minute, Timeout: time.Hour})
	now := w.last
	pass := func(ticks int) (cause Cause) {
		for range ticks {
			now = now.Add(w.every)
			if cause = w.check(now, 1); cause != "" {
				break
			}
		}
		return cause
	}
	perIdle := int(time.Minute / w.every)
	require.Empty(t, pass(perIdle-1))
	output.Add(1)
	require.Empty(t, pass(perIdle-1), "output is life")
	*cpu += w.every / 10
	require.Empty(t, pass(perIdle-1), "processor time is life")
	*cpu += w.every / 1000
	require.Equal(t, Idle, pass(perIdle-1), "a heartbeat is not")
}

func TestWatchDoesNotCountTimeInWhichItSlept(t *testing.T) {
	t.Parallel()
	w, _, _ := watched(Spec{Idle: time.Minute, Timeout: time.Hour})
	require.Empty(t, w.check(w.last.Add(8*time.Hour), 1))
	require.Equal(t, 2*w.every, w.lived)
	require.Equal(t, 2*w.every, w.quiet)
}

func TestWatchTimesOutTheBusy(t *testing.T) {
	t.Parallel()
	w, output, _ := watched(Spec{Timeout: time.Minute})
	cause, now, ticks := Cause(""), w.last, 0
	for cause == "" {
		output.Add(1)
		now = now.Add(w.every)
		cause = w.check(now, 1)
		ticks++
	}
	require.Equal(t, Timeout, cause)
	require.Equal(t, time.Minute, time.Duration(ticks)*w.every)
}

func TestWatchTicks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		timeout, idle, every time.Duration
	}{
		{0, 0, longestTick},
		{45 * time.Minute, 10 * time.Minute, longestTick},
		{time.Minute, 0, 3 * time.Second},
		{time.Hour, time.Second, 50 * time.Millisecond},
		{time.Millisecond, time.Hour, shortestTick},
		{time.Hour, time.Millisecond, shortestTick},
	} {
		w, _, _ := watched(Spec{Timeout: test.timeout, Idle: test.idle})
		require.Equal(t, test.every, w.every, "timeout %v, idle %v", test.timeout, test.idle)
	}
	var none *watch
	ticks, stop := none.ticks()
	require.Nil(t, ticks)
	stop()
}
