// Package iteration is the protocol by which an agent goes on until its work passes: start,
// validate, next, complete, and the guards that end a loop which does not get better.
//
// A [Loop] is a value; what is done with it gives a new one. No function here does any I/O
// or knows the time: package checkpoint keeps loops on disk.
//
// An agent may complete in the last iteration that its maximum allows, and may not go on from it.
package iteration
