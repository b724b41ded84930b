// Package shadow makes a git repository that stands in the place of the real one for an attempt in a sandbox: its references,
// configuration and hooks are its own, objects are borrowed and cannot be written. Everyday git works in it, and whatever is done
// there, the real repository stays as it is.
//
// Afterwards [Shadow.Return] takes back what was committed, by copying objects that git has checked, and nothing else: hooks,
// configuration, tags and other references are dropped unread.
package shadow
