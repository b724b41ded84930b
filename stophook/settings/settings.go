// Package settings puts hooks into an agent client's settings, and takes them out.
//
// A settings file belongs to people and other tools. It is changed as text: what is not
// orch's keeps its order, its spacing and its place, byte for byte. The shape is the one
// that Claude Code, Codex and Gemini CLI share: hooks.EVENT is a list of groups, each with
// a list of hooks.
package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Hook is one command that a client runs at an event.
type Hook struct {
	Event   string        // the client's name of it, such as Stop
	Command string        // as a shell runs it
	Timeout time.Duration // how long it may take
	Unit    time.Duration // what the client counts that in; 0: seconds
	Also    string        // another command that counts as this one; "" for none
}

// Limit is Timeout as the client's settings have it, in its own unit.
func (h Hook) Limit() int64 { return int64(h.Timeout / cmp.Or(h.Unit, time.Second)) }

// Is reports whether a command is this hook's: as orch writes it, or with plain words that somebody has added,
// such as an epic.
func (h Hook) Is(command string) bool {
	return calls(command, h.Command) || h.Also != "" && calls(command, h.Also)
}

// calls reports whether a line of a shell is a command, or the command with more plain words in it.
func calls(line, command string) bool {
	if line == command {
		return true
	}
	words, want := strings.Fields(line), strings.Fields(command)
	if strings.ContainsFunc(line, special) || len(words) < len(want) || words[0] != want[0] {
		return false
	}
	for _, word := range words {
		if len(want) > 0 && word == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// special reports whether a shell may make something of a character other than a part of a word.
func special(r rune) bool {
	return !(r == ' ' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_./=:,+@%", r))
}

// ErrSettings says that a settings file is no JSON object of the shape that the client
// reads; it is never written.
var ErrSettings = errors.New("not a client's settings")

// Install adds the hooks that are missing. An empty file becomes a new one. It fails with
// ErrSettings.
func Install(settings []byte, hooks []Hook) ([]byte, error) {
	settings = orObject(settings)
	for _, h := range hooks {
		there, err := Commands(settings, h.Event)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(there, h.Is) {
			continue
		}
		if settings, err = addHook(settings, h); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// orObject is the text, or an empty object where there is none.
func orObject(settings []byte) []byte {
	if len(bytes.TrimSpace(settings)) == 0 {
		return []byte("{\n}\n")
	}
	return settings
}

// Commands lists the commands that run at an event, in their order. It fails with
// ErrSettings.
func Commands(settings []byte, event string) (out []string, err error) {
	groups, ok, err := locate(settings, "hooks", event)
	if err != nil || !ok {
		return nil, err
	}
	var list []struct {
		Hooks []struct {
			Command string `json:"command"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(groups.of(settings), &list); err != nil {
		return nil, fmt.Errorf("hooks.%s: %w: %w", event, ErrSettings, err)
	}
	for _, g := range list {
		for _, h := range g.Hooks {
			out = append(out, h.Command)
		}
	}
	return out, nil
}

// addHook appends a hook to those of its event.
func addHook(settings []byte, h Hook) ([]byte, error) {
	entry := map[string]any{"type": "command", "command": h.Command, "timeout": h.Limit()}
	group := []any{map[string]any{"hooks": []any{entry}}}
	for depth, path := range [][]string{{"hooks", h.Event}, {"hooks"}, {}} {
		at, ok, err := locate(settings, path...)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		switch depth {
		case 0:
			return insertValue(settings, at, "", group[0], len(path))
		case 1:
			return insertValue(settings, at, h.Event, group, len(path))
		}
		return insertValue(settings, at, "hooks", map[string]any{h.Event: group}, len(path))
	}
	return nil, fmt.Errorf("%w: not an object", ErrSettings)
}

// span is where a value stands in a text.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// member is one member of an object, or one element of an array.
type member struct {
	key   string // "" of an element
	value span
}

// locate finds the value at a path of keys; ok is false when there is none. It fails when
// the text is no JSON, or what is on the way is no object.
func locate(text []byte, path ...string) (at span, ok bool, err error) {
	at = span{0, len(text)}
	if !json.Valid(text) {
		return at, false, fmt.Errorf("%w: not JSON", ErrSettings)
	}
	for n, key := range path {
		if firstByte(text, at) != '{' {
			return at, false, fmt.Errorf("%w: %q is not an object", ErrSettings, strings.Join(path[:n], "."))
		}
		all, err := members(text, at)
		if err != nil {
			return at, false, err
		}
		i := slices.IndexFunc(all, func(m member) bool { return m.key == key })
		if i < 0 {
			return at, false, nil
		}
		at = all[i].value
	}
	return at, true, nil
}

// firstByte is the first byte of the value at a place.
func firstByte(text []byte, at span) byte {
	value := bytes.TrimSpace(at.of(text))
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// members lists what is in the object or the array at a place.
func members(text []byte, at span) (out []member, err error) {
	dec := json.NewDecoder(bytes.NewReader(at.of(text)))
	open, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	for dec.More() {
		var m member
		if open == json.Delim('{') {
			key, err := dec.Token()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrSettings, err)
			}
			m.key = fmt.Sprint(key)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSettings, err)
		}
		end := at.start + int(dec.InputOffset())
		m.value = span{end - len(raw), end}
		out = append(out, m)
	}
	return out, nil
}

// insertValue appends a value to the object or array at a place, in the file's own indentation.
func insertValue(text []byte, at span, key string, value any, depth int) ([]byte, error) {
	if want := map[bool]byte{true: '{', false: '['}[key != ""]; firstByte(text, at) != want {
		return nil, fmt.Errorf("%w: a value where it has to be %c", ErrSettings, want)
	}
	all, err := members(text, at)
	if err != nil {
		return nil, err
	}
	unit := indentOf(text)
	inner := strings.Repeat(unit, depth+1)
	body, err := json.MarshalIndent(value, inner, unit)
	if err != nil {
		return nil, fmt.Errorf("writing a hook: %w", err)
	}
	piece := "\n" + inner
	if key != "" {
		piece += `"` + key + `": `
	}
	piece += string(body)
	var to int
	if len(all) > 0 {
		to, piece = all[len(all)-1].value.end, ","+piece
		return splice(text, to, to, piece), nil
	}
	// Between the brackets there is only space; the closing one goes on a line of its own.
	raw := at.of(text)
	open := bytes.IndexAny(raw, "{[")
	closing := bytes.LastIndexAny(raw, "}]")
	return splice(text, at.start+open+1, at.start+closing, piece+"\n"+strings.Repeat(unit, depth)), nil
}

func splice(text []byte, from, to int, piece string) []byte {
	return slices.Concat(text[:from], []byte(piece), text[to:])
}

// indentOf is one step of a file's indentation; two spaces where it shows none.
func indentOf(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if step := line[:len(line)-len(rest)]; len(step) > 0 && len(bytes.TrimSpace(rest)) > 0 {
			return string(step)
		}
	}
	return "  "
}

// Remove takes the hooks out again, and what is empty without them. It fails with
// ErrSettings.
func Remove(settings []byte, hooks []Hook) ([]byte, error) {
	for _, h := range hooks {
		for {
			next, found, err := removeOne(settings, h)
			if err != nil {
				return nil, err
			}
			if !found {
				break
			}
			settings = next
		}
	}
	return settings, nil
}

// removeOne takes one occurrence of a hook out, then each container that is empty now.
func removeOne(settings []byte, h Hook) (out []byte, found bool, err error) {
	at, ok, err := locate(settings, "hooks", h.Event)
	if err != nil || !ok {
		return settings, false, err
	}
	groups, err := members(settings, at)
	if err != nil {
		return settings, false, err
	}
	for n, g := range groups {
		list, ok, err := locate(g.value.of(settings), "hooks")
		if err != nil || !ok {
			continue // another's, of another shape
		}
		list = span{g.value.start + list.start, g.value.start + list.end}
		entries, err := members(settings, list)
		if err != nil {
			continue
		}
		for i, e := range entries {
			var entry struct {
				Command string `json:"command"`
			}
			if json.Unmarshal(e.value.of(settings), &entry) != nil || !h.Is(entry.Command) {
				continue
			}
			switch {
			case len(entries) > 1:
				return removeMember(settings, list, entries, i), true, nil
			case len(groups) > 1:
				return removeMember(settings, at, groups, n), true, nil
			}
			return cutKey(settings, h.Event)
		}
	}
	return settings, false, nil
}

// cutKey takes hooks.EVENT out, or hooks itself when nothing else is in it.
func cutKey(settings []byte, event string) ([]byte, bool, error) {
	for _, path := range [][]string{{"hooks"}, {}} {
		at, _, err := locate(settings, path...)
		if err != nil {
			return settings, false, err
		}
		all, err := members(settings, at)
		if err != nil {
			return settings, false, err
		}
		key := event
		if len(path) == 0 {
			key = "hooks"
		} else if len(all) == 1 {
			continue // hooks holds nothing else
		}
		i := slices.IndexFunc(all, func(m member) bool { return m.key == key })
		return removeMember(settings, at, all, i), true, nil
	}
	return settings, false, nil
}

// removeMember removes a member with the comma that goes with it.
func removeMember(text []byte, in span, all []member, i int) []byte {
	raw := in.of(text)
	from := in.start + bytes.IndexAny(raw, "{[") + 1
	if i > 0 {
		from = all[i-1].value.end
	}
	to := all[i].value.end
	if i == 0 && len(all) > 1 {
		to += bytes.IndexByte(text[to:], ',') + 1
	}
	if len(all) == 1 {
		to = in.start + bytes.LastIndexAny(raw, "}]")
		if bytes.Contains(text[from:to], []byte("\n")) {
			return splice(text, from, to, "\n")
		}
	}
	return splice(text, from, to, "")
}
