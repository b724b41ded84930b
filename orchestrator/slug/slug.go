// Package slug turns any id into one component of a path and of a reference name.
package slug

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

const (
	longest  = 64 // the longest id that is kept as it is
	readable = 40 // how much of a hostile id stays readable
	digits   = 12 // hex digits of its SHA-256
)

var (
	plainID  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })
	mappedID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9a-f]{12}$`) })
	breaks   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
)

// Of is id as one component of a path and of a reference name. An id that is safe as it
// is stays; any other becomes what is readable of it and 12 digits of its hash. No two ids
// have one slug: an id that itself looks like a mapped one is mapped too, so a slug is not
// to be slugged again. Ids that differ in case alone do so in their slugs.
func Of(id string) string {
	lower := strings.ToLower(id)
	if len(id) <= longest && plainID().MatchString(id) && !mappedID().MatchString(id) &&
		!strings.Contains(id, "..") && !strings.HasSuffix(lower, ".lock") && !strings.HasSuffix(id, ".") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	safe := breaks().ReplaceAllString(lower, "-")
	safe = strings.Trim(safe[:min(len(safe), readable)], "-")
	if safe == "" {
		safe = "id"
	}
	return safe + "-" + hex.EncodeToString(sum[:])[:digits]
}
