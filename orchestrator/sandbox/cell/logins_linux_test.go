package cell_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/claude"
)

// renewals is how many tokens an agent uses up.
const renewals = 5

// renew is a client that renews its login as Claude Code does: under a lock that is a folder beside it, with a new file in its place. It uses a
// token once and then needs the next one. Its arguments are the word, the endpoint and the folder of the login.
func renew(args []string) (code int, ok bool) {
	if len(args) != 4 || args[1] != "renew" {
		return 0, false
	}
	if err := renewAll(args[2], args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

func renewAll(url, dir string) error {
	login, lock := filepath.Join(dir, ".credentials.json"), filepath.Join(dir, ".oauth_refresh.lock")
	for range renewals {
		used, err := os.ReadFile(login)
		if err != nil {
			return err
		}
		for {
			err := os.Mkdir(lock, 0o700)
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrExist) {
				return err
			}
			time.Sleep(time.Millisecond)
		}
		now, err := os.ReadFile(login)
		if err == nil && string(now) == string(used) { // else another agent has renewed it
			err = renewOnce(url, login, string(used))
		}
		if err = errors.Join(err, os.Remove(lock)); err != nil {
			return err
		}
	}
	return nil
}

func renewOnce(url, login, used string) error {
	answer, err := http.Post(url, "text/plain", strings.NewReader(used))
	if err != nil {
		return err
	}
	token, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("logged out: %s", token)
	}
	fresh := login + ".tmp." + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(fresh, token, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, login)
}

// TestLoginIsShared: ten agents that use up tokens, with an endpoint that refuses one that was used, stay logged in, and so does the person.
func TestLoginIsShared(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		given := 0
		endpoint := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			used, err := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || string(used) != fmt.Sprint("token-", given) {
				http.Error(rw, fmt.Sprintf("%s was used", used), http.StatusUnauthorized)
				return
			}
			given++
			fmt.Fprint(rw, "token-", given)
		}))
		t.Cleanup(endpoint.Close)
		w.cells.Needs = func(string) harness.Needs { return claude.Client().Needs }
		require.NoError(t, os.MkdirAll(w.at(".claude"), 0o700))
		require.NoError(t, os.WriteFile(w.at(".claude/.credentials.json"), []byte("token-0"), 0o600))
		require.NoError(t, os.WriteFile(w.at(".claude/settings.json"), []byte("{}"), 0o600))
		var agents sync.WaitGroup
		const number = 10
		failures := make([]error, number)
		var cells []engine.Cell
		for n := range number {
			s := w.stay
			s.Dir, s.Branch = filepath.Join(filepath.Dir(s.Dir), fmt.Sprint("agent-", n)), fmt.Sprint("refs/heads/orch/e/t/", n+2)
			s.Folder, s.Home = filepath.Join(filepath.Dir(s.Folder), fmt.Sprint(n+2)), filepath.Join(filepath.Dir(s.Home), fmt.Sprint("t", n))
			w.Git("worktree", "add", "-q", "-b", strings.TrimPrefix(s.Branch, "refs/heads/"), s.Dir)
			require.NoError(t, os.MkdirAll(s.Folder, 0o700))
			c, err := w.cells.Enter(t.Context(), s)
			require.NoError(t, err)
			cells = append(cells, c)
			program, dir := w.cells.Box.Program(), w.at(".claude")
			if !w.cells.Box.Level.Mounts() {
				dir = filepath.Join(s.Home, "home/.claude")
			}
			cmd, err := c.Wrap(command.Cmd{Dir: s.Dir, Argv: []string{program, "renew", endpoint.URL, dir}, Env: w.Env})
			require.NoError(t, err)
			agents.Go(func() {
				res, err := w.run(t.Context(), cmd)
				if err != nil {
					failures[n] = fmt.Errorf("%w: %s", err, res.Stderr)
				}
			})
		}
		agents.Wait()
		for _, c := range cells {
			_, err := c.Leave(t.Context())
			require.NoError(t, err)
		}
		require.NoError(t, errors.Join(failures...))
		require.GreaterOrEqual(t, given, renewals)
		require.Equal(t, fmt.Sprint("token-", given), w.content(w.at(".claude/.credentials.json")))
		info, err := os.Stat(w.at(".claude/.credentials.json"))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		require.Equal(t, "{}", w.content(w.at(".claude/settings.json")))
		require.NoDirExists(t, w.at(".claude/.oauth_refresh.lock"))
	})
}
