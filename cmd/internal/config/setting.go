package config

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// setting is one key: a value, or a section with more of them.
type setting struct {
	name   string
	read   func(n *yaml.Node, key string) *fault // nil for a section
	show   func() string
	data   func() any // for full, where show leaves something out; nil where it does not
	within settings   // of a section
	form   form       // how a variable writes it
	from   string     // where the value comes from; "" is the default
	node   *yaml.Node
	file   *File // that node is in
	repo   bool  // the repository says it, or a part of it
	adds   bool  // each file adds to it, instead of replacing what was said before
}

// full is the value with all that is in it.
func (one *setting) full() string {
	if one.data == nil {
		return one.show()
	}
	text, err := json.Marshal(one.data())
	if err != nil {
		panic(err) // settings always have JSON
	}
	return string(text)
}

// form is how a variable writes a value.
type form string

const (
	asText form = ""     // as it is
	asList form = "list" // with commas, or as YAML
	asYAML form = "yaml"
)

// settings are the keys of one mapping.
type settings []*setting

// values are all the values below, in order, with their paths.
func (s settings) values() iter.Seq2[string, *setting] {
	return func(yield func(string, *setting) bool) {
		for _, one := range s {
			if one.read != nil && !yield(one.name, one) {
				return
			}
			for key, below := range one.within.values() {
				if !yield(one.name+"."+key, below) {
					return
				}
			}
		}
	}
}

func (s settings) named(name string) *setting {
	for _, one := range s {
		if one.name == name {
			return one
		}
	}
	return nil
}

func (s settings) names() (out []string) {
	for _, one := range s {
		out = append(out, one.name)
	}
	return out
}

// textTag marks a scalar that comes from a variable, where all is text.
const textTag = "!variable"

func hasTag(n *yaml.Node, tags ...string) bool {
	tag := n.ShortTag()
	return tag == textTag || slices.Contains(tags, tag)
}

// scalar is the text of a scalar of one of these types; it faults for everything else.
func scalar(n *yaml.Node, key, want string, tags ...string) (string, *fault) {
	switch {
	case n.Kind == yaml.AliasNode:
		return "", &fault{n, key, "is an alias, which is not read here", "write the value itself"}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return "", &fault{n, key, "has no value", "give it " + want + ", or leave it out"}
	case n.Kind != yaml.ScalarNode:
		return "", &fault{n, key, "is not " + want, ""}
	case hasTag(n, tags...):
		return n.Value, nil
	case slices.Contains(tags, "!!str"):
		return "", &fault{n, key, "is not " + want, "quote it: " + strconv.Quote(n.Value)}
	}
	return "", wrongValue(n, key, n.Value, want)
}

func wrongValue(n *yaml.Node, key, value, want string) *fault {
	return &fault{n, key, fmt.Sprintf("is %s, not %s", text.Quote(value, 40), want), ""}
}

func boolean(name string, at *bool) *setting {
	const want = "true or false"
	return &setting{name: name, show: func() string { return strconv.FormatBool(*at) }, read: func(n *yaml.Node, key string) *fault {
		text, f := scalar(n, key, want, "!!bool")
		if f != nil {
			return f
		}
		v, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return wrongValue(n, key, text, want)
		}
		*at = v
		return nil
	}}
}

func whole[T int | int64](name string, at *T, least, most int64) *setting {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	return &setting{name: name, show: func() string { return strconv.FormatInt(int64(*at), 10) }, read: func(n *yaml.Node, key string) *fault {
		text, f := scalar(n, key, want, "!!int")
		if f != nil {
			return f
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil || v < least || v > most {
			return wrongValue(n, key, text, want)
		}
		*at = T(v)
		return nil
	}}
}

func number(name string, at *float64, most float64) *setting {
	want := fmt.Sprintf("a number from 0 to %g", most)
	return &setting{name: name, show: func() string { return strconv.FormatFloat(*at, 'f', -1, 64) }, read: func(n *yaml.Node, key string) *fault {
		text, f := scalar(n, key, want, "!!float", "!!int")
		if f != nil {
			return f
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= most) {
			return wrongValue(n, key, text, want)
		}
		*at = v
		return nil
	}}
}

func duration(name string, at *time.Duration, least time.Duration) *setting {
	want := "a time like 45m or 8h"
	if least > 0 {
		want += " over 0"
	}
	return &setting{name: name, show: func() string { return shortTime(*at) }, read: func(n *yaml.Node, key string) *fault {
		text, f := scalar(n, key, want, "!!str", "!!int", "!!float")
		if f != nil {
			return f
		}
		v, err := time.ParseDuration(text)
		if err != nil || v < least {
			return wrongValue(n, key, text, want)
		}
		*at = v
		return nil
	}}
}

// shortTime is 8h for 8h0m0s.
func shortTime(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// word is text; one of the known, if there are some.
func word(name string, at *string, known ...string) *setting {
	return &setting{name: name, show: func() string { return quoteValue(*at) }, read: func(n *yaml.Node, key string) *fault {
		text, f := scalar(n, key, "text", "!!str")
		if f == nil {
			f = unknownWord(n, key, text, known)
		}
		if f == nil {
			*at = text
		}
		return f
	}}
}

func quoteValue(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

func unknownWord(n *yaml.Node, key, word string, known []string) *fault {
	if len(known) == 0 || slices.Contains(known, word) {
		return nil
	}
	return &fault{n, key, fmt.Sprintf("is %s, not one of %s", text.Quote(word, 40), strings.Join(known, ", ")), suggest(word, known)}
}

// list is a sequence of texts, none of them empty; of the known, if there are some.
func list(name string, at *[]string, known ...string) *setting {
	return &setting{name: name, form: asList, show: func() string { return shownList(*at) }, read: func(n *yaml.Node, key string) *fault {
		out := []string{}
		f := eachItem(n, key, func(item *yaml.Node, key string) *fault {
			text, f := scalar(item, key, "text", "!!str")
			if f == nil && strings.TrimSpace(text) == "" {
				f = &fault{item, key, "is empty", "leave it out"}
			}
			if f == nil {
				f = unknownWord(item, key, text, known)
			}
			out = append(out, text)
			return f
		})
		if f == nil {
			*at = out
		}
		return f
	}}
}

// ports is a list of ports.
func ports(name string, at *[]int) *setting {
	const most = 65535
	want := fmt.Sprintf("a port from 1 to %d", most)
	return &setting{name: name, form: asList, show: func() string {
		words := []string{}
		for _, port := range *at {
			words = append(words, strconv.Itoa(port))
		}
		return "[" + strings.Join(words, ",") + "]"
	}, read: func(n *yaml.Node, key string) *fault {
		out := []int{}
		f := eachItem(n, key, func(item *yaml.Node, key string) *fault {
			text, f := scalar(item, key, want, "!!int")
			if f != nil {
				return f
			}
			port, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil || port < 1 || port > most {
				return wrongValue(item, key, text, want)
			}
			out = append(out, port)
			return nil
		})
		if f == nil {
			*at = out
		}
		return f
	}}
}

// added is a list to which each file adds.
func added(name string, at *[]string) *setting {
	var more []string
	one := list(name, &more)
	replace := one.read
	one.adds, one.show = true, func() string { return shownList(*at) }
	one.read = func(n *yaml.Node, key string) *fault {
		f := replace(n, key)
		if f == nil {
			*at = append(slices.Clone(*at), more...)
		}
		return f
	}
	return one
}

// globs is a list of globs of paths, to which each file adds. A ! before one takes it out.
func globs(name string, at *[]string) *setting {
	return &setting{name: name, form: asList, adds: true, show: func() string { return shownList(*at) }, read: func(n *yaml.Node, key string) *fault {
		out := slices.Clone(*at)
		f := eachItem(n, key, func(item *yaml.Node, key string) *fault {
			text, f := scalar(item, key, "text", "!!str")
			if f != nil {
				return f
			}
			if _, err := validation.CompileGlob(strings.TrimPrefix(text, "!")); err != nil {
				return &fault{item, key, err.Error(), "write a path from the top of the repository, such as ci/** or tools/check.py"}
			}
			out = append(out, text)
			return nil
		})
		if f == nil {
			*at = out
		}
		return f
	}}
}

func shownList(list []string) string {
	if list == nil {
		list = []string{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // text always has JSON
	}
	return string(text)
}

// eachItem calls fn for the items of a sequence, until one faults.
func eachItem(n *yaml.Node, key string, fn func(item *yaml.Node, key string) *fault) *fault {
	if n.Kind == yaml.AliasNode {
		return &fault{n, key, "is an alias, which is not read here", "write the list itself"}
	}
	if n.Kind != yaml.SequenceNode {
		return &fault{n, key, "is not a list", "write it as [one, two]"}
	}
	for i, item := range n.Content {
		if f := fn(item, fmt.Sprintf("%s[%d]", key, i)); f != nil {
			return f
		}
	}
	return nil
}

// eachPair calls fn for the keys of a mapping, until one faults. Nothing at all counts as an
// empty mapping, so that a section may stand there with its keys commented out.
func eachPair(n *yaml.Node, key string, fn func(name string, k, v *yaml.Node) *fault) *fault {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return nil
	case n.Kind == yaml.AliasNode:
		return &fault{n, key, "is an alias, which is not read here", "write the keys themselves"}
	case n.Kind != yaml.MappingNode:
		return &fault{n, key, "is not a mapping", "write it as key: value, a line each"}
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			return &fault{k, key, "has a key that is not a word", ""}
		}
		if was := seen[k.Value]; was != nil {
			return &fault{k, key + "." + k.Value, fmt.Sprintf("is there twice, first on line %d", was.Line), "keep one of them"}
		}
		seen[k.Value] = k
		if f := fn(k.Value, k, n.Content[i+1]); f != nil {
			return f
		}
	}
	return nil
}

// record reads a mapping whose keys are these; from says where they come from.
func (s settings) record(n *yaml.Node, key string, from func(*yaml.Node) string) *fault {
	return eachPair(n, key, func(name string, k, v *yaml.Node) *fault {
		one := s.named(name)
		if one == nil {
			return &fault{k, key + "." + name, "is not a setting", s.advice(name)}
		}
		if one.read == nil {
			return one.within.record(v, key+"."+name, from)
		}
		where := from(k)
		if one.adds && one.from != "" {
			where = one.from + ", " + where
		}
		one.node, one.from = k, where
		return one.read(v, key+"."+name)
	})
}

// advice is for a key that is not known here: one like it, or the place where it is known.
func (s settings) advice(name string) string {
	if nearestWord(name, s.names()) == "" {
		for _, section := range s {
			if near := nearestWord(name, section.within.names()); near != "" {
				return "did you mean " + section.name + "." + near + "?"
			}
		}
	}
	return suggest(name, s.names())
}
