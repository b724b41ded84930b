package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The lifeline is a socket between the starter and the guard, fd 3 of the guard. The
// starter writes orders, one byte each; the guard writes reports, one JSON value each.
// Its end means that the other side is dead.
const lifelineFD = 3

// order is what the starter asks of the guard.
type order byte

const (
	orderInterrupt order = 'i' // SIGINT to the tree
	orderTerminate order = 't' // SIGTERM to the tree
	orderKill      order = 'k' // SIGKILL to the tree, until nothing is left
)

// signal is what the order sends; an unknown order is taken for the mildest.
func (o order) signal() syscall.Signal {
	switch o {
	case orderTerminate:
		return syscall.SIGTERM
	case orderKill:
		return syscall.SIGKILL
	}
	return syscall.SIGINT
}

// report is what the guard tells the starter: first that the command was started or
// was not, then that the command itself ended, last that the tree is gone.
type report struct {
	Started   int   `json:"started,omitempty"`   // pid of the command
	Errno     int   `json:"errno,omitempty"`     // why it was not started
	Ended     bool  `json:"ended,omitempty"`     // Code and Signal are those of the command
	Code      int   `json:"code,omitempty"`      // 128+n after a signal
	Signal    int   `json:"signal,omitempty"`    // n, 0 for none
	Gone      bool  `json:"gone,omitempty"`      // nothing of the tree is left, and the guard exits now
	Survivors []int `json:"survivors,omitempty"` // what it could not end
}

// newLifeline gives the two ends; neither is inherited by accident.
func newLifeline() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("making a lifeline: %w", err)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, syscall.Close(fds[0]), syscall.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "lifeline"), os.NewFile(uintptr(fds[1]), "lifeline"), nil
}

// inheritedLifeline is the guard's end. It fails when fd 3 is no socket, as when a person starts a guard by hand.
func inheritedLifeline() (*os.File, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(lifelineFD, &stat); err != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return nil, errors.New("no lifeline: a guard is started by orch only")
	}
	syscall.CloseOnExec(lifelineFD)
	return os.NewFile(lifelineFD, "lifeline"), nil
}

// readOrders ends with the lifeline, and then closes the channel.
func readOrders(line *os.File, orders chan<- order) {
	defer close(orders)
	buf := make([]byte, 1)
	for {
		if n, err := line.Read(buf); n == 0 || err != nil {
			return
		}
		orders <- order(buf[0])
	}
}

// readReports ends with the lifeline, and then closes the channel.
func readReports(decoder *json.Decoder, reports chan<- report) {
	defer close(reports)
	for {
		var r report
		if err := decoder.Decode(&r); err != nil {
			return
		}
		reports <- r
	}
}
