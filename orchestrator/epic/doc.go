// Package epic is the pure middle: what an epic's run is, and what to do next.
//
// Check says whether an event may follow a state, Apply gives the state that
// follows, Decide says what to do next, and when to ask again. None of them does
// I/O, reads a clock or iterates a map for a decision, so replaying a journal gives
// the same state, and the same state the same decisions.
//
// What an event says is its Fact: one type for each kind, with what it may follow
// and what it changes. Events of older journals are read in the form that they had then.
//
// A task's way:
//
//	waiting -> running -> queued -> validating -> landed
//	   ^          |          |           |
//	   |          |          |           +--> running   a conflict goes back to its agent, once an attempt
//	   +----------+----------+-----------+              a failed attempt, while there are attempts left
//	parked: not without a person          skipped: a person closed it or gave it up
//
// A task is closed in the tracker only after the event that says it landed.
package epic
