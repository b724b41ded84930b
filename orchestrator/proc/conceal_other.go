//go:build unix && !linux

package proc

// Conceal does nothing here: what other processes of the same user may read is the system's own rule.
func Conceal(...string) error { return nil }
