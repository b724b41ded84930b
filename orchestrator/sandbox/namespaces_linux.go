package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Where the two roots are while mounts are made: what was there before, and what is to be.
const (
	oldRoot = "/old"
	newRoot = "/new"
)

// setUpCapabilities are what the first process of the namespaces needs until the bounds stand; none of them counts outside.
func setUpCapabilities() []uintptr {
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_NET_BIND_SERVICE}
}

// runNamespaces starts the program again as the first process of namespaces of its own, and gives the exit status of that. Signals for
// the command must not end either of the two, with which all would be killed at once.
func (s spec) runNamespaces(argv, env []string) (code int, err error) {
	told, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	// The kernel lets a process that hides its memory give its child no users.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	signal.Ignore(heldSignals()...)
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if !s.Policy.Network {
		flags |= unix.CLONE_NEWNET
	}
	pid, err := syscall.ForkExec("/proc/self/exe", append([]string{"orch", mountWord, string(told), "--"}, argv...), &syscall.ProcAttr{
		Env: env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{
			Cloneflags: uintptr(flags), Pdeathsig: syscall.SIGKILL, AmbientCaps: setUpCapabilities(),
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		},
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Level, err)
	}
	return waitFor(pid)
}

// waitFor waits for one child, and for all others that come to this process, and gives its exit status as a shell would.
func waitFor(pid int) (code int, err error) {
	for {
		var status unix.WaitStatus
		ended, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// runFirst is the work of the first process: it lays out the file system, starts the command within the bounds, and ends
// with it, by which all others that are left there end. What it starts has the rights of this thread; of itself nothing can be
// read or changed there, since the other threads are not within all of the bounds.
func (s spec) runFirst(argv, env []string) (code int, err error) {
	if os.Getpid() != 1 {
		return 0, errors.New("not the first process of any namespace")
	}
	defaultSignals()
	if err := s.layOut(); err != nil {
		return 0, fmt.Errorf("%s: %w", s.Level, err)
	}
	if err := errors.Join(os.Chdir(s.Policy.Dir), closeFiles(), s.boundRest(), dropAllCapabilities(), unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)); err != nil {
		return 0, fmt.Errorf("%s: %w", s.Level, err)
	}
	if len(argv) == 0 {
		fmt.Print(Standing)
		return 0, nil
	}
	program, err := find(argv[0], env)
	if err != nil {
		return say(notFound, err), nil
	}
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return notStarted(program, err), nil
	}
	return waitFor(pid)
}

// layOut makes the file system of the policy that of this process.
func (s spec) layOut() error {
	if err := s.loopback(); err != nil {
		return err
	}
	if err := enterRoots(); err != nil {
		return err
	}
	if err := bind("/", "/", unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	if err := errors.Join(mountDevices(), mountProcesses()); err != nil {
		return err
	}
	for _, b := range s.Policy.Bounds {
		if err := b.mount(); err != nil {
			return err
		}
	}
	if err := s.Policy.mountLayers(newRoot); err != nil {
		return err
	}
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting go of the system: %w", err)
	}
	if err := errors.Join(os.Chdir(newRoot), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), os.Chdir("/")); err != nil {
		return fmt.Errorf("entering the new root: %w", err)
	}
	return nil
}

// loopback switches the interface on by which processes reach each other, where there is no other.
func (s spec) loopback() error {
	if s.Policy.Network {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	request, err := unix.NewIfreq("lo")
	if err == nil {
		request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
	}
	return errors.Join(err, unix.Close(fd))
}

// enterRoots makes a root of this process's own that holds nothing but the two.
func enterRoots() error {
	const base = "/tmp"
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("keeping mounts to itself: %w", err)
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("a new root: %w", err)
	}
	if err := errors.Join(os.Mkdir(base+oldRoot, 0o755), os.Mkdir(base+newRoot, 0o755), unix.PivotRoot(base, base+oldRoot), os.Chdir("/")); err != nil {
		return fmt.Errorf("a new root: %w", err)
	}
	return nil
}

// bind shows what was at a path of the system at a path of the new root, with all that is mounted below it.
func bind(from, at string, attributes uint64) error {
	target := filepath.Join(newRoot, at)
	if err := unix.Mount(filepath.Join(oldRoot, from), target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("showing %s: %w", at, err)
	}
	attr := unix.MountAttr{Attr_set: attributes | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("bounding %s: %w", at, err)
	}
	return nil
}

// mountDevices makes a /dev with what every program needs.
func mountDevices() error {
	const dev = newRoot + "/dev"
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755"); err != nil {
		return fmt.Errorf("devices: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		at := filepath.Join(dev, name)
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return fmt.Errorf("devices: %w", err)
		}
		if err := unix.Mount(filepath.Join(oldRoot, "dev", name), at, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("device %s: %w", name, err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, filepath.Join(dev, name)); err != nil {
			return fmt.Errorf("devices: %w", err)
		}
	}
	if err := errors.Join(os.Mkdir(dev+"/shm", 0o755), os.Mkdir(dev+"/pts", 0o755),
		unix.Mount("tmpfs", dev+"/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=25%"),
		unix.Mount("devpts", dev+"/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")); err != nil {
		return fmt.Errorf("terminals: %w", err)
	}
	return nil
}

// mountProcesses makes a /proc with the processes of the namespace, in which the machine cannot be changed.
func mountProcesses() error {
	const proc = newRoot + "/proc"
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting proc: %w", err)
	}
	for _, name := range machineFiles() {
		at := filepath.Join(proc, name)
		if err := unix.Mount(at, at, "", unix.MS_BIND|unix.MS_REC, ""); errors.Is(err, unix.ENOENT) {
			continue
		} else if err != nil {
			return fmt.Errorf("bounding %s: %w", name, err)
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("bounding %s: %w", name, err)
		}
	}
	return nil
}

// mount does what a bound says; nothing where nothing is there.
func (b Bound) mount() error {
	switch b.Kind {
	case Hidden:
		if !there(filepath.Join(oldRoot, b.At)) {
			return nil
		}
		if err := makePoint(b.At, true); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", filepath.Join(newRoot, b.At), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=64m"); err != nil { // it is memory
			return fmt.Errorf("hiding %s: %w", b.At, err)
		}
		return nil
	case Masked:
		if !there(filepath.Join(oldRoot, b.At)) {
			return nil
		}
		return bind("/dev/null", b.At, unix.MOUNT_ATTR_RDONLY)
	}
	info, err := os.Lstat(filepath.Join(oldRoot, b.From))
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return nil
	}
	if err := makePoint(b.At, info.IsDir()); err != nil {
		return err
	}
	if b.Kind == Writable {
		return bind(b.From, b.At, 0)
	}
	return bind(b.From, b.At, unix.MOUNT_ATTR_RDONLY)
}

// mountLayers puts a layer over each cache, below root, where bounds are laid out.
func (p Policy) mountLayers(root string) error {
	for _, b := range p.layers() {
		l := layer{at: filepath.Join(root, b.At), above: filepath.Join(root, p.TempAt, b.layerName())}
		if p.Fetched {
			l.before = filepath.Join(root, FetchedAt, b.layerName(), upperFolder)
		}
		if err := l.mount(); err != nil {
			return fmt.Errorf("a layer over %s: %w", b.At, err)
		}
	}
	return nil
}

// layer is a cache: what is written at a path is in the folder above, which is made, and not in what is there. before is what a
// command before has written, which is there too; "" nothing.
type layer struct{ at, above, before string }

// mount lays it. Where the system has no such mounts, as below another of them, only what was written before is there, and what is written
// is beside it: a cache costs time then, and nothing else.
func (l layer) mount() error {
	if !there(l.at) {
		return nil
	}
	upper := filepath.Join(l.above, upperFolder)
	if err := os.MkdirAll(upper, 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(l.above, "work-") // the system takes none again that was for a mount which is not synced
	if err != nil {
		return err
	}
	lower := l.at
	if l.before != "" && there(l.before) {
		lower = l.before + ":" + l.at
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if !strings.ContainsAny(l.at+l.above+l.before, `:,\`) { // which the system takes for more than a name
		options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work + ",userxattr"
		for _, more := range []string{",volatile", ""} { // it is thrown away: nothing of it needs to be on the disk when it is left
			if unix.Mount("overlay", l.at, "overlay", flags, options+more) == nil {
				return nil
			}
		}
	}
	if lower != l.at {
		upper = l.before
	}
	return unix.Mount(upper, l.at, "", unix.MS_BIND, "")
}

// makePoint makes what something is mounted on, where nothing is.
func makePoint(at string, dir bool) error {
	target := filepath.Join(newRoot, at)
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	parent := target
	if !dir {
		parent = filepath.Dir(target)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("a place for %s: %w", at, err)
	}
	if dir {
		return nil
	}
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("a place for %s: %w", at, err)
	}
	return file.Close()
}
