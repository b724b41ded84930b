package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Keys gives the keys that are typed at the terminal behind in, one by one and without showing
// them; restore makes the terminal as it was. Signals of the keyboard and the output stay as they
// are. Where there is no terminal, or it cannot be set so, no key comes.
func Keys(in io.Reader) (keys <-chan byte, restore func()) {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, func() {}
	}
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, func() {}
	}
	now := *was
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(fd, setTermios, &now) != nil {
		return nil, func() {}
	}
	out := make(chan byte)
	go func() {
		defer close(out)
		key := make([]byte, 1)
		for {
			if n, err := f.Read(key); n != 1 || err != nil {
				return
			}
			out <- key[0]
		}
	}()
	return out, func() { _ = unix.IoctlSetTermios(fd, setTermios, was) } // a terminal that is gone needs none
}
