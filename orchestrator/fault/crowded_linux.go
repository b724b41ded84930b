package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fewProcesses is how many processes and threads have to be left to a user for a program's word that it could start
// none to be about itself.
const fewProcesses = 128

// crowded reports whether few processes and threads are left to the user (RLIMIT_NPROC), and says so in a clause. The
// limit does not hold for root.
func crowded() (why string, ok bool) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur == unix.RLIM_INFINITY || os.Getuid() == 0 {
		return "", false
	}
	used := threadsOf(os.Getuid())
	if used+fewProcesses <= limit.Cur {
		return "", false
	}
	return fmt.Sprintf("%d processes and threads of this user run, and %d may (ulimit -u)", used, limit.Cur), true
}

// threadsOf counts the threads of a user, as far as they are seen.
func threadsOf(uid int) (n uint64) {
	paths, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0
	}
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(status)) {
			if name, value, ok := strings.Cut(line, ":"); ok {
				fields[name] = strings.TrimSpace(value)
			}
		}
		if real, _, _ := strings.Cut(fields["Uid"], "\t"); real != strconv.Itoa(uid) {
			continue
		}
		threads, err := strconv.ParseUint(fields["Threads"], 10, 64)
		if err == nil {
			n += threads
		}
	}
	return n
}
