package fault_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/private"
)

func TestMachine(t *testing.T) {
	t.Parallel()
	_, missing := os.Open(filepath.Join(t.TempDir(), "nothing"))
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"a file that is not there", missing, false},
		{"of a system call", fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}), true},
		{"no processes", fmt.Errorf("starting: %w", syscall.EAGAIN), true},
		{"said by git", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "warning: x\nfatal: cannot lock ref 'refs/heads/a': Unable to create 'a.lock': File exists.\n"}, true},
		{"a folder of references", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "fatal: commit: cannot update the ref 'refs/heads/a': unable to create directory for 'logs/refs/heads/a': No such file or directory\n"}, true},
		{"said by git of the work", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "fatal: not a tree object\n"}, false},
		{"a plain error", errors.New("No space left on device"), false},
		{"no guard", fmt.Errorf("sh: %w: %w", command.ErrGuard, io.EOF), true},
		{"orch itself", fmt.Errorf("sh: %w: %w", command.ErrGone, syscall.ENOENT), true},
		{"permission", syscall.EACCES, false},
		{"a file of orch's own that cannot be changed", fmt.Errorf("clearing: %w", private.Refused(&fs.PathError{Op: "mkdirat", Path: "d", Err: syscall.EPERM})), true},
		{"one that is in use", private.Refused(&fs.PathError{Op: "unlinkat", Path: "d", Err: syscall.EBUSY}), true},
		{"one that is not there", private.Refused(missing), false},
		{"a folder of locks that is closed", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "fatal: Unable to create '/r/.git/index.lock': Operation not permitted\n"}, true},
		{"a git that was killed", &command.ExitError{Argv: []string{"git", "rev-parse"}, ExitCode: 137, Signal: "SIGKILL"}, true},
		{"a git that crashed", &command.ExitError{Argv: []string{"git", "rev-parse"}, ExitCode: 139, Signal: "SIGSEGV"}, false},
		{"a command of the gate that was killed", &command.ExitError{Argv: []string{"sh"}, ExitCode: 137, Signal: "SIGKILL"}, false},
		{"packed references", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "fatal: unexpected line in .git/packed-refs: garbage\n"}, true},
		{"the same, said by a command of the gate", &command.ExitError{Argv: []string{"sh"}, ExitCode: 1, Stderr: "fatal: unexpected line in .git/packed-refs: garbage\n"}, false},
		{"an object", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "error: object file .git/objects/aa/bb is empty\n"}, false},
		{"a folder of objects that is closed", &command.ExitError{Argv: []string{"git"}, ExitCode: 128, Stderr: "error: insufficient permission for adding an object to repository database .git/objects\n"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			why, ok := fault.Machine(tt.err)
			require.Equal(t, tt.want, ok)
			require.Equal(t, ok, why != "")
			require.Equal(t, ok, fault.Of(tt.err) != nil)
		})
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	said := func(stderr string) error {
		return fmt.Errorf("reading: %w", &command.ExitError{Argv: []string{"git", "log"}, ExitCode: 128, Stderr: stderr})
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("object file a is empty"), ""},
		{said("fatal: bad revision 'x'\n"), ""},
		{said("error: object file .git/objects/aa/bb is empty\nfatal: bad object aabb\n"), "error: object file .git/objects/aa/bb is empty"},
		{said("fatal: x\nfatal: unterminated line in .git/packed-refs: \x1b[31m\x00\xff\n"), "fatal: unterminated line in .git/packed-refs: \ufffd"},
		{said("error: index file p.idx is too small\nfatal: multi-pack-index signature 0x1 does not match signature 0x2\n"), "error: index file p.idx is too small"},
	} {
		why, ok := fault.Damaged(tt.err)
		require.Equal(t, tt.want, why)
		require.Equal(t, tt.want != "", ok)
	}
}

func FuzzSaid(f *testing.F) {
	f.Add("error: unable to write file: No space left on device\n")
	f.Add("all is well")
	f.Fuzz(func(t *testing.T, text string) {
		if line, ok := fault.Said(text); ok {
			require.NotEmpty(t, line)
			require.Contains(t, text, line)
		}
	})
}
