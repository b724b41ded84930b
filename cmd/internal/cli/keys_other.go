//go:build !linux

package cli

import "golang.org/x/sys/unix"

// How the settings of a terminal are asked for and set.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
