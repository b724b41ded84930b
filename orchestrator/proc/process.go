package proc

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Spec is an agent to start and how to watch it.
type Spec struct {
	command.Cmd
	// Log is a file for the raw stdout and stderr in the order in which they came, mode 0600; it is
	// replaced. Empty keeps nothing. While the process runs, what is beyond the first half of
	// LogMaxBytes is in Log + ".tail".
	Log string
	// Files makes the files of Log; nil is the file system itself, as it stands.
	Files Files
	// LogMaxBytes bounds Log: its first and its last half are kept, with a line
	// "... N bytes dropped ..." between them; 0 means 64 MiB.
	LogMaxBytes int64
	// Filter, where it is set, makes what stands before Log: one filter for each of the two streams,
	// and one for both as they come, which writes what is kept to w. Each is closed, once, when
	// there is no more.
	Filter func(w io.Writer) io.WriteCloser
	// Output is given each piece of stdout as it comes, from one goroutine, and must not keep it. It
	// slows the process down when it is slow. May be nil.
	Output func([]byte)
	// Timeout is the longest life; 0 means no limit.
	Timeout time.Duration
	// Idle is the longest time without a sign of life: output, processor time of the tree (over 1 %
	// of the time, Linux only), or Moved; 0 means no limit.
	Idle time.Duration
	// Moved is asked for other evidence of life (files, commits) since it was last asked; may be nil.
	Moved func() bool
}

// Cause says who ended a process.
type Cause string

// The causes of an end.
const (
	// Ended means that it ended by itself.
	Ended Cause = "ended"
	// Timeout means that it lived longer than Spec.Timeout.
	Timeout Cause = "timeout"
	// Idle means that it gave no sign of life for Spec.Idle.
	Idle Cause = "idle"
	// Interrupted means that it was stopped by Stop, or by the end of Start's context.
	Interrupted Cause = "interrupted"
	// Killed means that it was stopped at once.
	Killed Cause = "killed"
	// Halted means that its guard, or all that ran below it, was stopped with SIGSTOP, or by who
	// traced it, and did not go on (Linux only).
	Halted Cause = "halted"
	// OverProcesses, OverMemory and OverDisk mean that it used more than Spec.Limits.
	OverProcesses Cause = command.Processes
	OverMemory    Cause = command.Memory
	OverDisk      Cause = command.Disk
)

// Exit is how a process ended.
type Exit struct {
	// Code is its exit status, 128+n after signal n.
	Code int
	// Signal is the name of the signal that ended it ("SIGKILL"), or empty.
	Signal string
	// Cause says who ended it: the first that counts, so a timeout stays one when Killed follows.
	Cause Cause
	// Took is the time from its start to the end of its whole tree.
	Took time.Duration
	// StdoutBytes counts what it wrote to stdout.
	StdoutBytes int64
	// DroppedBytes counts output that is not in the log.
	DroppedBytes int64
	// Survivors are the processes of its tree that could not be ended; normally none.
	Survivors []int
	// LogErr is why the log is not whole, as when the disk is full; the process is not stopped for it.
	LogErr error
}

// Process is a running agent. It is safe for concurrent use.
type Process struct {
	pid   int
	stops chan Cause // with room, so that Moved and Output may call Stop
	done  chan struct{}
	exit  Exit // to be read when done is closed
}

// output counts a process's output, and passes it on.
type output struct {
	log    *boundedLog
	reader func([]byte)
	stdout atomic.Int64
	all    atomic.Int64
}

// Start starts sp below a guard. When ctx ends, the process is stopped as by Stop(Interrupted).
// It fails when the program cannot be started, when the log cannot be made, and with [ErrNoGuard].
// The caller calls Wait, whatever happens.
func (s *System) Start(ctx context.Context, sp Spec) (*Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, wrapCommand(sp.Cmd, err)
	}
	log, err := openLog(sp.Files, sp.Log, sp.LogMaxBytes)
	if err != nil {
		return nil, wrapCommand(sp.Cmd, err)
	}
	log.filterBy(sp.Filter)
	out := &output{log: log, reader: sp.Output}
	began := s.options.Now()
	g, err := s.startGuarded(ctx, sp.Cmd, launchOptions{stdout: out.takeStdout, stderr: out.takeStderr})
	if err != nil {
		return nil, wrapCommand(sp.Cmd, errors.Join(err, log.close()))
	}
	p := &Process{pid: g.command, stops: make(chan Cause, 16), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		end := g.supervise(ctx, supervision{
			interrupt: orderInterrupt, grace: s.options.Grace,
			stops: p.stops, watch: newWatch(sp, &out.all), limits: sp.Limits,
		})
		g.child.drain()
		p.exit = out.exit(end)
		p.exit.Took = s.options.Now().Sub(began)
	}()
	return p, nil
}

func (o *output) takeStdout(p []byte) {
	o.stdout.Add(int64(len(p)))
	o.take(stdout, p)
	if o.reader != nil {
		o.reader(p)
	}
}

func (o *output) takeStderr(p []byte) { o.take(stderr, p) }

func (o *output) take(from stream, p []byte) {
	o.all.Add(int64(len(p)))
	o.log.write(from, p)
}

func (o *output) exit(end ending) Exit {
	err := o.log.close()
	return Exit{
		Code: end.code, Signal: end.signal, Cause: end.cause, Survivors: end.survivors,
		StdoutBytes: o.stdout.Load(), DroppedBytes: o.log.dropped(), LogErr: err,
	}
}

// Stop ends the process: SIGINT to its tree, after the grace SIGKILL. It returns when the stop
// has begun. It may be called again, with Killed to shorten the grace. The cause is the caller's
// to choose, Killed aside; a process that has ended by itself stays ended.
func (p *Process) Stop(cause Cause) {
	select {
	case p.stops <- cause:
	case <-p.done:
	}
}

// Wait returns when the whole tree is gone and the pipes are drained or given up. It may be called
// more than once.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}
