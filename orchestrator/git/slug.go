package git

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

const (
	slugMax    = 64 // the longest id that is kept as it is
	slugPrefix = 40 // how much of a hostile id stays readable
	slugHash   = 12 // hex digits of its SHA-256
)

var (
	plainID   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) })
	mappedID  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9a-f]{12}$`) })
	slugBreak = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
)

// Slug is id as one component of a path and of a reference name. An id that is safe as it
// is stays; any other becomes what is readable of it and 12 digits of its hash. No two ids
// have one slug: an id that itself looks like a mapped one is mapped too, so a slug is not
// to be slugged again. Ids that differ in case alone do so in their slugs.
func Slug(id string) string {
	lower := strings.ToLower(id)
	if len(id) <= slugMax && plainID().MatchString(id) && !mappedID().MatchString(id) &&
		!strings.Contains(id, "..") && !strings.HasSuffix(lower, ".lock") && !strings.HasSuffix(id, ".") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	safe := slugBreak().ReplaceAllString(lower, "-")
	safe = strings.Trim(safe[:min(len(safe), slugPrefix)], "-")
	if safe == "" {
		safe = "id"
	}
	return safe + "-" + hex.EncodeToString(sum[:])[:slugHash]
}

// Short is a reference's name without refs/heads/.
func Short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }
