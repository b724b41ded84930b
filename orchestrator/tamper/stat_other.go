//go:build !linux

package tamper

import "syscall"

// changed is when a file changed last, as far as it is asked for here.
func changed(*syscall.Stat_t) int64 { return 0 }
