//go:build !linux

package sandbox

// Serve has nothing to do: there is no sandbox on this system.
func Serve(args, env []string) (code int, ok bool) { return 0, false }

// ABI is 0: there is no landlock.
func ABI() int { return 0 }
