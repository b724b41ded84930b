package proc

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Above is a guard among the ancestors of a process.
type Above struct {
	// Marker is the System's that started it, "NAME=value"; "" when it had none.
	Marker string
	// Env is the environment in which the guarded command was started, as far as it can be read.
	Env []string
}

// GuardsAbove gives the guards above this process, the nearest first; word is what follows the
// program in Options.Guard. A process cannot leave its guard: it adopts what is orphaned below it.
// Systems other than Linux tell nothing.
func GuardsAbove(word string) []Above {
	var found []Above
	line := lineage(os.Getpid())
	for n, pid := range line {
		argv := arguments(pid)
		if n == 0 || len(argv) < 3 || argv[1] != word {
			continue
		}
		a := Above{Env: environment(line[n-1])}
		if argv[2] != "--" {
			a.Marker = argv[2]
		}
		found = append(found, a)
	}
	return found
}

// Ancestors gives the processes above this one, the nearest first.
func Ancestors() []int { return lineage(os.Getpid())[1:] }

// Ancestor is this process, or one above it.
type Ancestor struct {
	PID     int      // of it
	Session int      // the process session that it is in; 0 for one that began outside of this pid namespace
	Args    []string // its command line; nil where it cannot be read
}

// Lineage gives this process and those above it, the nearest first. Systems other than Linux tell
// nothing of those above.
func Lineage() (line []Ancestor) {
	for _, pid := range lineage(os.Getpid()) {
		session, err := unix.Getsid(pid)
		if err != nil {
			return line // it has ended
		}
		line = append(line, Ancestor{PID: pid, Session: session, Args: arguments(pid)})
	}
	return line
}

// Gone reports whether the process that was known by its number, [Born] and [Here] has ended. It is
// false where that cannot be told.
func Gone(pid int, born uint64, here string) bool {
	return pid != 0 && born != 0 && here == Here() && Born(pid) != born
}

// Environment is what a process was started with, as far as it can be read. Systems other than
// Linux tell nothing.
func Environment(pid int) []string { return environment(pid) }

// Terminal gives the process that the session of the controlling terminal began with, a login
// shell as a rule: it ends when the terminal is closed. ok is false without a terminal.
func Terminal() (pid int, ok bool) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	pid, err = unix.Getsid(0)
	return pid, errors.Join(err, tty.Close()) == nil && pid > 0
}
