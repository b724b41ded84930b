// Package beads is the task tracker: two places where issues are kept. [BD] drives the bd
// program, [File] is an embedded tracker in beads' own JSONL interchange format; what one
// writes the other can read. What an issue is and which are ready is package tracker's.
package beads
