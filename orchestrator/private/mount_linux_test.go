package private_test

import "syscall"

func mount(from, at string) error { return syscall.Mount(from, at, "", syscall.MS_BIND, "") }

func unmount(at string) error { return syscall.Unmount(at, 0) }
