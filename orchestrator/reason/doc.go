// Package reason has the reason codes: why a task is parked, why an attempt or a run has ended,
// why a session is handed nothing. One table says of each what it means, what a person can do,
// and how orch treats what comes to it.
//
// It decides nothing and does no I/O.
package reason
