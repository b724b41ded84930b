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
