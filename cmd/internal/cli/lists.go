package cli

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// withLists is a document whose lists are all there: one that is nil is an empty list in JSON, and a
// nil map an object, at any depth. The document itself stays as it is. A field that is absent while it is
// empty stays absent, and what writes its own JSON is left alone.
func withLists(d Document) any {
	v := reflect.ValueOf(d)
	if !v.IsValid() {
		return d
	}
	return listsOf(v).Interface()
}

// listsOf is a copy of a value with lists in place of those that are nil.
func listsOf(v reflect.Value) reflect.Value {
	t := v.Type()
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return v
	}
	out := reflect.New(t).Elem()
	out.Set(v)
	switch t.Kind() {
	case reflect.Struct:
		fillFields(out)
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(t.Elem()))
			out.Elem().Set(listsOf(v.Elem()))
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 { // a text in JSON
			break
		}
		out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(listsOf(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(t, v.Len()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, listsOf(v.MapIndex(key)))
		}
	}
	return out
}

// fillFields is listsOf for the fields of a struct, in place.
func fillFields(v reflect.Value) {
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(strings.Split(options, ","), "omitzero") && field.IsZero() {
			continue
		}
		switch {
		case field.CanSet():
			field.Set(listsOf(field))
		case f.Anonymous && field.Kind() == reflect.Struct: // of a type that is not exported, with fields that are
			fillFields(field)
		}
	}
}
