package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/command"
)

// byImage has cmd start the program of this process from its image, where it is that program which
// is to be started; its arguments stay as they are.
func (s *System) byImage(cmd *exec.Cmd) {
	if s.itself(cmd) && s.options.Image != "" {
		cmd.Path = s.options.Image
	}
}

// itself reports whether cmd starts the program of this process once more.
func (s *System) itself(cmd *exec.Cmd) bool {
	return len(s.options.Guard) > 0 && len(cmd.Args) > 0 && cmd.Args[0] == s.options.Guard[0]
}

// startError is why cmd could not be started. Where the program of this process is to blame, which
// was there when it began, it is a [command.ErrGone].
func (s *System) startError(cmd *exec.Cmd, err error) error {
	var at *fs.PathError
	if !s.itself(cmd) || !errors.As(err, &at) || at.Path != cmd.Path {
		return err
	}
	if _, none := os.Stat(cmd.Dir); cmd.Dir != "" && none != nil {
		return err
	}
	for _, gone := range []error{syscall.ENOENT, syscall.EACCES, syscall.EPERM, syscall.ETXTBSY, syscall.ENOEXEC, syscall.ENOTDIR} {
		if errors.Is(err, gone) {
			return fmt.Errorf("%w: %w", command.ErrGone, err)
		}
	}
	return err
}
