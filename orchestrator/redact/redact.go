// Package redact takes secrets out of text: the values of variables whose names say that they
// are secret, in the forms in which programs print them, and tokens of the shapes that vendors
// document. Where one was stands "[redacted NAME]".
//
// It works on bytes, in one pass and in bounded memory; what it makes of a text does not depend
// on how the text was split. Redacting twice changes nothing. What a secret was wrapped,
// reversed, encrypted or compressed into, it does not know.
package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Options are what a Redactor knows of secrets besides the shapes of tokens.
type Options struct {
	// Env is an environment, "NAME=value": the values of secret-looking names are secret.
	Env []string
	// Names are of variables in Env whose values are secret whatever the name looks like; a *
	// at the end stands for any rest.
	Names []string
	// Values are secrets by name, for those that are in no variable.
	Values map[string]string
	// Exists reports whether a value is the path of a file, which is no secret; nil checks none.
	Exists func(path string) bool
}

// Redactor takes secrets out of text. It never changes, and may be used by many goroutines. A
// nil one knows no secret and leaves all as it is.
type Redactor struct {
	patterns []pattern
	begins   [1 << 16 / 64]uint64 // hashes of three bytes that some pattern begins with
	firsts   [256]bool            // bytes that some pattern begins with
	starts   map[uint16][]int32   // patterns by their first two bytes
	pairs    [1 << 16 / 64]uint64 // the keys of starts
}

// pattern is one thing that is looked for.
type pattern struct {
	name   string
	mark   []byte    // what stands in its place
	lit    []byte    // what it begins with; all of it for a value
	breaks [][]byte  // of a value with line ends: the lines after lit
	shape  *shape    // what follows lit; nil for a value
	kind   kindOf    //
	class  classBits // of the shape's run
}

type kindOf uint8

const (
	ofValue kindOf = iota
	ofShape
	ofMark // our own, which stays
)

// New makes a Redactor. It asks opt.Exists once for each value that looks like a path.
func New(opt Options) *Redactor {
	r := &Redactor{}
	secrets := secretsOf(opt)
	names := map[string]bool{}
	for _, s := range shapes() {
		names[s.name] = true
		r.patterns = append(r.patterns, pattern{name: s.name, mark: []byte(s.kept() + markOf(s.name)), lit: []byte(s.prefix), shape: &s, kind: ofShape, class: s.class})
	}
	for _, s := range secrets {
		names[s.name] = true
	}
	var marks strings.Builder
	for name := range names {
		r.patterns = append(r.patterns, pattern{name: name, lit: []byte(markOf(name)), kind: ofMark})
		marks.WriteString(markOf(name))
	}
	for _, s := range secrets {
		if strings.Contains(marks.String(), s.value) || strings.Contains(s.value, "[redacted ") {
			continue // what the marks themselves say is no secret
		}
		for _, lines := range forms(s.value) {
			r.patterns = append(r.patterns, pattern{name: s.name, mark: []byte(markOf(s.name)), lit: lines[0], breaks: lines[1:]})
		}
	}
	r.index()
	return r
}

func markOf(name string) string { return "[redacted " + name + "]" }

// index sorts the patterns, so that nothing depends on the order of a map, and enters them by
// their first two bytes.
func (r *Redactor) index() {
	slices.SortStableFunc(r.patterns, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), bytes.Compare(a.lit, b.lit), cmp.Compare(a.name, b.name), slices.CompareFunc(a.breaks, b.breaks, bytes.Compare))
	})
	r.patterns = slices.CompactFunc(r.patterns, func(a, b pattern) bool {
		return a.kind == b.kind && a.kind != ofShape && bytes.Equal(a.lit, b.lit) && slices.EqualFunc(a.breaks, b.breaks, bytes.Equal)
	})
	r.starts = make(map[uint16][]int32, len(r.patterns))
	for i, p := range r.patterns {
		pair := uint16(p.lit[0])<<8 | uint16(p.lit[1])
		r.firsts[p.lit[0]] = true
		r.pairs[pair>>6] |= 1 << (pair & 63)
		r.starts[pair] = append(r.starts[pair], int32(i))
		for third := range 256 {
			if len(p.lit) == 2 || p.lit[2] == byte(third) {
				h := hash(uint32(pair)<<8 | uint32(third))
				r.begins[h>>6] |= 1 << (h & 63)
			}
		}
	}
}

// hash spreads three bytes over 16 bits.
func hash(three uint32) uint32 { return three * 0x9E3779B1 >> 16 }

// String is s without secrets.
func (r *Redactor) String(s string) string {
	if r == nil || s == "" {
		return s
	}
	out, changed := r.all([]byte(s))
	if !changed {
		return s
	}
	return string(out)
}

// Bytes is b without secrets; b itself where there is none, and b is never written to.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil || len(b) == 0 {
		return b
	}
	out, _ := r.all(b)
	return out
}

// Names lists what secrets are in b, each name once, in the order of their places.
func (r *Redactor) Names(b []byte) (names []string) {
	if r == nil {
		return nil
	}
	s := scanner{r: r, found: func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}}
	s.scan(b, true, func([]byte) {})
	return names
}

func (r *Redactor) all(b []byte) (out []byte, changed bool) {
	s := scanner{r: r, found: func(string) { changed = true }}
	var first []byte
	pieces := 0
	s.scan(b, true, func(p []byte) {
		switch {
		case pieces == 0:
			first = p
		case pieces == 1:
			out = append(append(make([]byte, 0, len(b)), first...), p...)
		default:
			out = append(out, p...)
		}
		pieces++
	})
	switch {
	case !changed:
		return b, false
	case pieces <= 1:
		return slices.Clone(first), true
	}
	return out, true
}
