package git

import (
	"io/fs"
	"os"
	"syscall"
)

// stamp changes when a file has been written, replaced or changed in any way; all zero when there is none.
type stamp struct {
	device, inode uint64
	mode          fs.FileMode
	size          int64
	changed       syscall.Timespec // which no process can set
}

func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	s := stamp{mode: info.Mode(), size: info.Size()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode, s.changed = uint64(sys.Dev), sys.Ino, sys.Ctim
	}
	return s
}
