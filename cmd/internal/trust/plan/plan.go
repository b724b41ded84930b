// Package plan is what orch and the agents' clients would run for a repository: a value with
// a digest, so that a person can confirm exactly this, and a change is found. It does no I/O.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Part is a part of the plan that is trusted by itself.
type Part string

// The parts.
const (
	// Settings is what the settings, the clients' own files and git's configuration name. It
	// is trusted as a whole: what is taken out of it changes it too.
	Settings Part = "settings"
	// Hooks is the programs of tasks' hooks, each trusted by itself.
	Hooks Part = "hooks"
	// Loop is the commands of a loop's criteria, each trusted by itself.
	Loop Part = "loop"
)

// Item is one thing that would run, or settles what may run or how work is judged.
type Item struct {
	// Part is the part that it belongs to.
	Part Part `json:"part"`
	// Kind says what it is, as "gate command".
	Kind string `json:"kind"`
	// Name names it within its kind: a rule, a file, a variable; "" where there is one only.
	Name string `json:"name,omitempty"`
	// Text is what runs, in full.
	Text string `json:"text,omitempty"`
	// Detail is what else settles it, as the folder that it runs in.
	Detail string `json:"detail,omitempty"`
	// Own says that the repository does not name it: a default, or the person's own choice.
	// It is shown and digested, and needs no trust where nothing else does.
	Own bool `json:"-"`
	// Sum is the hash of the item as it was shown, where Text or Detail is kept without secrets; else "".
	Sum string `json:"sum,omitempty"`
}

// compare orders items.
func compare(a, b Item) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Detail, b.Detail))
}

// same reports whether two items would run the same.
func same(a, b Item) bool {
	if a.Sum == "" && b.Sum == "" {
		return compare(a, b) == 0
	}
	return a.Part == b.Part && a.Kind == b.Kind && a.Name == b.Name && a.sum() == b.sum()
}

// sum is the hash of the item as it was shown.
func (i Item) sum() string {
	if i.Sum != "" {
		return i.Sum
	}
	return hashed(i)
}

// Clean is the plan as it is kept: clean takes secrets out of texts. It is equal to the plan that it is of, and its
// digest is another where there was one.
func (p Plan) Clean(clean func(string) string) Plan {
	p = slices.Clone(p)
	for n, i := range p {
		if text, detail := clean(i.Text), clean(i.Detail); i.Sum == "" && (text != i.Text || detail != i.Detail) {
			p[n].Text, p[n].Detail, p[n].Sum = text, detail, i.sum()
		}
	}
	return p
}

// Plan is a set of items, in order.
type Plan []Item

// New makes a plan of items: sorted, each once.
func New(items ...Item) Plan {
	p := slices.Clone(items)
	slices.SortFunc(p, func(a, b Item) int {
		if c := compare(a, b); c != 0 || a.Own == b.Own {
			return c
		}
		if a.Own {
			return 1 // what the repository names too is the repository's
		}
		return -1
	})
	return slices.CompactFunc(p, same)
}

// digestVersion goes into every digest, so that one of another version never matches.
const digestVersion = "orch trust 1\n"

// digestPrefix begins a digest as it is written.
const digestPrefix = "sha256:"

// MinDigits is how many digits of a digest name it at least.
const MinDigits = 12

// MaxDigits is how many a whole digest has.
const MaxDigits = 2 * sha256.Size

// Digest is "sha256:" and 64 hexadecimal digits.
func (p Plan) Digest() string {
	return hashed(append([]Item{}, p...))
}

// hashed is the digest of items, or of one.
func hashed(items any) string {
	text, err := json.Marshal(items)
	if err != nil {
		panic(err) // text always has JSON
	}
	sum := sha256.Sum256(append([]byte(digestVersion), text...))
	return digestPrefix + hex.EncodeToString(sum[:])
}

// Short is the first digits of a digest, enough to name it.
func Short(digest string) string {
	digest = strings.TrimPrefix(digest, digestPrefix)
	return digest[:min(len(digest), MinDigits)]
}

// Matches reports whether word names a digest: in full, or by its first digits, 12 or more.
func Matches(digest, word string) bool {
	return IsDigest(word) && strings.HasPrefix(strings.TrimPrefix(digest, digestPrefix), hexDigits(word))
}

// IsDigest reports whether a word can name a plan at all.
func IsDigest(word string) bool {
	d := hexDigits(word)
	return len(d) >= MinDigits && len(d) <= MaxDigits && strings.Trim(d, "0123456789abcdef") == ""
}

// hexDigits are those of a digest as a person writes it.
func hexDigits(word string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(word)), digestPrefix)
}

// Of is the items of some parts.
func (p Plan) Of(parts ...Part) (out Plan) {
	for _, i := range p {
		if slices.Contains(parts, i.Part) {
			out = append(out, i)
		}
	}
	return out
}

// Has reports whether the plan has an item.
func (p Plan) Has(item Item) bool {
	return slices.ContainsFunc(p, func(i Item) bool { return same(i, item) })
}

// named reports whether the repository names any of it.
func (p Plan) named() bool { return slices.ContainsFunc(p, func(i Item) bool { return !i.Own }) }

// Equal reports whether two plans have the same items.
func (p Plan) Equal(other Plan) bool {
	return len(p) == len(other) && !slices.ContainsFunc(p, func(i Item) bool { return !other.Has(i) })
}

// Covered reports whether the parts of p are trusted, by plans that a person has confirmed.
// Settings have to be as they were in one of these, as a whole; settings of which the
// repository names nothing need no trust while none have ever been confirmed. Of hooks and
// loops each item has to be in one of them.
func (p Plan) Covered(confirmed []Plan, parts ...Part) bool {
	for _, part := range parts {
		now := p.Of(part)
		if part == Settings {
			if !now.settled(confirmed) {
				return false
			}
			continue
		}
		for _, item := range now {
			if !slices.ContainsFunc(confirmed, func(c Plan) bool { return c.Has(item) }) {
				return false
			}
		}
	}
	return true
}

// settled is Covered for the settings alone.
func (p Plan) settled(confirmed []Plan) bool {
	some := false
	for _, c := range confirmed {
		c = c.Of(Settings)
		if p.Equal(c) {
			return true
		}
		some = some || len(c) > 0
	}
	return !some && !p.named()
}

// Change is one line of a difference.
type Change struct {
	// Added says that the item is new; else it is no longer there.
	Added bool `json:"added"`
	// Item is the item that it describes.
	Item
}

// Diff is what became of old in p, in the order of items; what was there before comes first.
func (p Plan) Diff(old Plan) (changes []Change) {
	for _, i := range old {
		if !p.Has(i) {
			changes = append(changes, Change{false, i})
		}
	}
	for _, i := range p {
		if !old.Has(i) {
			changes = append(changes, Change{true, i})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return changes
}
