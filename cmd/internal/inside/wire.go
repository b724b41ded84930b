// Package inside is how an agent in a sandbox asks the run that started it for what is out of its reach: the tracker, and orch
// for its own attempt. A [Line] of the run listens at a socket of each attempt's own; within the sandbox bd and orch are
// programs that ask there ([Ask]).
//
// Whose attempt it is follows from the socket, never from what is said: the folder that it is in is seen by that sandbox alone. Where
// there are no mounts, a socket can be connected to by who knows its path; so each request also has the token that is in a file beside
// the socket, which the sandbox of no other attempt can read.
//
// It fails closed: what is too large, too slow, too much, without the token or after the end of the attempt gets an answer that says
// so, or none; [Ask] fails with an error that says that the run does not answer.
package inside

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Request is one command line from within a sandbox.
type Request struct {
	// Token is that of the attempt.
	Token string `json:"token"`
	// Program is bd or orch.
	Program string `json:"program"`
	// Args are its arguments, without its name.
	Args []string `json:"args"`
	// Stdin is what it reads.
	Stdin []byte `json:"stdin,omitempty"`
}

// Answer is what the command prints, and its exit status.
type Answer struct {
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	Exit   int    `json:"exit"`
}

// The bounds of a request and of an answer, in bytes as they are sent, and of what a request says.
const (
	MaxRequest = 8 << 20
	MaxAnswer  = 64 << 20
	maxArgs    = 1000
	maxArgText = 256 << 10
)

var (
	errLarge = errors.New("the request is too large")
	errToken = errors.New("the request is not of this attempt")
	errForm  = errors.New("the request is none")
)

// parse reads a request that has the token. It fails with errLarge, errForm or errToken.
func parse(r io.Reader, token string) (q Request, err error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxRequest+1))
	if err != nil {
		return q, err
	}
	if len(data) > MaxRequest {
		return q, errLarge
	}
	if err := json.Unmarshal(data, &q); err != nil {
		return q, fmt.Errorf("%w: %w", errForm, err)
	}
	size := 0
	for _, arg := range q.Args {
		size += len(arg)
	}
	switch {
	case len(q.Args) > maxArgs || size > maxArgText:
		return q, errLarge
	case subtle.ConstantTimeCompare([]byte(q.Token), []byte(token)) != 1:
		return q, errToken
	case q.Program != BD && q.Program != Orch:
		return q, errForm
	}
	return q, nil
}

// The programs.
const (
	BD   = "bd"
	Orch = "orch"
)
