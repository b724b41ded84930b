package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inMemory has the scripts, and the fixtures that ask for it, in memory: they make and remove files by the hundred
// thousand, which some file systems are slow at. Where TMPDIR is set they are there, and in the long modes on the disk.
type inMemory struct{ *testing.M }

// memoryName is the variable that names the folder; empty or not set, the folders are in the usual place.
const memoryName = "ORCH_TEST_MEMORY"

func (m inMemory) Run() int {
	const memory = "/dev/shm"
	if os.Getenv("TMPDIR") == "" && os.Getenv("ORCH_TEST_LONG") == "" && roomy(memory) {
		dir, err := os.MkdirTemp(memory, "orch-test")
		if err == nil {
			err = os.Setenv(memoryName, dir)
		}
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir) // what fails to go is of a test that has failed
	}
	return m.M.Run()
}

// roomy reports whether a folder is a file system in memory with a gigabyte free, on which programs can be started.
func roomy(dir string) bool {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < 1<<30 {
		return false
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 3 && f[1] == dir {
			return err == nil && f[2] == "tmpfs" && !strings.Contains(f[3], "noexec") && !strings.HasPrefix(f[3], "ro")
		}
	}
	return false
}

// quickFixture is newFixture in memory, where that can be. It is for agents that no sandbox has to keep out of anything.
func quickFixture(t *testing.T, agent, gate string) *fixture {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(memoryName), "fixture")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, removeAll(dir)) })
	return newFixtureIn(t, dir, agent, gate)
}

// removeAll also removes what is in folders that a test has closed.
func removeAll(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what cannot be opened fails below
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
