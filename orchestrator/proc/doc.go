// Package proc starts, watches, interrupts, kills and reaps process trees.
//
// It is the only package that starts processes. Three kinds of work go through it:
//
//   - [System.Run] runs a short command of our own (git, the tracker) to its end; one that does nothing is ended.
//   - [System.RunGuarded] does the same for a command that is not trusted to clean up.
//   - [System.Start] starts an agent, watches it, and stops it in grades.
//
// The last two run below a guard: a process of its own (see [Guard]) that adopts
// every orphan below it, so that a daemon cannot leave the tree, and that holds one
// end of a socket, the lifeline. When the starter dies in whatever way, the lifeline
// closes and the guard ends the tree: nothing runs unsupervised.
//
// Rules that hold for the whole package: a child's environment is exactly what it is
// given; a child has no controlling terminal; a wait never hangs on a pipe that some
// escaped process still holds; memory does not grow with a child's output.
//
// On Linux the tree is known exactly, from /proc and by adoption. On other systems
// only the process group is.
package proc
