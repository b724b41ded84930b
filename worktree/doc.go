// Package worktree keeps the worktrees of agents.
//
// Each attempt at a task has a worktree of its own, outside the repository, on a branch of
// its own. Whatever an agent does there (commits, resets, rebases, other branches, a deleted
// branch, nothing at all), [Store.Harvest] finds its work and commits what is uncommitted, and
// nothing is removed before all of it is reachable from a reference (package refname has their names).
//
// The user's checkout, index, stash, configuration and other references are never touched.
// An agent's .git file is never followed, nor what an admin directory says of settings; of a
// repository that an agent put into its worktree references and commits are read, and nothing
// of its configuration; so what an agent plants does not run. (Filters that the user's or the
// repository's own configuration named at the start do run, as in any checkout.)
//
// A worktree's admin directory, <common>/worktrees/<name>, is built aside and renamed into
// place, and the name follows from the worktree's path. So no git ever sees a half-made one,
// and none needs the agent's files to be found. One lock orders making and removing, between
// processes too.
package worktree
