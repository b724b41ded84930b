// Package tracker is what orch knows of any issue tracker: issues, the graph that they make,
// which of them are ready, and the changes that are asked for. It has no I/O; who keeps the
// issues is an adapter's matter.
//
// Which work is ready is computed here, from one reading of everything, by rules that were
// compared with bd 1.0.5 operation by operation (see [Index.Ready]): bd's own answer is slow,
// and an empty one has many meanings.
package tracker
