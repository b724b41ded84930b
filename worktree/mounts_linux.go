package worktree

import (
	"os"
	"strings"
)

// mountsBelow lists where file systems are mounted at path or below it; none when that is not known.
func mountsBelow(path string) (mounts []string) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		if at == path || strings.HasPrefix(at, path+"/") {
			mounts = append(mounts, at)
		}
	}
	return mounts
}
