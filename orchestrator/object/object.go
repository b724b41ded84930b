// Package object names what git keeps.
package object

// Commit is the full id of an object, of a commit but where said otherwise.
type Commit string
