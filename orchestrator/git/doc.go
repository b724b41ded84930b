// Package git runs git safely on one repository.
//
// Agents and people work in the same repository at the same time, so nothing is left to
// discovery: every call names its git directory (and its work tree, where it needs one), a
// planted .git file is never followed, hooks, fsmonitor, automatic gc and prompts are off,
// inherited GIT_* variables are dropped, and output is untranslated. Objects and references
// are fsynced. Names from outside become parts of paths and references by [Slug] alone.
//
// Everything that writes is the git command's work. go-git resolves full reference names
// in process, where it can open the repository; its writes are never used, since they take
// no lock and a refused compare-and-swap leaves an empty reference (as measured on v5.19.3).
package git
