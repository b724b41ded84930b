package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/session"
)

// stop runs the stop hook for a session, and gives what it printed and its exit code.
func (f *fixture) stop(id string, extra ...string) (stdout, stderr string, code int) {
	f.t.Helper()
	var out, errs strings.Builder
	c := exec.CommandContext(f.t.Context(), filepath.Join(f.bin, "orch"), "stop-hook")
	c.Dir, c.Env, c.Stdout, c.Stderr = f.dir, append(append([]string{}, f.env...), extra...), &out, &errs
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"Stop"}`, id, f.dir))
	if err := c.Run(); err != nil && c.ProcessState == nil {
		f.t.Error(err)
		return "", "", -1
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// TestStopsAtOnce: of 200 stops of one session at a time, each that sends it back is counted, and no
// more do than may; one that is sent back while another is being counted, which takes long, says that it
// is not, and one that is counted too late for its answer that it took too long.
func TestStopsAtOnce(t *testing.T) {
	t.Parallel()
	count := 40
	if os.Getenv("ORCH_TEST_LONG") != "" {
		count = 200
	}
	f := quickFixture(t, "true", "true")
	f.task("one")
	f.must("orch", "session", "bind", f.epic, "--session", "s")
	var group sync.WaitGroup
	var mu sync.Mutex
	blocks, uncounted, late := 0, 0, 0
	gate := make(chan struct{}, 25) // a machine has so many processes to give
	for range count {
		group.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			out, errs, code := f.stop("s")
			mu.Lock()
			defer mu.Unlock()
			if code != 0 || out == "" && errs == "" {
				t.Errorf("exit %d, said %q and %q", code, out, errs)
			}
			switch {
			case strings.Contains(errs, "not counted"):
				uncounted++
			case strings.HasPrefix(out, `{"decision":"block"`):
				blocks++
			case strings.Contains(errs, "takes too long"):
				late++
			}
		})
	}
	group.Wait()
	s, ok, err := session.Load(session.File(filepath.Join(f.dir, ".git"), "s"), "s")
	require.NoError(t, err)
	require.True(t, ok)
	t.Logf("%d sent back and counted, %d not counted, %d too late", blocks, uncounted, late)
	require.Positive(t, blocks+late)
	require.GreaterOrEqual(t, s.Blocks, blocks, "blocks that were counted")
	require.LessOrEqual(t, s.Blocks, blocks+late, "blocks that were counted")
	require.LessOrEqual(t, blocks, 4, "a session that gets nowhere")
}

// TestHookIsNotHeld: whatever the tracker prints, keeps open or ignores, the hook is done soon,
// with exit 0, and what held it is gone.
func TestHookIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"flood":         `head -c 300000000 /dev/zero | tr '\0' '{'`,
		"flood in rows": `yes '{'`,
		"deep rows":     `yes '[{"a":1},' | head -c 100000000`,
		"holder":        `sleep 300 & echo $! >$HOME/left; echo '[]'`,
		"daemon":        `setsid sh -c 'echo $$ >$HOME/left; exec sleep 300' & while [ ! -s $HOME/left ]; do :; done; echo '[]'`,
		"stubborn":      `trap '' TERM; echo $$ >$HOME/left; while :; do sleep 300; done`,
		"drip":          `while :; do printf '['; sleep .05; done`,
		"silent":        `exec sleep 300`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quickFixture(t, "true", "true")
			f.must("orch", "session", "bind", f.epic, "--session", "s")
			f.settings("kind: file", "kind: bd")
			f.write(filepath.Join(f.dir, ".beads", "metadata.json"), "{}")
			bd := filepath.Join(t.TempDir(), "bd")
			require.NoError(t, os.WriteFile(bd, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
			began := time.Now()
			out, errs, code := f.stop("s", "PATH="+filepath.Dir(bd)+":"+os.Getenv("PATH"))
			require.Zero(t, code, errs)
			require.True(t, out != "" || errs != "", "it says what it decided")
			require.Less(t, time.Since(began), 2*time.Minute, "far from what the tracker would take")
			left, err := os.ReadFile(filepath.Join(filepath.Dir(f.dir), "left"))
			if err != nil {
				return
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(left)))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return !runs(pid) }, time.Minute, 10*time.Millisecond, "process %d holds on", pid)
		})
	}
}

// runs reports whether a process is there and has not ended.
func runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(line) > 0
}

// TestHookOfStrangeFiles: the embedded tracker's file may be anything.
func TestHookOfStrangeFiles(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"fifo":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"endless": func(path string) error { return os.Symlink("/dev/zero", path) },
		"huge": func(path string) error {
			return os.WriteFile(path, nil, 0o600)
		},
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quickFixture(t, "true", "true")
			f.must("orch", "session", "bind", f.epic, "--session", "s")
			path := filepath.Join(f.dir, ".beads", "issues.jsonl")
			require.NoError(t, os.Remove(path))
			require.NoError(t, plant(path))
			if name == "huge" {
				require.NoError(t, os.Truncate(path, 500<<20))
			}
			out, errs, code := f.stop("s")
			require.Zero(t, code)
			var said struct{ Decision string }
			if out != "" {
				require.NoError(t, json.Unmarshal([]byte(out), &said))
			}
			require.Contains(t, errs, "issues.jsonl")
		})
	}
}
