package settings

import (
	"fmt"
	"slices"
)

// Put adds a value under section.name, unless there is one; an empty file becomes a new
// one. It fails with [ErrSettings].
func Put(settings []byte, section, name string, value any) ([]byte, error) {
	settings = orObject(settings)
	if _, there, err := locate(settings, section, name); err != nil || there {
		return settings, err
	}
	if at, there, err := locate(settings, section); err != nil {
		return nil, err
	} else if there {
		return insertValue(settings, at, name, value, 1)
	}
	at, _, err := locate(settings)
	if err != nil {
		return nil, err
	}
	return insertValue(settings, at, section, map[string]any{name: value}, 0)
}

// Drop takes section.name out again, and the section when nothing else is in it. It fails
// with [ErrSettings].
func Drop(settings []byte, section, name string) ([]byte, error) {
	at, there, err := locate(settings, section)
	if err != nil || !there {
		return settings, err
	}
	all, err := members(settings, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", section, err)
	}
	n := slices.IndexFunc(all, func(m member) bool { return m.key == name })
	switch {
	case n < 0:
		return settings, nil
	case len(all) > 1:
		return removeMember(settings, at, all, n), nil
	}
	root, _, err := locate(settings)
	if err != nil {
		return nil, err
	}
	sections, err := members(settings, root)
	if err != nil {
		return nil, err
	}
	return removeMember(settings, root, sections, slices.IndexFunc(sections, func(m member) bool { return m.key == section })), nil
}
