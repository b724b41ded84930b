package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Running finds the processes of git that work in one of dirs: that are there, or name it on
// their command line. One that cannot be inspected counts. known is true: these are all.
func Running(dirs ...string) (pids []int, known bool, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		name, err := os.ReadFile(filepath.Join(proc, "comm"))
		if err != nil || !strings.HasPrefix(string(name), "git") {
			continue
		}
		if worksIn(proc, dirs) {
			pids = append(pids, pid)
		}
	}
	return pids, true, nil
}

func worksIn(proc string, dirs []string) bool {
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	if err != nil {
		return errors.Is(err, fs.ErrPermission)
	}
	args, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil {
		return errors.Is(err, fs.ErrPermission)
	}
	for _, dir := range dirs {
		if dir != "" && (cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator)) || strings.Contains(string(args), dir)) {
			return true
		}
	}
	return false
}

// Busy reports whether a git that is not orch's works in dir; true where that cannot be known.
func (r *Repo) Busy(dir string) bool {
	pids, known, err := Running(dir)
	if err != nil || !known {
		return true
	}
	return slices.ContainsFunc(pids, func(pid int) bool {
		args, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		return !errors.Is(err, fs.ErrNotExist) && !strings.Contains(string(args), r.ScratchDir())
	})
}
