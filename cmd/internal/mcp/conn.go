package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message, in bytes.
const maxLine = 16 << 20

// streams is a transport over two streams, a message a line, for clients that are not
// careful: a line that is no message is answered as an error, and the others go on; and what
// was asked is answered before the end of the input counts.
type streams struct {
	in  io.Reader
	out io.Writer
}

// Connect implements [mcp.Transport].
func (s streams) Connect(context.Context) (mcp.Connection, error) {
	c := &conn{out: s.out, lines: make(chan []byte), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
	go c.readLines(bufio.NewReader(s.in))
	return c, nil
}

// conn is one connection. Messages are read by one goroutine at a time.
type conn struct {
	lines  chan []byte // closed at the end of the input; nil for a line that is too long
	queue  []jsonrpc.Message
	closed chan struct{}
	close  sync.Once

	mu       sync.Mutex // guards what follows
	out      io.Writer
	open     map[jsonrpc.ID]bool // asked, and not answered
	answered chan struct{}       // something was
}

// SessionID implements [mcp.Connection]; there is one session.
func (c *conn) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (c *conn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// readLines hands on each line, until the input ends.
func (c *conn) readLines(in *bufio.Reader) {
	defer close(c.lines)
	for {
		line, err := readLine(in)
		if line = bytes.TrimSpace(line); len(line) > 0 || errors.Is(err, errLong) {
			select {
			case c.lines <- line:
			case <-c.closed:
				return
			}
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

var errLong = errors.New("the line is too long")

// readLine reads to the end of a line. Of one that is too long nothing is kept.
func readLine(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, errLong
		default:
			return line, err
		}
	}
}

// Read implements [mcp.Connection].
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case line, more := <-c.lines:
			if !more {
				return nil, c.drain(ctx)
			}
			if err := c.take(line); err != nil {
				return nil, err
			}
		}
	}
	m := c.queue[0]
	c.queue = c.queue[1:]
	c.asked(m)
	return m, nil
}

// take queues the messages of a line, one or a batch, or answers that there are none in it.
func (c *conn) take(line []byte) error {
	batch := []json.RawMessage{line}
	switch {
	case len(line) == 0:
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message has at most %d bytes", maxLine))
	case !json.Valid(line):
		return c.refuse(nil, jsonrpc.CodeParseError, "this is no JSON; send one message a line")
	case line[0] == '[':
		if err := json.Unmarshal(line, &batch); err != nil {
			return err // it is valid
		}
	}
	for _, one := range batch {
		m, err := jsonrpc.DecodeMessage(one)
		if err != nil {
			if err := c.refuse(one, jsonrpc.CodeInvalidRequest, "this is no JSON-RPC 2.0 message"); err != nil {
				return err
			}
			continue
		}
		c.queue = append(c.queue, m)
	}
	return nil
}

// refuse answers what is no message.
func (c *conn) refuse(what json.RawMessage, code int, message string) error {
	var asked struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(what, &asked) != nil {
		asked.ID = nil
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return err
	}
	return c.print(text)
}

// asked notes a request that has to be answered, or that its answer is no longer wanted.
func (c *conn) asked(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	if r.IsCall() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[r.ID] = true
		return
	}
	var cancelled struct {
		ID any `json:"requestId"`
	}
	if r.Method == "notifications/cancelled" && json.Unmarshal(r.Params, &cancelled) == nil {
		if id, err := jsonrpc.MakeID(cancelled.ID); err == nil {
			c.settle(id)
		}
	}
}

// settle notes that a request needs no answer any more.
func (c *conn) settle(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.open, id)
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

// drain waits until all that was asked is answered; then the input has ended.
func (c *conn) drain(ctx context.Context) error {
	for {
		c.mu.Lock()
		left := len(c.open)
		c.mu.Unlock()
		if left == 0 {
			return io.EOF
		}
		select {
		case <-c.answered:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.closed:
			return io.EOF
		}
	}
}

// Write implements [mcp.Connection].
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("writing to the client: %w", err)
	}
	err = c.print(text)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.settle(r.ID)
	}
	return err
}

func (c *conn) print(text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing to the client: %w", err)
	}
	return nil
}
