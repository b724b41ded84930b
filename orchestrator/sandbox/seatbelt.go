package sandbox

import (
	"slices"
	"strings"
)

// SeatbeltProfile is the profile, in the language of sandbox-exec of macOS, that keeps the bounds of a policy there. It has no mounts: what is
// private is found where it is, as with [Landlock]. Where rules contradict each other the last counts, so what is hidden comes first, then
// what is open, then what of that is only read. No command chooses it: nothing is promised of it before the probes of package probe have
// been tried on such a system.
func SeatbeltProfile(p Policy) string {
	var b strings.Builder
	b.WriteString(`(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow pseudo-tty)
(allow file-ioctl (regex #"^/dev/tty"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.logger") (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.trustd.agent"))
(allow file-read*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
`)
	rule := func(what string, paths []string) {
		for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
			b.WriteString(what + " (subpath " + schemeString(path) + "))\n")
		}
	}
	closed, open, written, fixed := appleHidden(), []string{p.PrivateHome}, []string{p.PrivateHome}, []string(nil)
	for _, bound := range p.Bounds {
		if bound.From != bound.At && bound.At != ProgramAt { // nothing is mounted there
			closed = append(closed, bound.At)
		}
		if bound.From == "" {
			continue
		}
		open = append(open, bound.From)
		if bound.Kind == Writable {
			written = append(written, bound.From)
		} else {
			fixed = append(fixed, bound.From)
		}
	}
	rule("(deny file-read* file-write*", closed)
	rule("(allow file-read*", append(open, p.Named...))
	rule("(allow file-write*", written)
	rule("(deny file-write*", fixed)
	if p.Network {
		b.WriteString("(allow network*)\n(deny network-outbound (remote unix-socket))\n(allow network-outbound (remote unix-socket (path-literal \"/private/var/run/mDNSResponder\")))\n")
	} else {
		b.WriteString("(allow network* (local ip \"localhost:*\"))\n(allow network-outbound (remote ip \"localhost:*\"))\n")
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(written))) {
		b.WriteString("(allow network* (subpath " + schemeString(path) + "))\n")
	}
	return b.String()
}

// seatbeltArgs are the arguments that run argv under the profile of a policy.
func seatbeltArgs(p Policy, argv []string) []string {
	return append([]string{"/usr/bin/sandbox-exec", "-p", SeatbeltProfile(p)}, argv...)
}

// appleHidden are folders of other people, of sockets and of temporary files on macOS, beside those that are hidden everywhere.
func appleHidden() []string {
	return []string{"/Users", "/Volumes", "/private/tmp", "/private/var/tmp", "/private/var/folders", "/private/var/root", "/private/var/spool", "/private/var/run"}
}

// schemeString is s as a string of a profile.
func schemeString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
