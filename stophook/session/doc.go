// Package session is what a client's hook says of a session, and what is kept of one between
// its stops.
//
// It is light, and has to stay so: orch-stop-hook is linked from it, and every stop of
// every session pays for its start.
package session
