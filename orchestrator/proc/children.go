package proc

import (
	"crypto/rand"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ownName is the environment variable by which a process that comes from an unguarded
// command of ours, such as the daemon of a tracker, is told from one that a dead guard
// has left; its value is random, and no guarded command sees it.
const ownName = "ORCH_OWN"

// Children knows the children that a process has started itself, so that those which come
// to it when a guard dies can be told from them, and ended. A program has at most one, and
// then starts every process by a [System] that has it; a nil one adopts nothing.
type Children struct {
	own string // "ORCH_OWN=..."

	// starting is held for reading while a child is born, until it is known; and for writing
	// while strangers are waited for or killed.
	starting sync.RWMutex

	mu      sync.Mutex
	known   map[int]*exec.Cmd
	adopted bool
}

// NewChildren is for the program that starts all of its processes by Systems of this package.
func NewChildren() *Children {
	return &Children{own: ownName + "=" + rand.Text(), known: make(map[int]*exec.Cmd)}
}

// adopt makes what is orphaned below this process its children. It fails when the system refuses.
func (c *Children) adopt() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.adopted {
		return nil
	}
	if err := becomeReaper(); err != nil {
		return err
	}
	c.adopted = true
	return nil
}

// start starts cmd and knows it from then on. It fails as cmd.Start does.
func (c *Children) start(cmd *exec.Cmd) error {
	if c == nil {
		return cmd.Start()
	}
	c.starting.RLock()
	defer c.starting.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[cmd.Process.Pid] = cmd
	return nil
}

// ended forgets a child that was waited for; its number may be that of another by now.
func (c *Children) ended(cmd *exec.Cmd) {
	if c == nil {
		return
	}
	c.mu.Lock()
	if c.known[cmd.Process.Pid] == cmd {
		delete(c.known, cmd.Process.Pid)
	}
	adopted := c.adopted
	c.mu.Unlock()
	if adopted && c.starting.TryLock() { // a later one does it as well
		defer c.starting.Unlock()
		c.buryStrangers()
	}
}

func (c *Children) knows(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[pid] != nil
}

// buryStrangers waits for strangers that have ended.
func (c *Children) buryStrangers() {
	for _, pid := range orphans() {
		if !c.knows(pid) && zombie(pid) {
			bury(pid)
		}
	}
}

// bury waits for one child that has ended, and says whether it had.
func bury(pid int) bool {
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return err == nil && got == pid
		}
	}
}

// endStrangers kills every child that this process did not start, with its group, and waits for
// those that have ended. It gives those that it found, dead or alive, the last time that it
// looked. They are what dead guards have left, since a living guard adopts what is below it.
//
// What forks is followed without a pause, until it is caught or end has come.
func (c *Children) endStrangers(end time.Time) (found []int) {
	if c == nil {
		return nil
	}
	for time.Now().Before(end) && len(c.endThese(orphans)) > 0 {
	}
	return c.endThese(children)
}

func (c *Children) endThese(list func() []int) (found []int) {
	c.starting.Lock()
	defer c.starting.Unlock()
	for _, pid := range slices.Backward(list()) { // the newest are alive still
		if !c.knows(pid) && endStranger(pid, c.own, c.knows) {
			found = append(found, pid)
		}
	}
	return found
}
