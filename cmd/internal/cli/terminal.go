package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// CanAsk reports whether a person reads what is printed, and answers.
func (p Process) CanAsk() bool {
	in, isIn := p.Stdin.(*os.File)
	out, isOut := innermostWriter(p.Stdout).(*os.File)
	return isIn && isOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// OnTerminal reports whether a writer writes to a terminal, of whatever kind.
func OnTerminal(w io.Writer) bool {
	f, ok := innermostWriter(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Progress is where a command shows what goes on: standard output, or where that is for a
// document, standard error.
func (a *Invocation) Progress() io.Writer {
	if a.JSON {
		return a.Stderr
	}
	return a.Stdout
}

// innermostWriter is the writer below all wrappers.
func innermostWriter(w io.Writer) io.Writer {
	for {
		outer, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = outer.Unwrap()
	}
}

// Terminal reports how wide the terminal behind w is, in characters, and whether it is one
// that can be redrawn.
func (p Process) Terminal(w io.Writer) (width int, ok bool) {
	f, isFile := innermostWriter(w).(*os.File)
	if !isFile || p.Getenv("TERM") == "dumb" || p.Getenv("TERM") == "" || !term.IsTerminal(int(f.Fd())) {
		return 80, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		width = 80
	}
	return width, true
}
