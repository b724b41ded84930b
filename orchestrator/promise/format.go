package promise

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// contextOrder is the order of the entries that people look for; others follow by name.
func contextOrder() []string {
	return []string{"session_id", "iterations", "issues_completed", "remaining_blocked", "duration_minutes", "reason"}
}

// Format writes a promise with its context, as orch itself ends a run: the same each time
// for the same promise. Reason and Summary go into the context. [Find] reads it back.
func Format(p Promise) string {
	text := p.Text
	if text == "" {
		text = string(p.Signal)
	}
	line := "<promise>" + text + "</promise>"
	if text == loopComplete {
		line = loopComplete
	}
	entries := maps.Clone(p.Context)
	for name, value := range map[string]string{"reason": p.Reason, "summary": p.Summary} {
		if _, there := entries[name]; value != "" && !there {
			if entries == nil {
				entries = map[string]any{}
			}
			entries[name] = value
		}
	}
	if len(entries) == 0 {
		return line
	}
	var b strings.Builder
	b.WriteString(line + "\n<context>\n")
	for _, key := range orderedKeys(entries) {
		fmt.Fprintf(&b, "  %s: %s\n", yamlKey(key), yamlValue(entries[key]))
	}
	b.WriteString("</context>")
	return b.String()
}

func orderedKeys(entries map[string]any) []string {
	var keys []string
	for _, key := range contextOrder() {
		if _, ok := entries[key]; ok {
			keys = append(keys, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

var plainKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?:[a-z]+_[a-z_]+|iterations|reason|summary)\z`) })

func yamlKey(key string) string {
	if plainKey().MatchString(key) {
		return key
	}
	return yamlValue(key)
}

// yamlValue is JSON, which is YAML but for some characters; with < and > escaped, so
// that no tag can appear in it.
func yamlValue(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return yamlValue(fmt.Sprint(value))
	}
	var b strings.Builder
	for _, r := range string(text) {
		if r > unicode.MaxASCII && !unicode.IsPrint(r) || r == 0x7f {
			fmt.Fprintf(&b, "\\U%08x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
