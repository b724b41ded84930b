package proc_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// runners are the two Runners; whatever a test says of one holds for the other.
func runners(t *testing.T, test func(t *testing.T, run command.Runner)) {
	s, _ := system(t, 0)
	t.Run("Run", func(t *testing.T) { t.Parallel(); test(t, s.Run) })
	t.Run("RunGuarded", func(t *testing.T) { t.Parallel(); test(t, s.RunGuarded) })
}

func TestRunGivesOutputAndInput(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		brief := []byte(strings.Repeat("a line that is longer than a pipe\n", 10_000))
		got, err := run(t.Context(), command.Cmd{Argv: self(t, "cat"), Stdin: brief})
		require.NoError(t, err)
		require.Equal(t, brief, got.Stdout)
		require.Empty(t, got.Stderr)
		require.Zero(t, got.DroppedBytes)

		got, err = run(t.Context(), command.Cmd{Argv: self(t, "cat")})
		require.NoError(t, err)
		require.Empty(t, got.Stdout, "no Stdin is the null device")
	})
}

func TestRunIgnoresInputThatIsNotRead(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		got, err := run(t.Context(), command.Cmd{Argv: self(t, "say", "hi"), Stdin: make([]byte, 1<<20)})
		require.NoError(t, err)
		require.Equal(t, "hi", string(got.Stdout))
	})
}

func TestRunReportsAnExit(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		got, err := run(t.Context(), command.Cmd{Argv: self(t, "complain", "7", "it is broken")})
		var exit *command.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 7, exit.ExitCode)
		require.Empty(t, exit.Signal)
		require.Equal(t, "it is broken\n", exit.Stderr)
		require.Equal(t, 7, got.ExitCode)
		require.Equal(t, "it is broken\n", string(got.Stderr))

		got, err = run(t.Context(), command.Cmd{Argv: self(t, "die", "9")})
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 137, exit.ExitCode)
		require.Equal(t, "SIGKILL", exit.Signal)
		require.Equal(t, 137, got.ExitCode)
	})
}

func TestRunKeepsOnlyTheBeginning(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		got, err := run(t.Context(), command.Cmd{Argv: self(t, "flood", "3000000"), MaxOutputBytes: 1000})
		require.NoError(t, err)
		require.Len(t, got.Stdout, 1000)
		require.EqualValues(t, 2_999_000, got.DroppedBytes)
	})
}

func TestRunGivesExactlyTheEnvironment(t *testing.T) {
	t.Parallel()
	s, marker := system(t, 0)
	got, err := s.Run(t.Context(), command.Cmd{Argv: self(t, "env"), Env: []string{"ONE=1", "TWO=2"}})
	require.NoError(t, err)
	require.Equal(t, "ONE=1\nTWO=2\n"+marker, string(got.Stdout))

	got, err = s.RunGuarded(t.Context(), command.Cmd{Argv: self(t, "env"), Env: []string{"ONE=1"}})
	require.NoError(t, err)
	require.Regexp(t, `\AONE=1\n`+marker+`\nORCH_LIFE=\w+\z`, string(got.Stdout))
}

func TestRunFindsTheProgramInItsOwnPath(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		_, err := run(t.Context(), command.Cmd{Argv: []string{"true"}, Env: []string{"PATH=/nowhere:."}})
		require.ErrorIs(t, err, exec.ErrNotFound)
		_, err = run(t.Context(), command.Cmd{Argv: []string{"/nowhere/at/all"}})
		require.ErrorIs(t, err, syscall.ENOENT)
		_, err = run(t.Context(), command.Cmd{Argv: []string{"/etc/passwd"}})
		require.ErrorIs(t, err, syscall.EACCES)
		_, err = run(t.Context(), command.Cmd{Argv: self(t, "say"), Dir: "/nowhere"})
		require.ErrorIs(t, err, syscall.ENOENT)
		_, err = run(t.Context(), command.Cmd{})
		require.Error(t, err)
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		cause := errors.New("the run is over")
		for _, how := range []string{"hang", "excuse"} { // excuse exits 0 when it is told to end
			ctx, cancel := context.WithCancelCause(t.Context())
			timer := time.AfterFunc(500*time.Millisecond, func() { cancel(cause) })
			defer timer.Stop()
			_, err := run(ctx, command.Cmd{Argv: self(t, how)})
			require.ErrorIs(t, err, cause)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		got, err := run(ctx, command.Cmd{Argv: self(t, "say", "never")})
		require.ErrorIs(t, err, cause)
		require.Empty(t, got.Stdout)
	})
}

func TestRunKillsWhatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	runners(t, func(t *testing.T, run command.Runner) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		got, err := run(ctx, command.Cmd{Argv: self(t, "ignore")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Greater(t, time.Since(began), 5*time.Second)
		requireDead(t, readyPIDs(string(got.Stdout)))
	})
}

func TestRunGuardedWantsAGuard(t *testing.T) {
	t.Parallel()
	_, err := proc.New(proc.Options{}).RunGuarded(t.Context(), command.Cmd{Argv: self(t, "say")})
	require.ErrorIs(t, err, proc.ErrNoGuard)
	notOne := proc.New(proc.Options{Guard: self(t, "say")})
	_, err = notOne.RunGuarded(t.Context(), command.Cmd{Argv: self(t, "say")})
	require.ErrorContains(t, err, "the guard did not start")
}

func TestGuardByHandRefuses(t *testing.T) {
	t.Parallel()
	exe := self(t)[0]
	out, err := exec.CommandContext(t.Context(), exe, "guard", "--", exe, "agent", "say", "hi").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 125, exit.ExitCode())
	require.Contains(t, string(out), "no lifeline")
}

func BenchmarkRun(b *testing.B) {
	s := proc.New(proc.Options{})
	for b.Loop() {
		if _, err := s.Run(b.Context(), command.Cmd{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRunGuarded(b *testing.B) {
	s, _ := system(b, 0)
	for b.Loop() {
		if _, err := s.RunGuarded(b.Context(), command.Cmd{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleSystem_Run() {
	s := proc.New(proc.Options{})
	_, err := s.Run(context.Background(), command.Cmd{
		Argv: []string{"ls", "--", "/no/such/place"},
		Env:  []string{"PATH=/usr/bin:/bin", "LC_ALL=C"},
	})
	var exit *command.ExitError
	fmt.Println(errors.As(err, &exit) && exit.ExitCode != 0)
	// Output: true
}
