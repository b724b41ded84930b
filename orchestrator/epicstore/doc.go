// Package epicstore is an epic on disk, without what drives it: who holds it, its journal made
// into a state, the long texts beside that, and how these are mended and forgotten.
package epicstore
