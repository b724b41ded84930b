//go:build !linux

package proc

// Born is 0: it cannot be known here.
func Born(int) uint64 { return 0 }

// Here is empty: it cannot be known here.
func Here() string { return "" }
