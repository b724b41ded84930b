package hooks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/session"
)

// A session waits for no other's stops; one whose own stops are being counted, and take too long,
// is held where it has work left.
func TestAStopThatCannotBeCounted(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	for _, id := range []string{"one", "two"} {
		_, errs, code := s.call(nil, "session", "bind", "e", "--session", id)
		require.Zero(t, code, errs)
	}
	file := session.File(filepath.Join(s.dir, ".git"), "one")
	lock := flock.New(filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".lock"))
	require.NoError(t, lock.Lock())
	require.True(t, s.stops("two"))
	require.True(t, s.stops("one"), "there is work left")
	of := func(id string) session.Session {
		kept, ok, err := session.Load(session.File(filepath.Join(s.dir, ".git"), id), id)
		require.NoError(t, err)
		require.True(t, ok)
		return kept
	}
	require.Equal(t, 1, of("two").Blocks)
	require.Zero(t, of("one").Blocks, "who has the lock counts")

	// It was taken longer ago than any hook lives: nobody will count, and nothing may hold for ever.
	longAgo := time.Now().Add(-time.Minute)
	require.NoError(t, os.Chtimes(lock.Path(), longAgo, longAgo))
	out, errs, code := s.call(strings.NewReader(`{"session_id":"one"}`), "stop-hook")
	require.Zero(t, code)
	require.Empty(t, out)
	require.Contains(t, errs, "does not end; the session may end")
	_, errs, code = s.call(nil, "session", "release", "--session", "two")
	require.Zero(t, code, errs)
	require.False(t, s.stops("two"))
	require.NoError(t, lock.Unlock())
	require.True(t, s.stops("one"), "who takes it next says when")
	require.Equal(t, 1, of("one").Blocks)
	out, errs, code = s.call(nil, "session", "list")
	require.Zero(t, code, errs)
	require.Contains(t, out, "one  e  sent back 1 times")
}

// An id from outside drives no terminal, and fills none.
func TestShownIDs(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	for _, id := range []string{"\x1b[31mred", "a\nb", strings.Repeat("x", 5000)} {
		out, errs, code := s.call(nil, "session", "bind", "e", "--session", id)
		require.Zero(t, code, out+errs)
		in := fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"Stop"}`, strings.ReplaceAll(id, "\x1b", "\u001b"), s.dir)
		out, errs, code = s.call(strings.NewReader(strings.ReplaceAll(in, `\x1b`, `\u001b`)), "stop-hook", "--explain")
		require.Zero(t, code, out+errs)
		line, _, _ := strings.Cut(out, "\n")
		require.Contains(t, line, "[WORK_LEFT]")
		require.NotContains(t, line, "\x1b")
		require.Less(t, len(line), 300)
	}
	out, errs, code := s.call(nil, "session", "list")
	require.Zero(t, code, errs)
	require.NotContains(t, out, "\x1b")
	require.Equal(t, 3, strings.Count(out, "\n"), out)
	require.Less(t, len(out), 600)
}
