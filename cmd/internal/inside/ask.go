package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrGone says that the run does not answer: it has ended, or the attempt has.
var ErrGone = errors.New("the run that started this does not answer")

// Ask sends a request to a socket, and gives the answer. It fails with [ErrGone].
func Ask(ctx context.Context, socket string, q Request) (a Answer, err error) {
	token, err := os.ReadFile(filepath.Join(filepath.Dir(socket), tokenFile))
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrGone, err)
	}
	q.Token = string(token)
	data, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	if len(data) > MaxRequest {
		return a, errLarge
	}
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrGone, err)
	}
	defer dir.Close()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", within(dir, filepath.Base(socket)))
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrGone, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if _, err = c.Write(data); err == nil {
		err = c.(*net.UnixConn).CloseWrite()
	}
	if err == nil {
		err = json.NewDecoder(io.LimitReader(c, MaxAnswer+1)).Decode(&a)
	}
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return a, nil
}

// Read adds what the command line reads: standard input, where it does, or the file that one of the flags names, whose value is - then. It fails
// as reading does, and for what is too large.
func (q *Request) Read(fileFlags []string, stdin bool, in io.Reader, open func(string) (io.ReadCloser, error)) error {
	q.Args = slices.Clone(q.Args)
	for n, arg := range q.Args {
		name, value, joined := strings.Cut(arg, "=")
		flag, isFlag := strings.CutPrefix(name, "--")
		switch {
		case arg == "--":
			return q.readInput(stdin, in)
		case !isFlag || !slices.Contains(fileFlags, flag):
			continue
		case !joined && n+1 < len(q.Args):
			value = q.Args[n+1]
		}
		if value == "" || value == "-" {
			continue
		}
		file, err := open(value)
		if err != nil {
			return err
		}
		if err := errors.Join(q.readInput(true, file), file.Close()); err != nil {
			return err
		}
		stdin = false
		if joined {
			q.Args[n] = name + "=-"
		} else {
			q.Args[n+1] = "-"
		}
	}
	return q.readInput(stdin, in)
}

// maxInput bounds what is read, in bytes: as it is sent it is a third more.
const maxInput = 5 << 20

func (q *Request) readInput(reads bool, in io.Reader) error {
	if !reads || in == nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(data) > maxInput {
		err = fmt.Errorf("it has over %d bytes", maxInput)
	}
	q.Stdin = data
	return err
}
