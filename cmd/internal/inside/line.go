package inside

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// Do answers one request of an attempt. It ends when ctx does.
type Do func(ctx context.Context, q Request) Answer

// The bounds of what one attempt may ask.
const (
	atOnce      = 4                // requests that are answered at a time; others wait
	maxRequests = 20000            // in the whole of a turn
	sayWithin   = 10 * time.Second // to send a request, and to take an answer
)

// The files in the folder of a line.
const (
	socketFile = sandbox.SocketName
	tokenFile  = "token"
)

// Line listens for one attempt.
type Line struct {
	do       Do
	token    string
	listener *net.UnixListener
	end      context.CancelFunc
	work     sync.WaitGroup
	slots    chan struct{}
}

// Listen listens in a folder that the sandbox of the attempt alone can read, of any length of path, until [Line.Close]. It fails as making
// files does.
func Listen(folder string, do Do) (*Line, error) {
	token := rand.Text()
	if err := os.WriteFile(filepath.Join(folder, tokenFile), []byte(token), 0o600); err != nil {
		return nil, err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: within(dir, socketFile)})
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("listening for an attempt: %w", err)
	}
	listener.SetUnlinkOnClose(false) // by a path that is another's by then; the folder goes as a whole
	ctx, end := context.WithCancel(context.Background())
	l := &Line{do: do, token: token, listener: listener, end: end, slots: make(chan struct{}, atOnce)}
	l.work.Go(func() { l.accept(ctx) })
	return l, nil
}

// within is the path of a file in an open folder. It is short however long that of the folder is: a socket's may have 107 bytes.
func within(dir *os.File, name string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), name)
}

// Close ends what is being answered, and waits for that. No request is answered afterwards.
func (l *Line) Close() error {
	err := l.listener.Close()
	l.end()
	l.work.Wait()
	return err
}

// accept takes requests, a few at a time, until the listener is closed.
func (l *Line) accept(ctx context.Context) {
	for range maxRequests {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		c, err := l.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // there are too many open files, or it has hung up
			<-l.slots
			if !pause(ctx) {
				return
			}
			continue
		}
		l.work.Go(func() { defer func() { <-l.slots }(); l.serve(ctx, c) })
	}
	_ = l.listener.Close() // who asks more is refused
}

// pause waits a moment; false when ctx ends first.
func pause(ctx context.Context) bool {
	t := time.NewTimer(100 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve answers one request.
func (l *Line) serve(ctx context.Context, c *net.UnixConn) {
	defer c.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := c.SetDeadline(time.Now().Add(sayWithin)); err != nil {
		return
	}
	q, err := parse(c, l.token)
	if err != nil {
		_ = json.NewEncoder(c).Encode(Answer{Exit: 2, Stderr: []byte("error: " + problem(err) + "\n")})
		return
	}
	a := l.do(ctx, q)
	if ctx.Err() != nil {
		return
	}
	data, err := json.Marshal(a)
	if err != nil || len(data) > MaxAnswer {
		data, _ = json.Marshal(Answer{Exit: 1, Stderr: []byte("error: the answer is too large; ask for less  [TOO_LARGE]\n")})
	}
	if c.SetWriteDeadline(time.Now().Add(sayWithin)) == nil {
		_, _ = c.Write(data) // to whom it may concern
	}
}

// problem says what is wrong with a request, and nothing of what was in it.
func problem(err error) string {
	switch {
	case errors.Is(err, errLarge):
		return "the request is too large  [TOO_LARGE]"
	case errors.Is(err, errToken):
		return "this is the socket of another attempt  [NOT_A_PERSON]"
	}
	return "this is no request  [USAGE]"
}
