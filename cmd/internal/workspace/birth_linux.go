package workspace

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// birth is when a folder was made; "" where the file system does not tell.
func birth(path string) string {
	var at unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &at); err != nil || at.Mask&unix.STATX_BTIME == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%09d", at.Btime.Sec, at.Btime.Nsec)
}
