// Package object names what git keeps.
package object

// Commit is the full id of an object, of a commit unless stated otherwise.
type Commit string
