package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	notFound      = 127 // exit statuses of a shell
	notExecutable = 126
)

// Serve is the whole work of the program where its arguments, with its name, are those of a command that [Box.Wrap] made: it
// becomes that command, or waits for it. It returns the exit status where it did not become it, and ok false for other arguments. A
// program calls it before anything else; the process has no other goroutines of the caller's.
func Serve(args, env []string) (code int, ok bool) {
	if len(args) < 4 || args[1] != execWord && args[1] != mountWord && args[1] != initWord || args[3] != "--" {
		return 0, false
	}
	runtime.LockOSThread() // rights are given up by the thread that becomes the command
	var told spec
	decoder := json.NewDecoder(strings.NewReader(args[2]))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&told)
	switch {
	case err != nil:
	case args[1] == mountWord:
		code, err = told.runFirst(args[4:], env)
		if err == nil {
			return code, true
		}
	case args[1] == initWord:
		err = told.enter()
	case told.Level == Bubblewrap:
		err = told.becomeBwrap(args, env)
	case told.Level == Namespaces:
		code, err = told.runNamespaces(args[4:], env)
		if err == nil {
			return code, true
		}
	case told.Level == Landlock:
		err = told.enter()
	default:
		err = fmt.Errorf("no level %q", told.Level)
	}
	if err != nil {
		return say(Failed, err), true
	}
	if len(args) == 4 {
		fmt.Print(Standing)
		return 0, true
	}
	return become(args[4:], env), true
}

func say(code int, err error) int {
	fmt.Fprintln(os.Stderr, "orch sandbox:", err)
	return code
}

// enter puts this thread within the bounds: all of them where there are no mounts, else those that are left.
func (s spec) enter() error {
	defaultSignals()
	if err := closeFiles(); err != nil {
		return err
	}
	if s.Level.Mounts() {
		return s.boundRest()
	}
	if err := s.Limits.set(s.Level); err != nil {
		return err
	}
	if err := dropCapabilities(keptCapabilities()); err != nil {
		return err
	}
	if err := restrictFiles(s.Policy); err != nil {
		return err
	}
	s.Policy.link(s.Policy.PrivateHome, false)
	return restrictCalls(filterOptions{truncate: ABI() < truncates, nested: s.Policy.Nested})
}

// boundRest puts this thread within the bounds that are left where all is mounted.
func (s spec) boundRest() error {
	if err := s.Limits.set(s.Level); err != nil {
		return err
	}
	if s.Policy.Door != nil {
		if err := s.Policy.Door.handOut(); err != nil {
			return err
		}
	}
	if err := dropCapabilities(nil); err != nil {
		return err
	}
	s.Policy.link(s.Policy.Home, true)
	if err := restrictScope(); err != nil {
		return err
	}
	return restrictCalls(filterOptions{others: true, nested: s.Policy.Nested})
}

// truncates is the version of landlock that refuses truncate(2) too.
const truncates = 3

// becomeBwrap makes this process bubblewrap, which starts the program again within its mounts. Signals for the command
// must not end bubblewrap, with which all would be killed at once.
func (s spec) becomeBwrap(args, env []string) error {
	program, err := openTrusted(s.Bwrap)
	if err != nil {
		return err
	}
	self, err := unix.Open("/proc/self/exe", unix.O_PATH, 0) // also where another is at its path by now
	if err != nil {
		return err
	}
	arguments, within, told := layoutArgs(s.Policy), []string{fmt.Sprintf("/proc/self/fd/%d", self), mountWord}, spec{Level: s.Level, Policy: s.Policy, Limits: s.Limits}
	if takesRights(there) {
		arguments, within, told = bwrapArgs(s.Policy, there), []string{ProgramAt, initWord}, spec{Level: s.Level, Limits: s.Limits, Policy: Policy{Door: s.Policy.Door, Home: s.Policy.Home, Links: s.Policy.Links, Nested: s.Policy.Nested}}
		for _, b := range s.Policy.layers() {
			if err := os.MkdirAll(s.Policy.beside(b), 0o700); err != nil {
				return err
			}
		}
	}
	list, err := listFile(arguments)
	if err != nil {
		return err
	}
	inside, err := json.Marshal(told)
	if err != nil {
		return err
	}
	signal.Ignore(heldSignals()...)
	argv := slices.Concat([]string{"bwrap", "--args", fmt.Sprint(list), "--"}, within, []string{string(inside), "--"}, args[4:])
	return fmt.Errorf("starting %s: %w", s.Bwrap, syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", program), argv, env))
}

// openTrusted opens a program that only root can have changed.
func openTrusted(path string) (fd int, err error) {
	fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return -1, fmt.Errorf("%s: %w", path, err)
	case st.Uid != 0 || st.Mode&0o022 != 0:
		return -1, fmt.Errorf("%s: others than root can change it", path)
	case st.Mode&unix.S_ISUID != 0:
		return -1, fmt.Errorf("%s: it runs with the rights of root", path)
	}
	return fd, nil
}

// listFile is an open file without a name that holds args, each with a zero byte after it.
func listFile(args []string) (fd int, err error) {
	fd, err = unix.MemfdCreate("args", 0)
	if err != nil {
		return -1, fmt.Errorf("a file for the arguments: %w", err)
	}
	file := os.NewFile(uintptr(fd), "args")
	runtime.SetFinalizer(file, nil) // the process becomes another with it open
	var list bytes.Buffer
	for _, arg := range args {
		list.WriteString(arg)
		list.WriteByte(0)
	}
	if _, err = file.Write(list.Bytes()); err == nil {
		_, err = file.Seek(0, 0)
	}
	return fd, err
}

// there reports whether something is at a path that can be mounted on: no link.
func there(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink == 0
}

// heldSignals are those by which a command is asked to end.
func heldSignals() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}

// defaultSignals has the command treat signals as every program does that was started: what is caught here is not
// inherited.
func defaultSignals() {
	signal.Notify(make(chan os.Signal, 1), heldSignals()...)
}

// closeFiles has all open files but the first three closed when this process becomes another.
func closeFiles() error {
	const firstOther = 3
	err := unix.CloseRange(firstOther, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil && fd >= firstOther {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// become makes this process the command; it returns where that failed, as a shell would.
func become(argv, env []string) (code int) {
	program, err := find(argv[0], env)
	if err != nil {
		return say(notFound, err)
	}
	return notStarted(program, syscall.Exec(program, argv, env))
}

// notStarted says why a program does not start, as a shell would.
func notStarted(program string, err error) (code int) {
	err = fmt.Errorf("%s: %w", program, err)
	if errors.Is(err, fs.ErrNotExist) {
		return say(notFound, err)
	}
	return say(notExecutable, err)
}

// find looks a program up in the PATH of env.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && !info.IsDir() && unix.Access(file, unix.X_OK) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: no such program within the sandbox: %w", name, fs.ErrNotExist)
}
