package document_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
)

// TestNoListIsNull: a list with nothing in it is printed as one, in each document and in each value
// of one, and so is an object.
func TestNoListIsNull(t *testing.T) {
	t.Parallel()
	lists := 0
	for _, k := range document.Kinds() {
		for name, doc := range map[string]cli.Document{"empty": k.Zero, "with one of each": oneOfEach(reflect.TypeOf(k.Zero)).Interface().(cli.Document)} {
			text, err := cli.Marshal(doc)
			require.NoError(t, err, k.Name())
			var fields map[string]any
			require.NoError(t, json.Unmarshal(text, &fields))
			lists += noNull(t, reflect.TypeOf(doc), fields, k.Name()+", "+name)
		}
	}
	require.Greater(t, lists, 50)
}

// TestProgressIsOfTheStatus: what a status says of tampering is not lost on the way.
func TestProgressIsOfTheStatus(t *testing.T) {
	t.Parallel()
	s := document.Status{Tampered: []document.Tampering{{Code: "TAMPERED"}}}
	require.Equal(t, s.Tampered, s.Progress().Tampered)
}

// oneOfEach is a value of a type in which all lists, maps and pointers have one empty element.
func oneOfEach(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		return v
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if v.Field(i).CanSet() && t.Field(i).Type != reflect.TypeFor[any]() && !recurses(t.Field(i).Type, t) {
				v.Field(i).Set(oneOfEach(t.Field(i).Type))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(oneOfEach(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(t, 1, 1))
			v.Index(0).Set(oneOfEach(t.Elem()))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.Zero(t.Key()), oneOfEach(t.Elem()))
	}
	return v
}

// recurses reports whether a field holds values of the struct that it is in.
func recurses(t, in reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t == in
}

// noNull requires that no list and no object is null in what a struct was printed as, and counts them.
func noNull(t *testing.T, of reflect.Type, fields map[string]any, where string) (lists int) {
	t.Helper()
	for _, f := range document.Fields(of) {
		value, there := fields[f.Name]
		kind := f.Type
		if !there || kind.Implements(reflect.TypeFor[json.Marshaler]()) {
			continue
		}
		for value != nil && kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch kind.Kind() {
		case reflect.Slice, reflect.Map:
			if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Uint8 {
				continue
			}
			lists++
			require.NotNil(t, value, "%s: %s", where, f.Name)
			elements, ok := value.([]any)
			for _, e := range elements {
				if row, ok := e.(map[string]any); ok && kind.Elem().Kind() == reflect.Struct {
					lists += noNull(t, kind.Elem(), row, where+": "+f.Name)
				}
			}
			_, object := value.(map[string]any)
			require.True(t, ok || object, "%s: %s", where, f.Name)
		case reflect.Struct:
			if row, ok := value.(map[string]any); ok && !kind.Implements(reflect.TypeFor[json.Marshaler]()) {
				lists += noNull(t, kind, row, where+": "+f.Name)
			}
		}
	}
	return lists
}
