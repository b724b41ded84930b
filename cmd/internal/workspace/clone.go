package workspace

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
)

// Hostname is the name of this machine.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return name
}

// clone names this clone of the repository, as "host:id", the same at every call: by the
// machine and the folder. In the tracker it tells two clones apart that share one.
func (w *Workspace) clone() string {
	machine, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		machine = nil // then the name of the host has to do
	}
	id := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", Hostname(), strings.TrimSpace(string(machine)), w.Home))
	host := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, Hostname())
	return fmt.Sprintf("%s:%x", host, id[:4])
}
