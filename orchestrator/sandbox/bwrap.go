package sandbox

// bwrapArgs are the arguments of bubblewrap for a policy, without those of the command itself. there reports whether
// something is at a path: what is not cannot be mounted, nor needs to be hidden.
func bwrapArgs(p Policy, there func(string) bool) []string {
	args := []string{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--die-with-parent", "--new-session", "--hostname", "orch",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	for _, b := range p.Bounds {
		switch {
		case b.Kind == Empty, b.Kind == Hidden && there(b.At):
			args = append(args, "--tmpfs", b.At)
		case b.Kind == Masked && there(b.At):
			args = append(args, "--ro-bind", "/dev/null", b.At)
		case b.Kind == Layered && there(b.From): // of its own it has layers from 0.11 on, and lets nobody else mount them
			args = append(args, "--tmpfs", b.At)
		case b.Kind == Readable && there(b.From):
			args = append(args, "--ro-bind", b.From, b.At)
		case b.Kind == Writable && there(b.From):
			args = append(args, "--bind", b.From, b.At)
		}
	}
	return append(args, "--cap-drop", "ALL", "--chdir", p.Dir)
}
