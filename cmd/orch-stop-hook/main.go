// Command orch-stop-hook is orch stop-hook for clients that ask it all day: a session that
// is unbound is released at once, and any other question is handed to orch. It is a program
// of its own because starting orch takes longer than the answer.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beadsorch/orch/stophook/session"
)

// inputTimeout is how long a client may take to send its input.
const inputTimeout = 2 * time.Second

func main() {
	input, silent := readInput()
	if silent {
		return
	}
	if err := handOver(input); err != nil { // it fails open: a session must not hang on a hook
		fmt.Fprintf(os.Stderr, "orch-stop-hook: %v; the session may end\n", err)
	}
}

// readInput reads the client's input; silent means that no answer is needed. With
// flags other than --client it reads nothing.
func readInput() (input []byte, silent bool) {
	if len(os.Args) > 1 && (len(os.Args) != 3 || os.Args[1] != "--client") {
		return nil, false
	}
	var seen bytes.Buffer
	mayApply := make(chan bool, 1)
	go func() {
		in, err := session.ReadInput(io.TeeReader(session.Clip(os.Stdin), &seen))
		dir, dirErr := os.Getwd()
		mayApply <- errors.Join(err, dirErr) != nil || session.MayApply(in, session.Project(in, os.Getenv, dir))
	}()
	select {
	case f := <-mayApply:
		return seen.Bytes(), !f
	case <-time.After(inputTimeout):
		fmt.Fprintln(os.Stderr, "orch-stop-hook: the client says nothing; the session may end")
		return nil, true
	}
}

// handOver becomes orch stop-hook, with the same arguments and what was read as its input.
func handOver(input []byte) error {
	orch, err := findOrch()
	if err != nil {
		return err
	}
	if input != nil {
		if err := replaceStdin(input); err != nil {
			return err
		}
	}
	return fmt.Errorf("starting %s: %w", orch, syscall.Exec(orch, append([]string{"orch", "stop-hook"}, os.Args[1:]...), os.Environ()))
}

// findOrch finds orch in the folder of this program, then on PATH.
func findOrch() (string, error) {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if self, err := os.Executable(); err == nil {
		dirs = append([]string{filepath.Dir(self)}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, "orch")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", errors.New("orch is not on PATH")
}

// replaceStdin makes standard input read input from now on.
func replaceStdin(input []byte) error {
	f, err := os.CreateTemp("", "orch-stop-hook-")
	if err != nil {
		return fmt.Errorf("keeping what the client said: %w", err)
	}
	_, err = f.WriteAt(input, 0)
	if err = errors.Join(err, os.Remove(f.Name()), unix.Dup2(int(f.Fd()), 0)); err != nil {
		return fmt.Errorf("keeping what the client said: %w", err)
	}
	return nil
}
