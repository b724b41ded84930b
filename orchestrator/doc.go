// Package orchestrator drives one epic of tasks to its end.
//
// A [Loop] owns the state: it writes a decision's event into the journal, then has an
// [Executor] carry the decision out, and waits for the event that this answers with. What to
// decide is in package epic. The executor of an [Orchestrator] passes each decision on to a
// [Tracker], an [Engine] or a [Lander]: plain data goes over these seams, and the state never does.
//
// An Orchestrator holds an epic: its lock, its lease, its journal. Replaying the journal gives
// the state back, so a start and a resume are the same code.
package orchestrator
