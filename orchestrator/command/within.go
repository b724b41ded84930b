package command

import (
	"context"
	"time"
)

// Within is ctx with a limit of time, which cause names when it is reached. Time in which this process
// was stopped itself, or the machine slept, counts for next to nothing: what it waits for may
// have been stopped with it. The context says no deadline. The caller calls cancel.
func Within(ctx context.Context, limit time.Duration, cause error) (within context.Context, cancel context.CancelFunc) {
	within, end := context.WithCancelCause(ctx)
	go func() {
		for left := limit; left > 0; {
			planned := min(left, max(20*time.Millisecond, min(15*time.Second, limit/20)))
			began := time.Now()
			timer := time.NewTimer(planned)
			select {
			case <-within.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			left -= Counted(time.Since(began), planned)
		}
		end(cause)
	}()
	return within, func() { end(context.Canceled) }
}

// Counted is how much of a step counts that was to take planned: of a longer one this process was
// stopped for the most.
func Counted(took, planned time.Duration) time.Duration { return min(took, 2*planned) }
