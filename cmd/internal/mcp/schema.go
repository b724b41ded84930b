package mcp

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/stophook/registry"
)

// schemaOf is the JSON schema of a kind of document, with the meanings of its fields.
func schemaOf(zero cli.Document, meanings document.Meanings) *jsonschema.Schema {
	t := reflect.TypeOf(zero)
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: ownSchemas()})
	if err != nil {
		panic(err) // of a type in this program: each has a test
	}
	tag := any(zero.Schema())
	s.Properties["schema"] = &jsonschema.Schema{Type: "string", Const: &tag, Description: "The kind of the document."}
	s.PropertyOrder = append([]string{"schema"}, s.PropertyOrder...)
	s.Required = append([]string{"schema"}, s.Required...)
	describeType(s, t, meanings)
	return s
}

// ownSchemas are those of types whose JSON does not follow from their fields: any value, numbers
// as the names of members, and a hook that is made of hooks. The fields of an event are in
// docs/json.md alone: they are more than all others of a status together.
func ownSchemas() map[reflect.Type]*jsonschema.Schema {
	numbers := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "number"}}
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[map[string]any]():  {Type: "object"},
		reflect.TypeFor[map[int]int]():     numbers(),
		reflect.TypeFor[map[int]float64](): numbers(),
		reflect.TypeFor[registry.Spec]():   {Type: "object"},
		reflect.TypeFor[epic.Event]():      {Type: "object"},
	}
}

// describeType puts the meanings of fields into the schema of their type, and takes what a nil
// embedded pointer leaves out from what is required.
func describeType(s *jsonschema.Schema, t reflect.Type, meanings document.Meanings) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case s == nil:
	case t.Kind() == reflect.Slice:
		neverNull(s, "array")
		describeType(s.Items, t.Elem(), meanings)
	case t.Kind() == reflect.Map:
		neverNull(s, "object")
		describeType(s.AdditionalProperties, t.Elem(), meanings)
	case t.Kind() == reflect.Struct:
		if t.Implements(reflect.TypeFor[json.Marshaler]()) {
			s.AdditionalProperties = nil // a record of the tracker, with what orch does not name
		}
		for _, f := range document.Fields(t) {
			p := s.Properties[f.Name]
			if p == nil {
				continue // one of ownSchemas
			}
			p.Description = meanings.Of(f)
			if f.Optional {
				s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == f.Name })
			}
			describeType(p, f.Type, meanings)
		}
	}
}

// neverNull makes a list or a map what it always is in a document, as [cli.Marshal] prints it.
func neverNull(s *jsonschema.Schema, kind string) {
	if slices.Contains(s.Types, kind) {
		s.Type, s.Types = kind, nil
	}
}

// inputSchema is the JSON schema of what a tool takes.
func inputSchema[In any]() *jsonschema.Schema {
	promise := &jsonschema.Schema{Types: []string{"string", "object"}, Description: "the words of a promise that was found, such as COMPLETE, or an object with type, detected and content"}
	s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[registry.Promise](): promise}})
	if err != nil {
		panic(err) // of a type in this package: each has a test
	}
	return s
}
