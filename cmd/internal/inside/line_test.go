//go:build linux

package inside

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// line is one in a folder of its own that answers with what was asked.
func line(t *testing.T, do Do) (*Line, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 12))
	require.NoError(t, os.MkdirAll(folder, 0o700))
	if do == nil {
		do = func(_ context.Context, q Request) Answer {
			return Answer{Stdout: []byte(strings.Join(q.Args, " ")), Exit: 3}
		}
	}
	l, err := Listen(folder, do)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, filepath.Join(folder, sandbox.SocketName)
}

// TestAsk: what is asked is answered, and not after the end.
func TestAsk(t *testing.T) {
	t.Parallel()
	l, socket := line(t, nil)
	a, err := Ask(t.Context(), socket, Request{Program: BD, Args: []string{"show", "x"}})
	require.NoError(t, err)
	require.Equal(t, Answer{Stdout: []byte("show x"), Exit: 3}, a)
	require.NoError(t, l.Close())
	_, err = Ask(t.Context(), socket, Request{Program: BD})
	require.ErrorIs(t, err, ErrGone)
}

// TestToken: who knows the path of another attempt's socket, and has not its token, is refused; as where sockets are connected to by their
// path although files are not read.
func TestToken(t *testing.T) {
	t.Parallel()
	_, other := line(t, func(context.Context, Request) Answer { t.Error("it was asked"); return Answer{} })
	_, mine := line(t, nil)
	token, err := os.ReadFile(filepath.Join(filepath.Dir(mine), tokenFile))
	require.NoError(t, err)
	for _, text := range []string{`{"token":"` + string(token) + `","program":"bd","args":[]}`, `{"program":"bd"}`, `{`, ``, `[]`, strings.Repeat("x", MaxRequest+2)} {
		a := send(t, other, text)
		require.Equal(t, 2, a.Exit)
		require.NotContains(t, string(a.Stderr), string(token))
	}
	require.Equal(t, 3, send(t, mine, `{"token":"`+string(token)+`","program":"bd","args":[]}`).Exit)
	require.Equal(t, 2, send(t, mine, `{"token":"`+string(token)+`","program":"sh","args":[]}`).Exit)
}

// send sends a text as it is.
func send(t *testing.T, socket, text string) (a Answer) {
	t.Helper()
	dir, err := os.Open(filepath.Dir(socket))
	require.NoError(t, err)
	defer dir.Close()
	c, err := net.Dial("unix", within(dir, sandbox.SocketName))
	require.NoError(t, err)
	defer c.Close()
	_, _ = io.WriteString(c, text) // who has enough does not read on
	_ = c.(*net.UnixConn).CloseWrite()
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return Answer{Exit: 2} // hung up
	}
	return a
}

// TestClose ends what is being answered, and waits for it.
func TestClose(t *testing.T) {
	t.Parallel()
	asked, ended := make(chan struct{}), false
	l, socket := line(t, func(ctx context.Context, _ Request) Answer {
		close(asked)
		<-ctx.Done()
		ended = true
		return Answer{}
	})
	failed := make(chan error, 1)
	go func() {
		_, err := Ask(context.Background(), socket, Request{Program: BD})
		failed <- err
	}()
	<-asked
	require.NoError(t, l.Close())
	require.True(t, ended)
	require.ErrorIs(t, <-failed, ErrGone)
}

// TestAtOnce: no more than a few requests are answered at a time, and the others after them.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	now, most, release := make(chan struct{}, 100), make(chan int, 100), make(chan struct{})
	_, socket := line(t, func(context.Context, Request) Answer {
		now <- struct{}{}
		most <- len(now)
		<-release
		<-now
		return Answer{}
	})
	done := make(chan error, 20)
	for range cap(done) {
		go func() {
			_, err := Ask(context.Background(), socket, Request{Program: BD})
			done <- err
		}()
	}
	for range atOnce {
		<-most
	}
	close(release)
	for range cap(done) {
		require.NoError(t, <-done)
	}
	for len(most) > 0 {
		require.LessOrEqual(t, <-most, atOnce)
	}
}

// TestRead: what a flag names is sent with the request, and nothing else is read.
func TestRead(t *testing.T) {
	t.Parallel()
	open := func(name string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("in " + name)), nil }
	for _, c := range []struct{ args, want, stdin string }{
		{"validate t --output f", "validate t --output -", "in f"}, {"validate t --output=f", "validate t --output=-", "in f"},
		{"validate t --output -", "validate t --output -", ""}, {"validate t -- --output f", "validate t -- --output f", ""}, {"validate --output", "validate --output", ""},
	} {
		q := Request{Args: strings.Fields(c.args)}
		require.NoError(t, q.Read([]string{"output"}, false, strings.NewReader("input"), open))
		require.Equal(t, c.want, strings.Join(q.Args, " "))
		require.Equal(t, c.stdin, string(q.Stdin))
	}
	q := Request{}
	require.Error(t, q.Read(nil, true, strings.NewReader(strings.Repeat("x", maxInput+1)), open))
}

// FuzzParse: nothing but a request with the token is one.
func FuzzParse(f *testing.F) {
	f.Add(`{"token":"T","program":"bd","args":["show"]}`)
	f.Add(`{"token":"","program":"orch"}`)
	f.Add(`{"token":"T","program":"sh","stdin":"AAAA"}`)
	f.Fuzz(func(t *testing.T, text string) {
		q, err := parse(strings.NewReader(text), "T")
		if err == nil {
			require.Equal(t, "T", q.Token)
			require.Contains(t, []string{BD, Orch}, q.Program)
			require.LessOrEqual(t, len(q.Args), maxArgs)
		}
	})
}
