package cmd

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/reason"
)

// fillingAgent does its task; at the second one, the first time, it fills the disk before it commits, and
// does not care that its file is then cut short.
const fillingAgent = `
set -e
here=$(dirname "$0")
echo "$ORCH_TASK" >"$ORCH_TASK"
case $ORCH_TASK in
*.2) if mkdir "$here/filled" 2>/dev/null; then dd if=/dev/zero of="$(cat "$here/where")/fill" bs=4k 2>/dev/null || true; echo "$ORCH_TASK" >"$ORCH_TASK" || true; fi ;;
esac
git add -A && git commit -q -m "$ORCH_TASK"
`

// mountSmall mounts a small disk at dir, or skips the test and says so.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m,mode=0700")
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("SKIPPED: nothing can be mounted here, so no disk is filled: %v; run it as root, where mount is allowed", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// TestDiskFills has an agent fill the disk that the whole repository, or a part of what a run needs,
// is on. The run says so and charges nobody; once there is room the next one goes on to the end.
func TestDiskFills(t *testing.T) {
	t.Parallel()
	gate := `f=$(mktemp) && echo "$f" >"$f" && grep -q . "$f" && rm "$f"`
	places := map[string]func(t *testing.T) (f *fixture, disk string){
		"repository": func(t *testing.T) (*fixture, string) {
			top := t.TempDir()
			mountSmall(t, top)
			return newFixtureIn(t, top, fillingAgent, gate), top
		},
		"git directory": func(t *testing.T) (*fixture, string) {
			f := newFixture(t, fillingAgent, gate)
			at := filepath.Join(f.dir, ".git")
			require.NoError(t, os.Rename(at, at+".aside"))
			mountSmall(t, at)
			f.must("sh", "-c", "cp -a .git.aside/. .git && rm -r .git.aside")
			return f, at
		},
		"worktrees": func(t *testing.T) (*fixture, string) {
			f := newFixture(t, fillingAgent, gate)
			mountSmall(t, f.dir+".worktrees")
			return f, f.dir + ".worktrees"
		},
		"temporary files": func(t *testing.T) (*fixture, string) {
			f := newFixture(t, fillingAgent, gate)
			tmp := filepath.Join(t.TempDir(), "tmp")
			mountSmall(t, tmp)
			f.env = append(f.env, "TMPDIR="+tmp)
			return f, tmp
		},
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, disk := place(t)
			f.write(filepath.Join(filepath.Dir(f.dir), "where"), disk)
			for _, title := range []string{"one", "two", "three"} {
				f.task(title)
			}
			out, code := f.run(nil, "orch", "run", f.epic, "-j", "2")
			require.FileExists(t, filepath.Join(disk, "fill"), out)
			if name != "worktrees" || code != 0 { // where removed worktrees leave room enough for these
				require.Equal(t, 9, code, out)
				require.Regexp(t, `MACHINE|no space left`, out)
			}
			f.run(nil, "orch", "status", f.epic) // it may have no room, and must not damage anything

			require.NoError(t, os.Remove(filepath.Join(disk, "fill")))
			out, code = f.run(nil, "orch", "run", f.epic, "-j", "2")
			require.Zero(t, code, out)
			require.Contains(t, out, "LOOP_DONE")
			require.Equal(t, "e-1.1\ne-1.2\ne-1.3", f.must("git", "ls-tree", "--name-only", "epic/"+f.epic, "--", "e-1.1", "e-1.2", "e-1.3"))
			for _, task := range []string{"e-1.1", "e-1.2", "e-1.3"} {
				require.Equal(t, task, f.must("git", "show", "epic/"+f.epic+":"+task))
			}
			require.NotRegexp(t, `missing|corrupt|error`, f.must("git", "fsck", "--no-dangling", "--no-progress"))
			nobodyCharged(t, f)
			f.must("orch", "gc", f.epic)
			require.NoDirExists(t, filepath.Join(f.dir, ".git", "orch", "tmp"))
		})
	}
}

// nobodyCharged holds that the journal blames the machine alone.
func nobodyCharged(t *testing.T, f *fixture) {
	t.Helper()
	rec, err := journal.Read(f.epicDir())
	require.NoError(t, err)
	for _, r := range rec.Records {
		var e epic.Event
		require.NoError(t, json.Unmarshal(r.Event, &e))
		switch e.Fact.(type) {
		case epic.AgentEnded:
			require.Contains(t, []reason.Code{"", reason.Machine}, e.Code, e.Reason)
		case epic.TaskParked, epic.TamperingFound:
			require.Fail(t, "somebody is blamed", "%s", r.Event)
		}
	}
}

// TestHookOnAFullDisk: a stop that cannot be counted holds nobody, or a session would be held for ever.
func TestHookOnAFullDisk(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "exit 1", "true")
	f.task("one")
	small := filepath.Join(f.dir, ".git", "orch", "sessions")
	mountSmall(t, small)
	f.must("orch", "session", "bind", f.epic, "--session", "s-1")
	stop := []string{"-c", `echo '{"session_id": "s-1", "hook_event_name": "Stop"}' | orch stop-hook`}
	require.Contains(t, f.must("sh", stop...), `"decision":"block"`)
	_, _ = f.run(nil, "dd", "if=/dev/zero", "of="+filepath.Join(small, "fill"), "bs=4k")
	out := f.must("sh", stop...)
	require.NotContains(t, out, "decision")
	require.Contains(t, out, "no space left on device; the session may end")
}
