//go:build !linux

package proc_test

func hop(int, []byte) {}
