// Package egress is the way out of a sandbox whose network is a loopback of its own: a proxy that reaches the hosts which are allowed, a resolver that
// refuses at once, and ports of this machine's loopback that are forwarded. The sockets are made within the sandbox and handed out; what is here
// answers on them, so that nothing else of it runs within.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Options is what a way out lets through.
type Options struct {
	// Proxy says that there is a proxy and a resolver; without it only Ports are forwarded.
	Proxy bool
	// Allow are the hosts that can be reached: names, or *.NAME for all below one. An address of a private network is refused for them.
	Allow []string
	// Named are hosts as in Allow, also with addresses of private networks.
	Named []string
	// Ports are ports of this machine's loopback that the sandbox finds on its own.
	Ports []int
	// Resolve gives the addresses of a name; nil is the system's resolver.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Reach connects to an address that was checked; nil is by TCP.
	Reach func(ctx context.Context, address string) (net.Conn, error)
}

// Way is a way out of one sandbox. It is safe for concurrent use.
type Way struct {
	o       Options
	door    *net.UnixListener
	server  http.Server
	working sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	open    map[closer]bool
	refused map[string]*Refusal
}

type closer interface{ Close() error }

// Refusal is what was refused.
type Refusal struct {
	// Host is the name, or the address, that was asked for.
	Host string `json:"host"`
	// Why says it in a clause.
	Why string `json:"why"`
	// Count is how often.
	Count int `json:"count"`
}

const (
	mostConnections = 128 // at a time, of one sandbox and listener
	mostRefusals    = 100 // that are kept, each host once
	patience        = 30 * time.Second
)

// Open waits in the folder dir for the sandbox that has it at [sandbox.DoorAt], and answers on the sockets which that hands out, once. It
// fails where the folder cannot be used.
func Open(dir string, o Options) (*Way, error) {
	w := &Way{o: o, open: map[closer]bool{}, refused: map[string]*Refusal{}}
	w.server = http.Server{Handler: http.HandlerFunc(w.serveProxy), ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0)}
	if o.Proxy {
		if err := os.WriteFile(filepath.Join(dir, sandbox.DoorResolver), []byte(sandbox.ResolverConfig), 0o600); err != nil {
			return nil, err
		}
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	// The name of a socket is short, and that of the folder need not be.
	short := filepath.Join(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), sandbox.DoorSocket)
	w.door, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("a way out of the sandbox: %w", err)
	}
	w.door.SetUnlinkOnClose(false) // the folder goes as a whole, and the name is one of this moment
	w.working.Go(w.wait)
	return w, nil
}

// wait takes the sockets of the sandbox, from whoever comes first, which is what sets it up.
func (w *Way) wait() {
	conn, err := w.door.AcceptUnix()
	_ = w.door.Close() // nobody else is let in
	if err != nil || !w.keep(conn) {
		return
	}
	defer w.drop(conn)
	files, err := receive(conn, sandbox.DoorSockets(w.o.Proxy, w.o.Ports))
	if err != nil {
		return // who waits for the answer says that it did not come
	}
	if err := w.answer(files); err == nil {
		_, _ = conn.Write([]byte{1})
	}
}

// receive takes n open files.
func receive(conn *net.UnixConn, n int) (files []*os.File, err error) {
	space := make([]byte, unix.CmsgSpace(4*n))
	_, got, _, _, err := conn.ReadMsgUnix(make([]byte, 1), space)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(space[:got])
	for _, m := range messages {
		fds, parsing := unix.ParseUnixRights(&m)
		err = errors.Join(err, parsing)
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "of the sandbox"))
		}
	}
	if err == nil && len(files) != n {
		err = fmt.Errorf("%d sockets instead of %d", len(files), n)
	}
	if err != nil {
		for _, f := range files {
			_ = f.Close()
		}
	}
	return files, err
}

// answer begins to answer on the sockets, in the order of [sandbox.DoorSockets].
func (w *Way) answer(files []*os.File) error {
	defer func() {
		for _, f := range files {
			_ = f.Close() // what is used is a copy
		}
	}()
	rest := files
	if w.o.Proxy {
		names, err := net.FilePacketConn(rest[0])
		if err != nil || !w.keep(names) {
			return cmp.Or(err, net.ErrClosed)
		}
		w.working.Go(func() { w.serveNames(names) })
		listener, err := net.FileListener(rest[1])
		if err != nil || !w.keep(listener) {
			return cmp.Or(err, net.ErrClosed)
		}
		w.working.Go(func() { _ = w.server.Serve(netutil.LimitListener(listener, mostConnections)) }) // ends when it is closed
		rest = rest[2:]
	}
	for n, file := range rest {
		listener, err := net.FileListener(file)
		if err != nil || !w.keep(listener) {
			return cmp.Or(err, net.ErrClosed)
		}
		port := w.o.Ports[n]
		w.working.Go(func() { w.forward(netutil.LimitListener(listener, mostConnections), port) })
	}
	return nil
}

// forward connects each who comes to a port of this machine's loopback.
func (w *Way) forward(l net.Listener, port int) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		w.working.Go(func() {
			to, err := (&net.Dialer{Timeout: patience}).Dial("tcp", fmt.Sprintf("localhost:%d", port))
			if err != nil {
				_ = from.Close()
				return
			}
			w.join(from, to)
		})
	}
}

// keep has Close close something; false says that it is closed already.
func (w *Way) keep(c closer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = c.Close()
		return false
	}
	w.open[c] = true
	return true
}

// drop closes something that was kept.
func (w *Way) drop(c closer) {
	w.mu.Lock()
	delete(w.open, c)
	w.mu.Unlock()
	_ = c.Close()
}

// Close ends all connections, and waits until nothing answers any more.
func (w *Way) Close() error {
	w.mu.Lock()
	w.closed = true
	for c := range w.open {
		_ = c.Close()
	}
	w.mu.Unlock()
	_ = w.door.Close()
	err := w.server.Close()
	w.working.Wait()
	if errors.Is(err, net.ErrClosed) { // its listener is, by then
		return nil
	}
	return err
}

// refuse notes what was refused.
func (w *Way) refuse(host, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was := w.refused[host]; was != nil {
		was.Count++
	} else if len(w.refused) < mostRefusals {
		w.refused[host] = &Refusal{Host: host, Why: why, Count: 1}
	}
}

// Refused is what was refused so far, each host once, by name.
func (w *Way) Refused() (all []Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.refused {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Refusal) int { return cmp.Compare(a.Host, b.Host) })
	return all
}
