package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitPipe is what a shell says of a program whose reader has gone.
const exitPipe = 128 + int(syscall.SIGPIPE)

// exitQuit is what a shell says of a program that was ended by the key for that, ctrl-\.
const exitQuit = 128 + int(syscall.SIGQUIT)

// readerGone reports whether an error is that nobody reads the standard output any more, which
// is no failure of the command.
func readerGone(err error) bool {
	var at *fs.PathError
	return errors.Is(err, syscall.EPIPE) && errors.As(err, &at) && at.Path == os.Stdout.Name()
}

// EndOnSignal has a signal that ends the program let go first of what the invocation holds, as
// [Invocation.End] does: the folder of orch's own git is not left behind by a command whose reader has
// gone, or that somebody interrupts. What the command does meanwhile fails for want of it, and is
// neither reported nor waited for. A command that handles signals itself calls [Invocation.TakeSignals].
func (a *Invocation) EndOnSignal() {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE}
	all = slices.DeleteFunc(all, signal.Ignored)
	if len(all) == 0 { // Notify without any would take all
		return
	}
	in, stop, stopped := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(in, all...)
	a.deaf = sync.OnceFunc(func() { signal.Stop(in); close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for {
			select {
			case sig := <-in:
				a.endBy(sig)
			case <-stop:
				select {
				case sig := <-in: // which came before
					a.endBy(sig)
				default:
				}
				return
			}
		}
	}()
}

// endBy ends the program as if nobody had listened to the signal; it returns where that says
// nothing to the program.
func (a *Invocation) endBy(sig os.Signal) {
	if sig == syscall.SIGPIPE && !isBrokenPipe(os.Stdout) && !isBrokenPipe(os.Stderr) {
		return // a program that was given something to read has not read it
	}
	if a.over != nil {
		close(a.over)
	}
	a.End()
	switch sig {
	case syscall.SIGPIPE: // a process that sends it to itself goes on
		os.Exit(exitPipe)
	case syscall.SIGQUIT: // by which the runtime of Go prints all of its stacks
		os.Exit(exitQuit)
	}
	signal.Reset(sig)
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(os.Getpid(), s)
	}
	select {} // what the signal ends says nothing more
}

// isBrokenPipe reports whether f is a pipe whose reader has gone.
func isBrokenPipe(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLERR != 0
}

// TakeSignals ends what EndOnSignal began: the command listens itself, and does so already when it
// calls this. It does not return where a signal ends the program.
func (a *Invocation) TakeSignals() {
	if a.deaf != nil {
		a.deaf()
	}
}
