package sandbox

// layoutArgs are the arguments of bubblewrap that has the program lay out the file system itself, as the first process: bubblewrap makes
// namespaces, in which all is as it is outside. That takes a fraction of the time, and caches can be layered.
func layoutArgs(p Policy) []string {
	args := append(unshareArgs(p), "--as-pid-1", "--die-with-parent", "--dev-bind", "/", "/", "--cap-drop", "ALL")
	for _, c := range []string{"SYS_ADMIN", "SYS_CHROOT", "NET_ADMIN", "NET_BIND_SERVICE", "SETPCAP", "DAC_OVERRIDE"} {
		args = append(args, "--cap-add", "CAP_"+c)
	}
	return args
}

func unshareArgs(p Policy) []string {
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	return args
}

// bwrapArgs are the arguments of bubblewrap that lays out the file system of a policy, without those of the command itself, for where what
// it starts has no rights for that. there reports whether
// something is at a path: what is not cannot be mounted, nor needs to be hidden. Of caches only what was written before is there.
func bwrapArgs(p Policy, there func(string) bool) []string {
	args := append(unshareArgs(p), "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	for _, name := range machineFiles() {
		if at := "/proc/" + name; there(at) {
			args = append(args, "--ro-bind", at, at)
		}
	}
	for _, b := range p.Bounds {
		switch {
		case b.Kind == Hidden && there(b.At):
			args = append(args, "--tmpfs", b.At)
		case b.Kind == Layered && there(b.At):
			args = append(args, "--bind", p.beside(b), b.At)
		case b.Kind == Masked && there(b.At):
			args = append(args, "--ro-bind", "/dev/null", b.At)
		case b.Kind == Readable && there(b.From):
			args = append(args, "--ro-bind", b.From, b.At)
		case b.Kind == Writable && there(b.From):
			args = append(args, "--bind", b.From, b.At)
		}
	}
	return append(args, "--cap-drop", "ALL", "--chdir", p.Dir)
}

// machineFiles are, below /proc, what is the machine's, and not its processes'. The kernel lets root of the system write there whatever
// rights it has given up, and hidden from access(2), so that is not asked.
func machineFiles() []string {
	return []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "driver", "tty", "asound", "latency_stats", "timer_stats"}
}

// takesRights reports whether AppArmor takes all rights from what bubblewrap starts, by the profile that
// Ubuntu has for it.
func takesRights(there func(string) bool) bool {
	return there("/sys/kernel/security/apparmor") && there("/etc/apparmor.d/bwrap-userns-restrict")
}
