package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// Born is when a process of this machine began, in clock ticks since the machine did: with the
// pid it names one process, which a pid alone does not. It is 0 when there is no such process, or
// only its exit status.
func Born(pid int) uint64 {
	s, err := readStat(pid)
	if err != nil || s.zombie() {
		return 0
	}
	return s.start
}

// Here names the machine since it was started, and the pid namespace: where a pid and [Born] mean the
// same process. It is empty when it cannot be known.
func Here() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append(boot, namespace...))
	return hex.EncodeToString(sum[:4])
}
