// Package sandbox puts a command within bounds: it may write its worktree and what is named, read the
// system, and sees neither the person's home nor the repository itself.
//
// What the bounds are is a [Policy], which [New] makes of a [Place] without looking at anything. What
// keeps them is a [Level]: bubblewrap, which lays out a file system of its own, or landlock with seccomp,
// which refuses what the policy does not name. A [Box] is a level on this machine; [Box.Wrap] makes of a
// command the one that runs within the bounds. The command that it makes is the program of this process
// once more, with the words of [Serve]: that sets the bounds up and becomes the command. So whoever starts
// processes starts this one as any other.
//
// Nothing falls back in silence: a level that cannot be set up ends the command with exit status 125 and
// a line on standard error, before anything of the command has run.
package sandbox
