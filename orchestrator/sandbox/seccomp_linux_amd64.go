package sandbox

import "golang.org/x/sys/unix"

// arch is the processor as a filter sees it; calls numbered from otherNumbers on are those of another word size (x32).
const (
	arch         = unix.AUDIT_ARCH_X86_64
	otherNumbers = 0x40000000
)

// refusedHere are refused calls that other processors do not have.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_CREATE_MODULE, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS__SYSCTL}
