package proc_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// A guard is started although its file is no more, or is another now.
func TestAGuardIsStartedFromTheImage(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\nexit 1\n"), 0o700))
	for _, path := range []string{gone, other} {
		s := proc.New(proc.Options{Guard: []string{path, "guard"}, Image: proc.Image()})
		got, err := s.RunGuarded(t.Context(), command.Cmd{Argv: []string{"sh", "-c", `tr '\0' ' ' </proc/$PPID/cmdline`}})
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(got.Stdout), path+" guard -- "), "its arguments stay: %s", got.Stdout)
	}
}

// Without an image it is a fault of the machine that it is no more, and none of the command.
func TestAGuardThatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := proc.New(proc.Options{Guard: []string{filepath.Join(dir, "gone"), "guard"}})
	_, err := s.RunGuarded(t.Context(), command.Cmd{Argv: []string{"true"}})
	require.ErrorIs(t, err, command.ErrGone)
	_, ok := fault.Machine(err)
	require.True(t, ok)
	_, err = s.Detach(command.Cmd{Argv: []string{filepath.Join(dir, "gone")}}, os.Stdout, os.Stdout)
	require.ErrorIs(t, err, command.ErrGone)

	s = proc.New(proc.Options{Guard: []string{self(t)[0], "guard"}})
	_, err = s.RunGuarded(t.Context(), command.Cmd{Argv: []string{"true"}, Dir: filepath.Join(dir, "no-folder")})
	require.Error(t, err)
	require.NotErrorIs(t, err, command.ErrGone, "its folder is not there")
}

// A program that starts itself detached does so from its image too; another program is not taken
// for it.
func TestDetachStartsTheImage(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	s := proc.New(proc.Options{Guard: []string{gone, "guard"}, Image: proc.Image()})
	for argv, want := range map[[4]string]string{{gone, "agent", "say", "hi"}: "hi", {"sh", "-c", "echo $0", "x"}: "x"} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		read, write, err := os.Pipe()
		require.NoError(t, err)
		d, err := s.Detach(command.Cmd{Argv: argv[:], Env: quickRace()}, out, write)
		require.NoError(t, err)
		require.NoError(t, write.Close())
		_, err = io.ReadAll(read)
		require.NoError(t, err)
		code, _ := d.Exit()
		require.Zero(t, code)
		require.Contains(t, string(readFile(t, out.Name())), want)
	}
}
