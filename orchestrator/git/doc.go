// Package git runs git safely on one repository.
//
// Agents and people work in the same repository at the same time, so nothing is left to
// discovery, and nothing that an agent can write is obeyed. Every command runs with a git directory
// of orch's own, made once a process below <common>/orch/tmp (mode 0700): its configuration,
// attributes and excludes are the person's as they were when the repository was opened; its
// references, packed references and reflogs are links to the real ones, so that locks hold
// with all; objects come by the environment. So what is written later into config,
// info, hooks, a .git file or a worktree's admin directory runs nothing and stops nothing.
// Filters and merge drivers that were configured when it was opened stay ([Repo.Drivers]). No git
// fetches, commit graphs and replaced objects do not count, hooks, fsmonitor, gc and prompts are off,
// and output is untranslated. Objects and references are fsynced.
//
// Objects are believed as they are found: whoever can write objects or objects/info/alternates
// can add some, under names that are theirs to choose until git reads them. Within one process of the
// same user no folder is secret: the private one is checked before each command and made anew
// when anything in it has changed.
//
// Everything that writes is the git command's work. Full reference names and young commits are
// read in process. This package alone makes a command line of git, which a test holds.
package git
