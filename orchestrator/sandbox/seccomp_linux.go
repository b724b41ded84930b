//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in what a filter is asked about, seccomp(2). Both processors are little-endian: of an argument the low half comes first.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
	argBytes = 8
)

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
	// Of personality(2): nothing, the layout of memory without chance, which debuggers ask for, and a question.
	plainPersonality = 0
	plainLayout      = 0x0040000
	askPersonality   = 0xffffffff
)

// refusedCalls are system calls that a command never makes, whatever their arguments: they reach into other processes, the
// kernel, what is mounted, or run calls that a filter does not see.
func refusedCalls() []uint32 {
	return append([]uint32{
		unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
	}, refusedHere...)
}

// filterOptions is what filters differ in.
type filterOptions struct {
	// others lets ptrace through, and limits for other processes: where these are those of the sandbox alone, it harms nobody.
	others bool
	// truncate refuses truncate(2), for a kernel whose landlock does not.
	truncate bool
	// nested lets namespaces and mounts be made within those that are there.
	nested bool
}

// nestingCalls are, of those that are refused, what makes and enters namespaces and mounts.
func nestingCalls() []uint32 {
	return []uint32{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_SETNS}
}

// filter is the program that the kernel asks about each system call: what it does not name is let through.
func filter(o filterOptions) []bpf.Instruction {
	refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	absent := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		refuse,
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: otherNumbers, SkipTrue: 1},
		absent,
	}
	calls := refusedCalls()
	if !o.others {
		calls = append(calls, unix.SYS_PTRACE)
	}
	if o.truncate {
		calls = append(calls, unix.SYS_TRUNCATE)
	}
	if !o.nested {
		calls = append(calls, nestingCalls()...)
	}
	for _, call := range calls {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, refuse)
	}
	if !o.nested {
		// glibc and others fall back to clone, whose flags can be seen.
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, absent)
		for _, call := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			program = append(program, of(call, argument(0), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1}, refuse, allow)...)
		}
	}
	program = append(program, of(unix.SYS_IOCTL, argument(1), is(unix.TIOCSTI), refuse, is(unix.TIOCLINUX), refuse, allow)...)
	program = append(program, of(unix.SYS_SOCKET, argument(0), is(unix.AF_VSOCK), refuse, is(unix.AF_PACKET), refuse, is(unix.AF_ALG), refuse,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1}, allow,
		argument(2), is(unix.NETLINK_ROUTE), allow, refuse)...)
	program = append(program, of(unix.SYS_PERSONALITY, argument(0), is(plainPersonality), allow, is(plainLayout), allow, is(askPersonality), allow, refuse)...)
	if !o.others { // a process with the number 0 is the one that asks
		program = append(program, of(unix.SYS_PRLIMIT64, argument(0), is(0), allow, refuse)...)
		program = append(program, of(unix.SYS_SETPRIORITY, argument(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PRIO_PROCESS, SkipTrue: 1}, refuse, argument(1), is(0), allow, refuse)...)
	}
	return append(program, allow)
}

// of is what is done about one call, with its number loaded; the last of it decides.
func of(call uint32, body ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(len(body))}}, body...)
}

// is has the next instruction done only where what is loaded is val.
func is(val uint32) bpf.Instruction {
	return bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipFalse: 1}
}

// argument loads the low half of the n-th argument, all that the kernel itself looks at in those that are asked about.
func argument(n uint32) bpf.Instruction {
	return bpf.LoadAbsolute{Off: atArgs + n*argBytes, Size: 4}
}

// restrictCalls puts this thread, and what it becomes, under the filter. It gains no rights by a program afterwards.
func restrictCalls(o filterOptions) error {
	raw, err := bpf.Assemble(filter(o))
	if err != nil {
		return fmt.Errorf("the filter of system calls: %w", err)
	}
	code := slices.Collect(func(yield func(unix.SockFilter) bool) {
		for _, r := range raw {
			if !yield(unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}) {
				return
			}
		}
	})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new rights: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("filtering system calls: %w", err)
	}
	return nil
}
