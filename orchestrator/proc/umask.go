//go:build unix

package proc

import "syscall"

// ownerBits are the permissions of a file's owner.
const ownerBits = 0o700

// KeepOwnerBits clears the owner's bits of the umask, for this process and all that it starts:
// with them set, nobody but root could read or enter what was just made. What the umask takes
// from others stays taken. A program calls it before it has other goroutines.
func KeepOwnerBits() {
	was := syscall.Umask(ownerBits)
	syscall.Umask(was &^ ownerBits)
}
