package cli

import (
	"fmt"
	"io"
	"sync"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// output is where a program's standard output or error goes. It keeps the first error, whoever
// writes, and takes nothing more once a signal ends the program: what fails then fails for that.
type output struct {
	to   io.Writer
	over <-chan struct{} // closed when a signal ends the program

	mu  sync.Mutex
	err error
}

// Write takes p. It fails as the writer behind it does.
func (o *output) Write(p []byte) (int, error) {
	select {
	case <-o.over:
		return len(p), nil
	default:
	}
	n, err := o.to.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Unwrap is the writer behind.
func (o *output) Unwrap() io.Writer { return o.to }

func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// RedactOutput has everything that the program prints go through Redact. Done flushes, and gives the
// exit code of a command that ended with exit: where standard output did not take all, that is
// [ExitMachine] and standard error says why. Where nobody reads it any more, a reader that is gone
// or a terminal, it is that of the signal which says so.
func (a *Invocation) RedactOutput() (done func(exit int) int) {
	a.Redact = a.redactor(nil)
	a.over = make(chan struct{})
	terminal := OnTerminal(a.Stdout)
	kept := &output{to: a.Stdout, over: a.over}
	out, errs := a.Redact.Live(kept), a.Redact.Live(&output{to: a.Stderr, over: a.over})
	a.Stdout, a.Stderr = out, errs
	return func(exit int) int {
		_ = out.Flush() // which kept knows
		switch err := kept.failed(); {
		case err == nil || exit == ExitMachine: // which was said
		case readerGone(err) && exit == ExitDone:
			exit = exitPipe
		case terminal && exit == ExitDone:
			exit = ExitHangup
		case !readerGone(err) && !terminal:
			exit = ExitMachine
			r, _ := reason.Of(reason.Machine)
			a.showText(&Error{Code: string(reason.Machine), What: fmt.Sprintf("standard output does not take what was to be printed: %v", err), Why: r.Means,
				Fix: []string{"mend that, and give the command again"}, Exit: exit})
		}
		_ = errs.Flush() // no one is left to report it to
		return exit
	}
}
