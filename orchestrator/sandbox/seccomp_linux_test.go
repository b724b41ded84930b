//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// asked is what the kernel would show a filter. The machine of package bpf reads words with the high byte first.
func asked(processor, number uint32, args ...uint64) []byte {
	call := make([]byte, 64)
	binary.BigEndian.PutUint32(call[atNumber:], number)
	binary.BigEndian.PutUint32(call[atArch:], processor)
	for n, arg := range args {
		binary.BigEndian.PutUint32(call[atArgs+argBytes*n:], uint32(arg))
		binary.BigEndian.PutUint32(call[atArgs+argBytes*n+4:], uint32(arg>>32))
	}
	return call
}

// answer is what a filter of the machine of package bpf gives: that machine ends with a number of bytes, which is the
// answer here, but no more than there are.
func answer(t *testing.T, o filterOptions, call []byte) string {
	t.Helper()
	program := filter(o)
	for n, instruction := range program { // the machine cuts numbers that are too large
		switch instruction {
		case bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}:
			program[n] = bpf.RetConstant{Val: 1}
		case bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}:
			program[n] = bpf.RetConstant{Val: 2}
		case bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}:
			program[n] = bpf.RetConstant{Val: 3}
		}
	}
	machine, err := bpf.NewVM(program)
	require.NoError(t, err)
	result, err := machine.Run(call)
	require.NoError(t, err)
	return map[int]string{1: "allowed", 2: "refused", 3: "absent"}[result]
}

func TestFilter(t *testing.T) {
	t.Parallel()
	const foreign = unix.AUDIT_ARCH_I386
	high := uint64(1) << 32
	for name, test := range map[string]struct {
		options filterOptions
		call    []byte
		want    string
	}{
		"read":                              {call: asked(arch, unix.SYS_READ), want: "allowed"},
		"the last number":                   {call: asked(arch, 0xffffffff), want: "absent"},
		"of another word size":              {call: asked(arch, otherNumbers+unix.SYS_MOUNT), want: "absent"},
		"of another processor":              {call: asked(foreign, unix.SYS_READ), want: "refused"},
		"mount":                             {call: asked(arch, unix.SYS_MOUNT), want: "refused"},
		"io_uring_setup":                    {call: asked(arch, unix.SYS_IO_URING_SETUP), want: "refused"},
		"keyctl":                            {call: asked(arch, unix.SYS_KEYCTL), want: "refused"},
		"ptrace":                            {call: asked(arch, unix.SYS_PTRACE), want: "refused"},
		"ptrace among own processes":        {options: filterOptions{others: true}, call: asked(arch, unix.SYS_PTRACE), want: "allowed"},
		"a limit of its own":                {call: asked(arch, unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE), want: "allowed"},
		"a limit of another":                {call: asked(arch, unix.SYS_PRLIMIT64, 1, unix.RLIMIT_CPU), want: "refused"},
		"a limit among own processes":       {options: filterOptions{others: true}, call: asked(arch, unix.SYS_PRLIMIT64, 1, unix.RLIMIT_CPU), want: "allowed"},
		"a priority of its own":             {call: asked(arch, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 5), want: "allowed"},
		"a priority of another":             {call: asked(arch, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 1, 5), want: "refused"},
		"truncate":                          {call: asked(arch, unix.SYS_TRUNCATE), want: "allowed"},
		"the priority of all of a user's":   {call: asked(arch, unix.SYS_SETPRIORITY, unix.PRIO_USER, 0), want: "refused"},
		"truncate that landlock lets":       {options: filterOptions{truncate: true}, call: asked(arch, unix.SYS_TRUNCATE), want: "refused"},
		"clone3, so that clone is taken":    {call: asked(arch, unix.SYS_CLONE3), want: "absent"},
		"clone of a thread":                 {call: asked(arch, unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_THREAD|unix.CLONE_SIGHAND), want: "allowed"},
		"clone into a user namespace":       {call: asked(arch, unix.SYS_CLONE, unix.CLONE_NEWUSER|uint64(unix.SIGCHLD)), want: "refused"},
		"unshare of files":                  {call: asked(arch, unix.SYS_UNSHARE, unix.CLONE_FILES), want: "allowed"},
		"unshare of mounts":                 {call: asked(arch, unix.SYS_UNSHARE, unix.CLONE_NEWNS), want: "refused"},
		"ioctl":                             {call: asked(arch, unix.SYS_IOCTL, 0, unix.TCGETS), want: "allowed"},
		"typing into a terminal":            {call: asked(arch, unix.SYS_IOCTL, 0, unix.TIOCSTI), want: "refused"},
		"typing, with a high half":          {call: asked(arch, unix.SYS_IOCTL, 0, high|unix.TIOCSTI), want: "refused"},
		"pasting into a console":            {call: asked(arch, unix.SYS_IOCTL, 0, unix.TIOCLINUX), want: "refused"},
		"a socket":                          {call: asked(arch, unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM), want: "allowed"},
		"a socket of the internet":          {call: asked(arch, unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM), want: "allowed"},
		"a socket to the host":              {call: asked(arch, unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM), want: "refused"},
		"a socket to the host, high half":   {call: asked(arch, unix.SYS_SOCKET, high|unix.AF_VSOCK, unix.SOCK_STREAM), want: "refused"},
		"a socket for packets":              {call: asked(arch, unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW), want: "refused"},
		"a socket for the kernel's ciphers": {call: asked(arch, unix.SYS_SOCKET, unix.AF_ALG), want: "refused"},
		"a question about interfaces":       {call: asked(arch, unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), want: "allowed"},
		"the kernel's audit":                {call: asked(arch, unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT), want: "refused"},
		"no personality":                    {call: asked(arch, unix.SYS_PERSONALITY, 0), want: "allowed"},
		"the personality of a debugger":     {call: asked(arch, unix.SYS_PERSONALITY, plainLayout), want: "allowed"},
		"the personality asked for":         {call: asked(arch, unix.SYS_PERSONALITY, askPersonality), want: "allowed"},
		"memory that is run":                {call: asked(arch, unix.SYS_PERSONALITY, 0x0400000), want: "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, answer(t, test.options, test.call))
		})
	}
}

// TestRefusedCallsAreAllRefused, whatever their arguments.
func TestRefusedCallsAreAllRefused(t *testing.T) {
	t.Parallel()
	for _, call := range refusedCalls() {
		require.Equal(t, "refused", answer(t, filterOptions{others: true}, asked(arch, call, 0, 0, 0)), call)
	}
}
