package sandbox

import "golang.org/x/sys/unix"

// arch is the processor as a filter sees it; there are no calls from otherNumbers on.
const (
	arch         = unix.AUDIT_ARCH_AARCH64
	otherNumbers = 0x40000000
)

// refusedHere are refused calls that other processors do not have.
var refusedHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}
