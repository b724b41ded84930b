//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// On these systems a tree is its process group: there is no adoption of orphans, and
// other processes' environments are not read.

type identity struct {
	pid int
}

type stat struct {
	identity
}

func becomeReaper() error { return nil }

func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func plainAttr(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func halted(int, int) bool { return false }

func wake([]identity) {}

func killGroups([]stat) {}

func commandAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func redirect(from, to int) bool { return unix.Dup2(from, to) == nil }

func groupLeft(command int) bool { return signalGroup(command, 0) }

func signalTree(command int, sig syscall.Signal) { signalGroup(command, sig) }

func (id identity) signal(sig syscall.Signal) bool { return syscall.Kill(id.pid, sig) == nil }

func endStranger(int, string, func(int) bool) bool { return false }

func orphans() []int { return nil }

func zombie(int) bool { return false }

func children() []int { return nil }

func lineage(pid int) []int { return []int{pid} }

func arguments(int) []string { return nil }

func environment(int) []string { return nil }

func holders([]*os.File) []identity { return nil }

func below(int) []stat { return nil }

const seesTimes = false

func ownCPU(int) time.Duration { return 0 }

func treeCPU(int) time.Duration { return 0 }

func marked(string) ([]identity, error) { return nil, nil }

// usedBelow sees nothing here.
func usedBelow(int, bool) (processes int, used int64) { return 0, 0 }
