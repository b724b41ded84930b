package proc

import "github.com/beadsorch/orch/orchestrator/command"

// capture keeps the beginnings of the two output streams in memory.
type capture struct {
	stdout, stderr head
}

// head keeps the first limit bytes that it is given. It belongs to the goroutine that reads the pipe.
type head struct {
	limit   int
	kept    []byte
	dropped int64
}

func newCapture(limit int) *capture {
	if limit <= 0 {
		limit = defaultOutputBytes
	}
	return &capture{stdout: head{limit: limit}, stderr: head{limit: limit}}
}

func (h *head) add(p []byte) {
	keep := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:keep]...)
	h.dropped += int64(len(p) - keep)
}

// result may be asked for once both streams are drained.
func (c *capture) result(code int) command.Result {
	return command.Result{
		Stdout: c.stdout.kept, Stderr: c.stderr.kept, ExitCode: code,
		DroppedBytes: c.stdout.dropped + c.stderr.dropped,
	}
}
