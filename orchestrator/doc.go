// Package orchestrator drives one epic of tasks to its end.
//
// Loop owns the state: it writes a decision's event into the journal, then has an
// Executor do it, and waits for the event that the Executor answers with. What to
// decide is in package epic; Effects is the Executor that does it, with git,
// processes and the tracker. An Orchestrator holds an epic: its lock, its lease,
// its journal. Replaying the journal gives the state back, so a start and a resume
// are the same code.
package orchestrator
