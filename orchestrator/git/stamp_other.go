//go:build !linux

package git

import (
	"io/fs"
	"os"
	"time"
)

// stamp changes when a file has been written or replaced; all zero when there is none.
type stamp struct {
	mode    fs.FileMode
	size    int64
	changed time.Time
}

func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{mode: info.Mode(), size: info.Size(), changed: info.ModTime()}
}
