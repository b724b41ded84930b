package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
)

const (
	// drainTime is how long a pipe may stay open after the tree is gone, before it is given up.
	drainTime = time.Second
	// defaultPath is searched when the child's environment has no PATH.
	defaultPath = "/usr/local/bin:/usr/bin:/bin"
	chunkBytes  = 32 << 10
)

// child is a started process with the two pipes we read from it.
type child struct {
	cmd     *exec.Cmd
	family  *Children
	pipes   []*os.File
	drained chan struct{} // closed when both pipes are at their end or given up
	exited  chan struct{} // closed when the process itself was waited for
}

// launchOptions is what the kinds of launch differ in.
type launchOptions struct {
	stdout, stderr func([]byte) // each called from one goroutine
	prefix         []string     // the guard
	lifeline       *os.File     // becomes fd 3
	children       *Children    // may be nil
	system         *System      // of a guard; nil for a command without one
}

// launch starts c in a session of its own. The context only passes its values on: how
// a process is stopped is decided by the caller, never by os/exec.
func launch(ctx context.Context, c command.Cmd, o launchOptions) (*child, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("empty command")
	}
	program, err := lookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program)
	cmd.Args = c.Argv
	if len(o.prefix) > 0 {
		cmd.Path = o.prefix[0]
		cmd.Args = append(append(append([]string(nil), o.prefix...), "--", program), c.Argv[1:]...)
		o.system.byImage(cmd)
	}
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.SysProcAttr = plainAttr(c.Bound)
	if o.lifeline != nil {
		cmd.SysProcAttr = guardAttr()
	}
	cmd.WaitDelay = drainTime
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	if o.lifeline != nil {
		cmd.ExtraFiles = []*os.File{o.lifeline}
	}
	started, err := startPiped(cmd, o)
	if err != nil && len(o.prefix) > 0 {
		err = o.system.startError(cmd, err)
	}
	return started, err
}

func startPiped(cmd *exec.Cmd, o launchOptions) (*child, error) {
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, outRead.Close(), outWrite.Close())
	}
	cmd.Stdout, cmd.Stderr = outWrite, errWrite
	err = o.children.start(cmd)
	closing := errors.Join(outWrite.Close(), errWrite.Close())
	if err = errors.Join(err, closing); err != nil {
		return nil, errors.Join(err, outRead.Close(), errRead.Close())
	}
	c := &child{
		cmd: cmd, family: o.children, pipes: []*os.File{outRead, errRead},
		drained: make(chan struct{}), exited: make(chan struct{}),
	}
	go c.read(o)
	go c.wait()
	return c, nil
}

// read feeds both pipes to their sinks until they end or are given up.
func (c *child) read(o launchOptions) {
	defer close(c.drained)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pump(c.pipes[1], o.stderr)
	}()
	pump(c.pipes[0], o.stdout)
	<-done
}

// pump ends at any error: the end of the file, the deadline, and a broken pipe mean the same
// here. What is in the pipe when the deadline comes is read all the same: on a machine under
// load a reader may not have had its turn before.
func pump(r *os.File, sink func([]byte)) {
	buf := make([]byte, chunkBytes)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			sink(buf[:n])
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			rest(r, buf, sink)
		}
		if err != nil {
			return
		}
	}
}

// rest reads what a pipe holds, and waits for nothing; at most maxRest bytes of somebody who
// goes on writing.
func rest(r *os.File, buf []byte, sink func([]byte)) {
	raw, err := r.SyscallConn()
	if err != nil {
		return
	}
	for left := maxRest; left > 0; {
		n := 0
		var readErr error
		err := raw.Control(func(fd uintptr) { n, readErr = syscall.Read(int(fd), buf) })
		if errors.Is(readErr, syscall.EINTR) {
			continue
		}
		if err != nil || readErr != nil || n <= 0 {
			return
		}
		sink(buf[:n])
		left -= n
	}
}

// maxRest is the most that a pipe holds (fcntl(2), F_SETPIPE_SZ without privileges).
const maxRest = 1 << 20

func (c *child) wait() {
	defer close(c.exited)
	// The error repeats what ProcessState holds, or is of feeding stdin, which a child need not read.
	if err := c.cmd.Wait(); c.cmd.ProcessState == nil {
		must(err, "a process that was started can be waited for")
	}
	c.family.ended(c.cmd)
}

// ending is what the process itself says, once it has exited.
func (c *child) ending(cause Cause) ending {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		panic("proc: a process without a wait status")
	}
	code, signal := waitStatus(status)
	return ending{code: code, signal: signal, cause: cause}
}

// drain waits for the rest of the output of a process that has ended, and lets the pipes go.
func (c *child) drain() {
	c.drainWithin(drainTime)
	c.letGo()
}

// drainWithin waits for the rest of the output; false when a pipe was given up, since somebody
// still holds it.
func (c *child) drainWithin(patience time.Duration) (whole bool) {
	deadline := time.Now().Add(patience)
	for _, pipe := range c.pipes {
		must(pipe.SetReadDeadline(deadline), "a pipe takes a deadline")
	}
	<-c.drained
	return time.Now().Before(deadline)
}

func (c *child) letGo() {
	for _, pipe := range c.pipes {
		must(pipe.Close(), "an open pipe can be closed")
	}
}

// endHolders kills what still holds the output of a process that has ended: its group, and
// whoever has one of the pipes open.
func (c *child) endHolders() {
	signalGroup(c.cmd.Process.Pid, syscall.SIGKILL)
	for _, p := range holders(c.pipes) {
		p.signal(syscall.SIGKILL)
	}
}

// must holds what only a bug of ours can break.
func must(err error, what string) {
	if err != nil {
		panic(fmt.Sprintf("proc: %s: %v", what, err))
	}
}

// waitStatus is the exit code, which is 128+n with the signal's name after signal n.
func waitStatus(status syscall.WaitStatus) (int, string) {
	if status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return status.ExitStatus(), ""
}

// signalGroup has nothing to report: a group that is gone, or is not ours to end, stays as it is.
func signalGroup(pgid int, sig syscall.Signal) bool {
	return syscall.Kill(-pgid, sig) == nil
}

// lookPath finds a program in the child's own PATH. The error wraps exec.ErrNotFound.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := defaultPath
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the current directory belongs to the agent
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%w: %s", exec.ErrNotFound, name)
}

func wrapCommand(c command.Cmd, err error) error {
	return fmt.Errorf("%s: %w", command.Name(c.Argv), err)
}
