package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Detached is a program in a session of its own, which goes on when its starter has ended. It is
// safe for concurrent use.
type Detached struct {
	cmd    *exec.Cmd
	family *Children
	done   chan struct{}
}

// Detach starts c in a session of its own, with no controlling terminal and nothing on standard
// input. Standard output and error go to output, and line is its descriptor 3; no other file that
// this process has open is open there. The environment is c.Env as it is, without the marker: it
// is a program of the person's, and no later run ends it as a leftover. It fails when the program cannot
// be started.
func (s *System) Detach(c command.Cmd, output, line *os.File) (*Detached, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("empty command")
	}
	program, err := lookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, wrapCommand(c, err)
	}
	if err := closeOthersOnExec(); err != nil {
		return nil, wrapCommand(c, err)
	}
	cmd := exec.CommandContext(context.Background(), program)
	cmd.Args, cmd.Dir, cmd.Env = c.Argv, c.Dir, c.Env
	s.byImage(cmd)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = output, output, []*os.File{line}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.options.Children.start(cmd); err != nil {
		return nil, wrapCommand(c, s.startError(cmd, err))
	}
	d := &Detached{cmd: cmd, family: s.options.Children, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		if err := cmd.Wait(); cmd.ProcessState == nil {
			must(err, "a process that was started can be waited for")
		}
		d.family.ended(cmd)
	}()
	return d, nil
}

// PID is its process id.
func (d *Detached) PID() int { return d.cmd.Process.Pid }

// Signal sends it a signal; one that has ended takes none.
func (d *Detached) Signal(sig syscall.Signal) { _ = d.cmd.Process.Signal(sig) }

// Done is closed when it has ended.
func (d *Detached) Done() <-chan struct{} { return d.done }

// Exit waits for its end: its exit status, 128+n after signal n, and the signal's name, "" for none.
func (d *Detached) Exit() (code int, signal string) {
	<-d.done
	status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		panic("proc: a process without a wait status")
	}
	return waitStatus(status)
}
