// Package orchestrator drives one epic of tasks to its end.
//
// The middle is pure: Check says whether an event may follow a state, Apply
// gives the state that follows, Decide says what to do next. None of the three
// does I/O, reads a clock or iterates a map. Loop owns the state: it writes a
// decision's event into the journal, then has an Executor do it, and waits for
// the event that the Executor answers with. Replaying the journal gives the
// state back, so a start and a resume are the same code.
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
package orchestrator
