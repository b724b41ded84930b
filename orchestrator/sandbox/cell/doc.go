// Package cell is where what orch starts on an agent's behalf runs: within the bounds of a sandbox, on a worktree, with a shadow of
// the git directory, a home of the task's own, and a folder for temporary files. It implements engine.Sandbox.
//
// What an attempt's cell needs is in the folder of the attempt, so that a later run takes back what was committed in one whose
// process was killed; what a gate's needs is in a scratch folder, which a later run sweeps.
package cell
