package proc

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Conceal keeps other processes of the same user from reading this one: its memory, its
// environment, its open files; and from tracing it. Nothing stops a process that has the
// rights of root, so what the environment was is overwritten where it can be seen from outside
// too, but for the names in keep and what Survivors and a guard go by; the program has its copy of it. A program calls it before
// anything else. It fails when the system refuses the first; the second is done where it can be.
func Conceal(keep ...string) error {
	blankEnvironment(keep)
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// blankEnvironment overwrites the strings that execve left, which the runtime has copied.
func blankEnvironment(keep []string) {
	start, end, err := environmentAt()
	if err != nil {
		return
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer mem.Close()
	block := make([]byte, end-start)
	if n, err := mem.ReadAt(block, start); err != nil || n != len(block) {
		return
	}
	var kept []byte
	for entry := range bytes.SplitSeq(block, []byte{0}) {
		name, _, _ := strings.Cut(string(entry), "=")
		if name == lifeName || slices.Contains(keep, name) {
			kept = append(append(kept, entry...), 0)
		}
	}
	blank := make([]byte, len(block))
	copy(blank, kept)
	if _, err := mem.WriteAt(blank, start); err != nil {
		return // some systems do not let a process write to itself so
	}
}

// environmentAt is where the environment of this process lies in its memory, proc_pid_stat(5).
func environmentAt() (start, end int64, err error) {
	line, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	const first, startField, endField, most = 3, 50, 51, 16 << 20
	if len(fields) <= endField-first {
		return 0, 0, errStat
	}
	start, err = strconv.ParseInt(string(fields[startField-first]), 10, 64)
	if err != nil {
		return 0, 0, err
	}
	end, err = strconv.ParseInt(string(fields[endField-first]), 10, 64)
	if err == nil && (start <= 0 || end < start || end-start > most) {
		err = errors.New("no environment")
	}
	return start, end, err
}
