package proc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

const (
	pollInterval = 20 * time.Millisecond
	lastPatience = 2 * time.Second // for the kernel, after SIGKILL
)

// ErrMarker says that a marker is not "NAME=value" with both parts, so that it could match anything.
var ErrMarker = errors.New("marker is not NAME=value")

// Survivors gives the processes of this machine whose environment carries the marker, "NAME=value",
// and all that is below a guard that has it; not the caller and not its ancestors. It sees those that it may look at, which are those of the
// same user, and on systems other than Linux none. It fails with [ErrMarker].
func Survivors(marker string) ([]int, error) {
	found, err := carriers(marker)
	return pidsOf(found), err
}

// Reap ends the processes that carry the marker. It waits up to wait for them to end by themselves,
// because git or bd that is killed at work leaves locks behind; then it sends SIGTERM, grace later
// SIGKILL, and gives those that are alive even then. Those that are stopped are woken. New carriers that appear meanwhile are ended too.
// It fails with [ErrMarker], and with context.Cause(ctx) when ctx ends, which stops no process.
func Reap(ctx context.Context, marker string, wait, grace time.Duration) ([]int, error) {
	left, err := awaitGone(ctx, marker, wait, 0)
	if err == nil && len(left) > 0 {
		left, err = awaitGone(ctx, marker, grace, syscall.SIGTERM)
	}
	if err == nil && len(left) > 0 {
		left, err = awaitGone(ctx, marker, lastPatience, syscall.SIGKILL)
	}
	return pidsOf(left), err
}

// awaitGone signals every carrier once, the late ones too, and waits up to patience until none is left.
func awaitGone(ctx context.Context, marker string, patience time.Duration, sig syscall.Signal) ([]identity, error) {
	end := time.NewTimer(patience)
	defer end.Stop()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	told := make(map[identity]bool)
	for over := false; ; {
		left, err := carriers(marker)
		if err != nil || len(left) == 0 || over {
			return left, err
		}
		wake(left) // a guard that was stopped ends its tree then
		for _, p := range left {
			if sig != 0 && !told[p] {
				told[p] = true
				p.signal(sig)
			}
		}
		select {
		case <-ctx.Done():
			return left, fmt.Errorf("reaping: %w", context.Cause(ctx))
		case <-end.C:
			over = true
		case <-poll.C:
		}
	}
}

func carriers(marker string) ([]identity, error) {
	name, value, _ := strings.Cut(marker, "=")
	if name == "" || value == "" {
		return nil, fmt.Errorf("%w: %q", ErrMarker, marker)
	}
	return marked(marker)
}

func pidsOf(found []identity) []int {
	var pids []int
	for _, p := range found {
		pids = append(pids, p.pid)
	}
	return pids
}
