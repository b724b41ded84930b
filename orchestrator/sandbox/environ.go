package sandbox

import (
	"slices"
	"strings"
)

// refused are the variables that a command never sees, a * standing for any rest: what has another program load or run
// something, what names a socket of the person's, and what has git look elsewhere.
func refused() []string {
	return []string{"LD_*", "DYLD_*", "BASH_ENV", "ENV", "PROMPT_COMMAND", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "PERL5LIB", "RUBYOPT",
		"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_*", "WAYLAND_*", "DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DOCKER_HOST", "KUBECONFIG",
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
		"GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND"}
}

// environment is env without what is refused, and with the command's own home and folder for temporary files. Where the
// home is another folder, what the XDG variables name below the person's is below that.
func (p Policy) environment(env []string, l Level) []string {
	home, temp := p.Home, p.TempAt
	if !l.Mounts() {
		home, temp = p.PrivateHome, p.Temp
	}
	own := []string{"HOME=" + home, "TMPDIR=" + temp, "TMP=" + temp, "TEMP=" + temp, "GOTMPDIR=" + temp}
	out := make([]string, 0, len(env)+len(own))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if matches(name, refused()) || slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			continue
		}
		if strings.HasPrefix(name, "XDG_") && home != p.Home && (value == p.Home || below(value, p.Home)) {
			e = name + "=" + home + value[len(p.Home):]
		}
		out = append(out, e)
	}
	return append(out, own...)
}

// matches reports whether one of the patterns stands for name.
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}
