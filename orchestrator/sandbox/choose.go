package sandbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
)

// trialTime is when a level that has not answered is taken for one that hangs.
const trialTime = 20 * time.Second

// Trial is how a level did on this machine.
type Trial struct {
	// Box is the level.
	Box Box
	// Err is why it cannot be had; nil where it stands.
	Err error
}

// Boxes gives all levels of this machine, the strongest first, tried or not. self is the file of the running program, bwrap
// the path of bubblewrap, "" where it was not found.
func Boxes(self, bwrap string) (boxes []Box) {
	for _, l := range Levels() {
		b := Box{Level: l, Self: self}
		if l == Bubblewrap {
			b.Bwrap = bwrap
		}
		boxes = append(boxes, b)
	}
	return boxes
}

// ErrNoBwrap says that the program bwrap was not found.
var ErrNoBwrap = errors.New("the program bwrap is not installed")

// Try starts nothing within the bounds of p, and gives nil where these stood. What is tried is what a command is
// started with, not what the system says of itself.
func (b Box) Try(ctx context.Context, run command.Runner, p Policy) error {
	if b.Level == Bubblewrap && !filepath.IsAbs(b.Bwrap) {
		return ErrNoBwrap
	}
	c, err := b.Wrap(command.Cmd{MaxOutputBytes: 4096}, p)
	if err != nil {
		return err
	}
	ctx, cancel := command.Within(ctx, trialTime, fmt.Errorf("the sandbox did not start within %s", trialTime))
	defer cancel()
	res, err := run(ctx, c)
	var exit *command.ExitError
	if errors.As(err, &exit) {
		return errors.New(strings.TrimPrefix(text.FirstLine(string(res.Stderr), exit.Error()), "orch sandbox: "))
	}
	if err == nil && string(res.Stdout) != Standing {
		err = errors.New("the command ended before the bounds stood")
	}
	return err
}

// Choose tries boxes in their order and gives the first that stands, with all trials up to it. It fails with a [*NoneError] where none does.
func Choose(ctx context.Context, run command.Runner, boxes []Box, p Policy) (Box, []Trial, error) {
	var trials []Trial
	for _, b := range boxes {
		err := b.Try(ctx, run, p)
		trials = append(trials, Trial{Box: b, Err: err})
		if err == nil {
			return b, trials, nil
		}
	}
	return Box{}, trials, &NoneError{Trials: trials}
}

// NoneError says that a machine has no level of those that were tried.
type NoneError struct{ Trials []Trial }

// Error says why each is not to be had.
func (e *NoneError) Error() string {
	var why []string
	for _, t := range e.Trials {
		why = append(why, fmt.Sprintf("%s: %s", t.Box.Level, strings.TrimPrefix(t.Err.Error(), string(t.Box.Level)+": ")))
	}
	return "no sandbox on this machine: " + strings.Join(why, "; ")
}

// Help is what a person can do, for the strongest level where something is known; "" nothing is.
func (e *NoneError) Help() string {
	for _, t := range e.Trials {
		if help := Help(t.Err); help != "" {
			return help
		}
	}
	return ""
}

// Help is what a person can do about a level that failed with err; "" where nothing is known.
func Help(err error) string {
	if errors.Is(err, ErrNoBwrap) {
		return "install bubblewrap, with the package of that name"
	}
	for _, known := range []struct{ says, help string }{
		{"others than root can change it", "install bubblewrap from the system's packages"},
		{"it runs with the rights of root", "install a bubblewrap that is not setuid"},
		{"setting up uid map: Permission denied", "AppArmor keeps programs without a profile from this: install its profile bwrap-userns-restrict (Ubuntu: package apparmor-profiles)"},
		{"Failed RTM_NEW", "AppArmor keeps programs without a profile from this: install its profile bwrap-userns-restrict (Ubuntu: package apparmor-profiles)"},
		{"namespaces: ", "user namespaces, or mounts in them, are not allowed to programs here; install bubblewrap with its AppArmor profile, where it is that"},
		{"No permissions to create", "user namespaces are not allowed here, as in most containers; the next level needs none"},
		{"Can't mount proc", "this container hides parts of /proc; the next level mounts nothing"},
		{"Failed to make / slave", "this container allows no mounts; the next level mounts nothing"},
		{"No space left on device", "user.max_user_namespaces is 0: an administrator allows none"},
		{"landlock: version", "a kernel of 5.19 or later with landlock among its security modules (lsm=)"},
	} {
		if strings.Contains(err.Error(), known.says) {
			return known.help
		}
	}
	return ""
}
