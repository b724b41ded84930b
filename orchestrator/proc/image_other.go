//go:build !linux

package proc

// Image is "": the program is started again by the path of its file.
func Image() string { return "" }

// KeepName does nothing: a process has the name of its file.
func KeepName() {}
