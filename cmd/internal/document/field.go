package document

import (
	_ "embed" // the meanings
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"strings"
)

// Field is a field of a document, or of a value in one.
type Field struct {
	// Name is its name in JSON.
	Name string
	// Type is its Go type.
	Type reflect.Type
	// Optional says that it can be absent.
	Optional bool

	owner reflect.Type // the struct that declares it
	name  string       // in Go
}

// Fields are the fields that a struct has as JSON, those of embedded structs included.
func Fields(t reflect.Type) (out []Field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			for _, p := range Fields(inner) {
				p.Optional = p.Optional || f.Type.Kind() == reflect.Pointer
				out = append(out, p)
			}
		default:
			if name == "" {
				name = f.Name
			}
			absent := slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" })
			out = append(out, Field{Name: name, Type: f.Type, Optional: absent, owner: t, name: f.Name})
		}
	}
	return out
}

// key names the field in meanings.json: the last word of its package's path, its struct and
// itself.
func (f Field) key() string {
	return path.Base(f.owner.PkgPath()) + "." + f.owner.Name() + "." + f.name
}

//go:embed meanings.json
var meanings []byte

// Meanings are what the fields of all documents mean: the comments of their Go fields.
type Meanings map[string]string

// ReadMeanings reads them from the program. It panics when they are no JSON, which a test rules
// out.
func ReadMeanings() (out Meanings) {
	if err := json.Unmarshal(meanings, &out); err != nil {
		panic(err)
	}
	return out
}

// Of is what a field means.
func (m Meanings) Of(f Field) string { return m[f.key()] }
