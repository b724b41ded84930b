//go:build !unix

package journal

import "io/fs"

// ownedByUser trusts the system's own access lists where files have no owner's number.
func ownedByUser(fs.FileInfo) bool { return true }
