package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/orchestrator/sandbox"
)

const (
	word       = "sandbox-probe"
	victimWord = "victim"
	idleWord   = "idle"
)

// orders is what the attacker is told to try, and on what.
type orders struct {
	Threats  []sandbox.Threat          `json:"threats"`
	Targets  map[sandbox.Threat]string `json:"targets"`
	Worktree string                    `json:"worktree"`
	Path     string                    `json:"path"`
	Name     string                    `json:"name"`
	Port     int                       `json:"port"`
	TTY      string                    `json:"tty"`
	Victim   int                       `json:"victim"`
	Line     string                    `json:"line"` // is in the command line of the victim
}

// answers is what came of it, as far as only the attacker can know: what it has read, or [done].
type answers map[sandbox.Threat]string

// fewFiles is what the attacker would let the victim open: more than it has.
const fewFiles = 61

// done says that a system call was let through.
const done = "done"

// Serve is the whole work of the program where its arguments, with its name, are those of a part of a probe; else ok is false.
func Serve(args []string) (code int, ok bool) {
	if len(args) < 3 || args[1] != word {
		return 0, false
	}
	switch {
	case args[2] == idleWord:
		return 0, true
	case args[2] == victimWord && len(args) == 4:
		if err := os.WriteFile(args[3], fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
			return 1, true
		}
		for {
			time.Sleep(time.Hour)
		}
	}
	var o orders
	if err := json.Unmarshal([]byte(args[2]), &o); err != nil {
		return 1, true
	}
	found := answers{}
	for _, t := range o.Threats {
		if said := o.attack(t); said != "" {
			found[t] = said
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		return 1, true
	}
	return 0, true
}

// attack tries one threat in all ways that it knows. What cannot be done is what is hoped for, so no error counts.
func (o orders) attack(t sandbox.Threat) string {
	switch t {
	case sandbox.HomeRead:
		content, _ := os.ReadFile(o.Targets[t])
		return string(content)
	case sandbox.HardLink:
		link := filepath.Join(o.Worktree, "link")
		_ = os.Link(o.Targets[t], link)
		overwrite(link)
	case sandbox.Objects:
		_ = os.RemoveAll(filepath.Dir(o.Targets[t]))
	case sandbox.PathSocket:
		connect(unix.AF_UNIX, &unix.SockaddrUnix{Name: o.Path})
	case sandbox.AbstractSocket:
		connect(unix.AF_UNIX, &unix.SockaddrUnix{Name: o.Name})
	case sandbox.Network:
		connect(unix.AF_INET, &unix.SockaddrInet4{Port: o.Port, Addr: [4]byte{127, 0, 0, 1}})
	case sandbox.Terminal:
		if tty, err := os.OpenFile(o.TTY, os.O_RDWR|unix.O_NOCTTY, 0); err == nil {
			_, _ = tty.WriteString("written")
			_ = tty.Close()
		}
	case sandbox.Environ:
		content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", o.Victim))
		return string(content)
	case sandbox.Trace:
		return o.trace()
	case sandbox.Mode:
		_ = os.Chmod(o.Targets[t], 0o644)
	case sandbox.Limit:
		if o.seen() != stranger && unix.Prlimit(o.Victim, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: fewFiles, Max: fewFiles}, nil) == nil {
			return done
		}
	case sandbox.Signal:
		if o.seen() != stranger {
			_ = unix.Kill(o.Victim, unix.SIGKILL)
		}
	default:
		if _, file := o.Targets[t]; file {
			overwrite(o.Targets[t])
			return ""
		}
		return system(t, o.Worktree)
	}
	return ""
}

// overwrite changes a file in one of several ways.
func overwrite(path string) {
	const text = "changed"
	if os.WriteFile(path, []byte(text), private) == nil || os.Truncate(path, 1) == nil {
		return
	}
	_ = os.Chmod(filepath.Dir(path), private)
	beside := path + ".new"
	if os.WriteFile(beside, []byte(text), private) == nil && os.Rename(beside, path) == nil {
		return
	}
	_ = os.Remove(path)
}

func connect(family int, address unix.Sockaddr) {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.Connect(fd, address)
	_ = unix.Close(fd)
}

// Who has the number of the victim, as the attacker sees it.
const (
	nobody = iota
	victim
	stranger // of another namespace
)

func (o orders) seen() int {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", o.Victim))
	switch {
	case err != nil:
		return nobody
	case strings.Contains(string(line), o.Line):
		return victim
	}
	return stranger
}

func (o orders) trace() string {
	if o.seen() == stranger {
		return ""
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.PtraceAttach(o.Victim) != nil {
		return ""
	}
	var status unix.WaitStatus
	_, err := unix.Wait4(o.Victim, &status, unix.WALL, nil)
	if errors.Join(err, unix.PtraceDetach(o.Victim)) != nil {
		return ""
	}
	return done
}

// system tries a system call that is not to be had.
func system(t sandbox.Threat, worktree string) string {
	var err error
	switch t {
	case sandbox.Machine: // it is opened, and nothing is written
		var fd int
		if fd, err = unix.Open("/proc/sys/kernel/core_pattern", unix.O_WRONLY, 0); err == nil {
			_ = unix.Close(fd)
		}
	case sandbox.Mount:
		at := filepath.Join(worktree, "mounted")
		if err = errors.Join(os.MkdirAll(at, private), unix.Mount("none", at, "tmpfs", 0, "")); err == nil {
			_ = unix.Unmount(at, unix.MNT_DETACH)
		}
	case sandbox.Namespace:
		err = newNamespace()
	case sandbox.Vsock:
		var fd int
		if fd, err = unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
			_ = unix.Close(fd)
		}
	case sandbox.Uring:
		err = uring()
	case sandbox.Keyring:
		_, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	case sandbox.Descriptor:
		return openFiles()
	default:
		return ""
	}
	if err != nil {
		return ""
	}
	return done
}

func newNamespace() error {
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"orch", word, idleWord}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if err != nil {
		return err
	}
	var status unix.WaitStatus
	_, err = unix.Wait4(pid, &status, 0, nil)
	return err
}

// uring asks for a ring of one entry; what it is given is of no use and large enough for what the kernel writes, io_uring_setup(2).
func uring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// openFiles names the files that this process was started with beside the first three, and what its own runtime opens.
func openFiles() string {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return ""
	}
	var found []string
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < 3 {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/proc/") || strings.HasPrefix(to, "/sys/") {
			continue
		}
		found = append(found, to)
	}
	return strings.Join(found, " ")
}
