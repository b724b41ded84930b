// Package beads is the task tracker: its issues, the rules of ready work, and
// two places where issues are kept.
//
// [BD] drives the bd program, [File] is an embedded tracker in beads' own JSONL
// interchange format; what one writes the other can read. Which work is ready is
// computed here, from one reading of everything, by rules that were compared with
// bd 1.0.5 operation by operation (see [Index.Ready]): bd's own answer is slow,
// and an empty one has many meanings.
package beads
