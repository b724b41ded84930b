// Package iteration is the protocol by which an agent goes on until its work passes: start,
// validate, next, complete, and the guards that end a loop which does not get better.
//
// A [Loop] is a value; what is done with it gives a new one. No function here does any I/O
// or knows the time: package checkpoint below keeps loops on disk.
//
// The names, the signals and the guards are those of the document that the project began
// from. That ends a loop "at" its maximum in one place and "beyond" it in another: here an
// agent may complete in its last iteration, and may not go on from it.
package iteration
