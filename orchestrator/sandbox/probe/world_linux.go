package probe

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// world is what is around an attempt, made to be attacked: files with the layout of a repository with two worktrees, a home,
// a process, and sockets.
type world struct {
	place   sandbox.Place
	targets map[sandbox.Threat]string // the file that shows whether it was done
	secret  string                    // is in the home, and in the environment of the victim
	path    string                    // of a socket
	name    string                    // of an abstract socket
	port    int
	master  int // of a terminal, whose other side is at tty
	tty     string
	sockets map[sandbox.Threat]int // listening
	victim  int                    // a process
	ended   chan struct{}          // closed when it is
	end     context.CancelFunc
}

const (
	victimStart = 20 * time.Second
	private     = 0o700
)

// newWorld makes one in the folder top. The caller calls close.
func newWorld(ctx context.Context, run command.Runner, top, self string) (w *world, err error) {
	at := func(path string) string { return filepath.Join(top, path) }
	common, admin := at("repo/.git"), at("repo/.git/worktrees/agent-1")
	w = &world{
		secret: rand.Text(), sockets: map[sandbox.Threat]int{}, end: func() {},
		place: sandbox.Place{Worktree: at("trees/agent-1"), CommonDir: common, Shadow: at("shadow"), Checkout: at("repo"), Siblings: at("trees"),
			Home: at("home"), PrivateHome: at("private"), Temp: at("tmp"), Program: self}.Real(),
		targets: map[sandbox.Threat]string{
			sandbox.EpicRef: filepath.Join(common, "refs/heads/epic/e"), sandbox.OtherBranch: filepath.Join(common, "refs/heads/main"),
			sandbox.Config: filepath.Join(common, "config"), sandbox.Hook: filepath.Join(common, "hooks/pre-commit"), sandbox.Attributes: filepath.Join(common, "info/attributes"),
			sandbox.Journal: filepath.Join(common, "orch/epics/e/journal.jsonl"), sandbox.Sibling: at("trees/agent-2/file"), sandbox.Checkout: at("repo/file"),
			sandbox.Objects: filepath.Join(common, "objects/aa/object"), sandbox.PackedRefs: filepath.Join(common, "packed-refs"),
			sandbox.WorktreeConfig: filepath.Join(admin, "config.worktree"), sandbox.CommonDir: filepath.Join(admin, "commondir"), sandbox.Pointer: at("trees/agent-1/.git"),
			sandbox.HomeWrite: at("home/.profile"), sandbox.HomeRead: at("home/.key"), sandbox.HardLink: at("repo/linked"), sandbox.Mode: at("home/.mode"),
		},
	}
	for _, dir := range []string{common, filepath.Join(common, "hooks"), at("shadow/" + sandbox.Borrowed), at("private"), at("tmp")} {
		if err := os.MkdirAll(dir, private); err != nil {
			return w, err
		}
	}
	for threat, path := range w.targets {
		if threat == sandbox.Hook {
			continue // is not there yet
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), private), os.WriteFile(path, []byte(w.secret), 0o600)); err != nil {
			return w, err
		}
	}
	if err := w.listen(top); err != nil {
		return w, errors.Join(err, w.close())
	}
	if err := w.openTerminal(); err != nil {
		return w, errors.Join(err, w.close())
	}
	if err := w.startVictim(ctx, run, self, at("victim")); err != nil {
		return w, errors.Join(err, w.close())
	}
	return w, nil
}

// listen opens the sockets that are to be out of reach. A connection is made by the kernel; nobody has to wait for it.
func (w *world) listen(top string) error {
	w.path, w.name = filepath.Join(top, "home", "agent.sock"), "@orch-"+rand.Text()
	for threat, address := range map[sandbox.Threat]unix.Sockaddr{
		sandbox.PathSocket:     &unix.SockaddrUnix{Name: w.path},
		sandbox.AbstractSocket: &unix.SockaddrUnix{Name: w.name},
		sandbox.Network:        &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}},
	} {
		family := unix.AF_UNIX
		if threat == sandbox.Network {
			family = unix.AF_INET
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		w.sockets[threat] = fd
		if err := errors.Join(unix.Bind(fd, address), unix.Listen(fd, 8)); err != nil {
			return fmt.Errorf("a socket to attack: %w", err)
		}
	}
	bound, err := unix.Getsockname(w.sockets[sandbox.Network])
	if inet, ok := bound.(*unix.SockaddrInet4); ok {
		w.port = inet.Port
	}
	return err
}

// openTerminal makes a terminal, as a window of the person's has one.
func (w *world) openTerminal() error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("a terminal to attack: %w", err)
	}
	w.master = master
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	w.tty = fmt.Sprintf("/dev/pts/%d", number)
	return errors.Join(err, unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0))
}

// writtenTo reports whether somebody has written to the terminal.
func (w *world) writtenTo() bool {
	n, err := unix.Read(w.master, make([]byte, 64))
	return err == nil && n > 0
}

// reached reports whether somebody has connected to a socket.
func (w *world) reached(t sandbox.Threat) bool {
	fd, _, err := unix.Accept4(w.sockets[t], unix.SOCK_CLOEXEC)
	if err == nil {
		_ = unix.Close(fd) // there is nothing to lose
	}
	return err == nil
}

// startVictim starts a process that does nothing, with the secret in its environment, and waits until it does that.
func (w *world) startVictim(ctx context.Context, run command.Runner, self, line string) error {
	if err := unix.Mkfifo(line, 0o600); err != nil {
		return err
	}
	fifo, err := os.OpenFile(line, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer fifo.Close()
	ctx, w.end = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(w.ended)
		_, err := run(ctx, command.Cmd{Argv: []string{self, word, victimWord, line}, Env: []string{"SECRET=" + w.secret}, Dir: w.place.Worktree, MaxOutputBytes: 4096})
		failed <- err
	}()
	if err := fifo.SetReadDeadline(time.Now().Add(victimStart)); err != nil {
		return err
	}
	told := make([]byte, 32)
	n, err := fifo.Read(told)
	if err != nil {
		w.end()
		return errors.Join(errors.New("the process to attack did not start"), err, <-failed)
	}
	_, err = fmt.Sscan(string(told[:n]), &w.victim)
	return err
}

// close ends the process, and lets go of the sockets. It may be called again.
func (w *world) close() (err error) {
	w.end()
	if w.ended != nil {
		<-w.ended
	}
	if w.master > 0 {
		err = unix.Close(w.master)
		w.master = 0
	}
	for threat, fd := range w.sockets {
		err = errors.Join(err, unix.Close(fd))
		delete(w.sockets, threat)
	}
	return err
}

// changed reports whether the file of a threat is not as it was made.
func (w *world) changed(t sandbox.Threat) bool {
	content, err := os.ReadFile(w.targets[t])
	if t == sandbox.Hook {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return !bytes.Equal(content, []byte(w.secret))
}

// opened reports whether the file of a threat has another mode than it was made with.
func (w *world) opened(t sandbox.Threat) bool {
	info, err := os.Stat(w.targets[t])
	return err != nil || info.Mode().Perm() != 0o600
}

// gone reports whether the victim has ended.
func (w *world) gone() bool {
	select {
	case <-w.ended:
		return true
	default:
		return errors.Is(unix.Kill(w.victim, 0), unix.ESRCH)
	}
}
