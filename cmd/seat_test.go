package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epicstore"
)

// seat is an orch at a terminal of its own.
type seat struct {
	*exec.Cmd
	t        *testing.T
	terminal *os.File

	mu    sync.Mutex
	text  bytes.Buffer
	heard chan struct{} // told after each piece of output; closed at its end
}

// sit starts orch at a new terminal, as the session of its own that a terminal's shell is.
func (f *fixture) sit(extra []string, args ...string) *seat {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "orch"), args...)
	c.Dir, c.Env = f.dir, append(append([]string{"TERM=xterm"}, f.env...), extra...)
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 40, Cols: 120})
	require.NoError(f.t, err)
	s := &seat{Cmd: c, t: f.t, terminal: terminal, heard: make(chan struct{}, 1)}
	f.t.Cleanup(func() { _ = terminal.Close() })
	go s.listen()
	return s
}

func (s *seat) listen() {
	defer close(s.heard)
	b := make([]byte, 4096)
	for {
		n, err := s.terminal.Read(b)
		s.mu.Lock()
		s.text.Write(b[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case s.heard <- struct{}{}:
		default:
		}
	}
}

func (s *seat) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits for words on the terminal.
func (s *seat) until(words string) {
	s.t.Helper()
	late := time.After(time.Minute)
	for !strings.Contains(s.seen(), words) {
		select {
		case _, open := <-s.heard:
			if !open && !strings.Contains(s.seen(), words) {
				s.t.Fatalf("never said %q:\n%s", words, s.seen())
			}
		case <-late:
			s.t.Fatalf("does not say %q:\n%s", words, s.seen())
		}
	}
}

// types types keys.
func (s *seat) types(keys string) {
	s.t.Helper()
	_, err := s.terminal.WriteString(keys)
	require.NoError(s.t, err)
}

// end waits for the end, and gives all that the terminal has shown and the exit code.
func (s *seat) end() (string, int) {
	s.t.Helper()
	ended := make(chan struct{})
	go func() { _ = s.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		s.t.Fatalf("does not end:\n%s", s.seen())
	}
	for range s.heard {
	}
	return s.seen(), s.code()
}

// code is the exit code, 128+n after signal n.
func (s *seat) code() int {
	if status, ok := s.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ProcessState.ExitCode()
}

// holder is who drives the epic.
func (f *fixture) holder() epicstore.Holder {
	f.t.Helper()
	h, held, err := epicstore.HeldBy(f.epicDir())
	require.NoError(f.t, err)
	require.True(f.t, held, "nobody drives the epic")
	return h
}

// free waits until nobody drives the epic.
func (f *fixture) free() {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, held, err := epicstore.HeldBy(f.epicDir())
		return err == nil && !held
	}, time.Minute, 10*time.Millisecond, "the epic stays held")
}
