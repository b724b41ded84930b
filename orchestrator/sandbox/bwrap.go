package sandbox

// layerCapabilities are what the program needs within bubblewrap until the layers are mounted; then it gives them up.
func layerCapabilities() []string {
	return []string{"CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_DAC_OVERRIDE"}
}

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
		case b.Kind == Hidden && there(b.At):
			args = append(args, "--tmpfs", b.At)
		case b.Kind == Masked && there(b.At):
			args = append(args, "--ro-bind", "/dev/null", b.At)
		case (b.Kind == Readable || b.Kind == Layered) && there(b.From):
			args = append(args, "--ro-bind", b.From, b.At)
		case b.Kind == Writable && there(b.From):
			args = append(args, "--bind", b.From, b.At)
		}
	}
	args = append(args, "--cap-drop", "ALL", "--chdir", p.Dir)
	if len(p.layers()) > 0 { // of its own it has layers from 0.11 on
		for _, c := range layerCapabilities() {
			args = append(args, "--cap-add", c)
		}
	}
	if p.Door != nil {
		args = append(args, "--cap-add", doorCapability, "--cap-add", "CAP_SETPCAP")
	}
	return args
}
