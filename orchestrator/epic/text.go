package epic

import (
	"reflect"
	"strings"
)

// Text is a text in an event that comes from outside: from agents, gates, hooks, the tracker,
// errors. All strings of a fact are, but those of a type of their own and those with the tag
// text:"plain": ids, words of orch's own, settings, and what git makes.
type Text struct {
	Name string // of its fields in JSON, joined by dots; elements of a list have one name
	Long bool   // it may be of any length: its field has the tag text:"long"
	Body string // the text itself
}

// EditTexts gives the event with each text in it replaced by what edit makes of it. e itself,
// and what it shares with others, stays as it was.
func (e Event) EditTexts(edit func(Text) string) Event {
	e.Reason = edit(Text{Name: "reason", Body: e.Reason})
	if e.Fact != nil {
		e.Fact = edited(reflect.ValueOf(e.Fact), Text{}, edit).Interface().(Fact)
	}
	return e
}

// edited is a copy of v with its texts edited; at names where v is.
func edited(v reflect.Value, at Text, edit func(Text) string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			at.Body = v.String()
			return reflect.ValueOf(edit(at))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(edited(v.Elem(), at, edit))
			return out
		}
	case reflect.Slice:
		if v.IsNil() || !holdsText(v.Type().Elem()) {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(edited(v.Index(i), at, edit))
		}
		return out
	case reflect.Struct:
		return editedStruct(v, at, edit)
	}
	return v
}

func editedStruct(v reflect.Value, at Text, edit func(Text) string) reflect.Value {
	if !holdsText(v.Type()) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		tag := field.Tag.Get("text")
		if !field.IsExported() || tag == "plain" || !holdsText(field.Type) {
			continue
		}
		name := at.Name
		if !field.Anonymous {
			own, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			name = strings.TrimPrefix(name+"."+own, ".")
		}
		out.Field(i).Set(edited(v.Field(i), Text{Name: name, Long: tag == "long"}, edit))
	}
	return out
}

// holdsText reports whether values of a type can hold texts.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		return t == reflect.TypeFor[string]()
	case reflect.Pointer, reflect.Slice:
		return holdsText(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("text") != "plain" && holdsText(f.Type) {
				return true
			}
		}
	}
	return false
}
