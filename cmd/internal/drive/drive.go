// Package drive starts the process that drives an epic apart from the terminal that asked for
// it, and carries between the two what is so: that the epic is held, and how the run ended.
//
// The driver is the same command line once more, in a session of its own. It reports over a pipe
// to the viewer that started it, if that is still there, and leaves the outcome in the epic's
// folder for any other viewer.
package drive

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// Variable is the environment variable by which a driver knows that it is one; its value names
// its log. It is taken out of the environment before anything else is done.
const Variable = "ORCH_DRIVER"

// LogFile is the driver's standard output and error, in the epic's folder: remarks and warnings.
const LogFile = "driver.log"

// maxLog bounds what a viewer repeats of the log, in bytes.
const maxLog = 64 << 10

// lineFD is the descriptor of a driver's pipe.
const lineFD = 3

// Held is what a driver says when it holds its epic.
type Held struct {
	// Run is the number of the run that has begun.
	Run int `json:"run"`
	// Title is the epic's.
	Title string `json:"title"`
}

// message is a line of the pipe: one of these.
type message struct {
	Held    *Held    `json:"held,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Driver is a driver that was started, as its viewer sees it.
type Driver struct {
	process *proc.Detached
	log     *os.File
	line    *bufio.Scanner
	outcome *Outcome
}

// Start starts a driver with the arguments and the environment of this process. It fails when
// that cannot be done; what goes wrong in the driver itself [Driver.Held] tells.
func Start(w *workspace.Workspace) (*Driver, error) {
	name := rand.Text()
	files, err := private.OpenAbove(w.Project.Home, 1)
	if err != nil {
		return nil, fmt.Errorf("starting the driver: %w", err)
	}
	defer files.Close()
	sweep(files, w)
	log, err := files.Create(startLog(w.Project.Home, name))
	if err != nil {
		return nil, fmt.Errorf("starting the driver: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the driver: %w", err), log.Close(), files.Remove(startLog(w.Project.Home, name)))
	}
	env := append(append([]string(nil), w.Project.Invocation.Env...), Variable+"="+name)
	process, err := w.Project.Invocation.System("").Detach(command.Cmd{Argv: append([]string{w.Project.Invocation.Self}, w.Project.Invocation.Args[1:]...), Env: env}, log, write)
	if err = errors.Join(err, write.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the driver: %w", err), read.Close(), log.Close(), files.Remove(startLog(w.Project.Home, name)))
	}
	line := bufio.NewScanner(read)
	line.Buffer(nil, maxOutcome)
	return &Driver{process: process, log: log, line: line}, nil
}

// startLog is where a driver's log is until it holds its epic.
func startLog(home, name string) string { return filepath.Join(home, "tmp", "driver-"+name+".log") }

// forgotten is the age of a log that no driver will come for: its viewer was killed before it
// started one.
const forgotten = 24 * time.Hour

// sweep removes logs that were forgotten. One that stays does no harm.
func sweep(files *private.Dir, w *workspace.Workspace) {
	folder := filepath.Dir(startLog(w.Project.Home, ""))
	entries, err := files.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), "driver-") && w.Now().Sub(info.ModTime()) > forgotten {
			_ = files.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// next is what the driver says next; the zero message at its end.
func (d *Driver) next() (m message) {
	if d.line.Scan() {
		_ = json.Unmarshal(d.line.Bytes(), &m) // a driver of another kind says nothing
	}
	return m
}

// Held waits until the driver holds the epic, or has ended before that: ok is false then, and
// [Driver.Wait] says with what.
func (d *Driver) Held() (h Held, ok bool) {
	m := d.next()
	if m.Held != nil {
		return *m.Held, true
	}
	d.outcome = m.Outcome
	return Held{}, false
}

// PID is the driver's process id.
func (d *Driver) PID() int { return d.process.PID() }

// Signal passes a signal on to the driver.
func (d *Driver) Signal(sig syscall.Signal) { d.process.Signal(sig) }

// Wait waits for the driver's end, and says how the run ended; ok is false where the driver was
// cut off before it could tell.
func (d *Driver) Wait() (o Outcome, ok bool) {
	for d.outcome == nil {
		m := d.next()
		if m == (message{}) {
			break
		}
		d.outcome = m.Outcome
	}
	<-d.process.Done()
	if d.outcome == nil {
		return Outcome{}, false
	}
	return *d.outcome, true
}

// Exit waits for the driver's end: its exit code, and the name of the signal that ended it, "" for none.
func (d *Driver) Exit() (code int, signal string) { return d.process.Exit() }

// Remarks is what the driver has printed.
func (d *Driver) Remarks() string {
	b, err := io.ReadAll(io.NewSectionReader(d.log, 0, maxLog))
	if err != nil {
		return ""
	}
	return string(b)
}

// Reporter is the driver's end of the pipe. A nil one is of a process that drives in the
// foreground, and tells nobody.
type Reporter struct {
	name string
	line *os.File
	held bool // the epic, and its log is in the epic's folder
}

// NewReporter makes the reporter of a process, and takes the word that it is a driver out of its
// environment; nil for one that is none.
func NewReporter(p *cli.Process) *Reporter {
	name := p.Getenv(Variable)
	env := make([]string, 0, len(p.Env))
	for _, e := range p.Env {
		if !strings.HasPrefix(e, Variable+"=") {
			env = append(env, e)
		}
	}
	if p.Env = env; name == "" || name != filepath.Base(name) || !isPipe(lineFD) {
		return nil
	}
	syscall.CloseOnExec(lineFD)
	return &Reporter{name: name, line: os.NewFile(lineFD, "viewer")}
}

func isPipe(fd int) bool {
	var stat syscall.Stat_t
	return syscall.Fstat(fd, &stat) == nil && stat.Mode&syscall.S_IFMT == syscall.S_IFIFO
}

// Held tells the viewer that the epic is held, and puts the log where it belongs. It fails where
// the log cannot be moved, which is no reason not to go on; a viewer that is gone is no failure.
func (r *Reporter) Held(w *workspace.Workspace, dir string, h Held) error {
	if r == nil {
		return nil
	}
	files, err := private.OpenAbove(dir, levels)
	if err != nil {
		return err
	}
	err = files.Rename(startLog(w.Project.Home, r.name), filepath.Join(dir, LogFile))
	r.held = true
	r.tell(message{Held: &h})
	return errors.Join(err, files.Close())
}

// End tells the viewer how the driver ends, and is the error that its command ends with: what was
// told is not said again. Where the viewer is gone it is said after all, and stays in the log.
// home is orch's folder, "" where the driver has not come so far. A nil Reporter returns err.
func (r *Reporter) End(home string, o Outcome, err error) error {
	if r == nil {
		return err
	}
	if err != nil {
		o = Failed(o.Run, err)
	}
	if !r.held && home != "" {
		_ = os.Remove(startLog(home, r.name)) // the viewer has it open
	}
	if !r.tell(message{Outcome: &o}) && err != nil {
		return err
	}
	return cli.ExitWith(o.Exit)
}

// tell writes one line; false where the viewer is gone.
func (r *Reporter) tell(m message) bool {
	b, err := json.Marshal(m)
	if err == nil {
		_, err = r.line.Write(append(b, '\n'))
	}
	return err == nil
}
