//go:build !linux

package proc

// closeOthersOnExec does nothing: what Go opens is closed on exec by itself.
func closeOthersOnExec() error { return nil }
