package config

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sizeUnits are what may follow the number of a size.
func sizeUnits() []struct {
	name  string
	bytes int64
} {
	return []struct {
		name  string
		bytes int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}
}

// size reads a number of bytes, or a whole number of KB, MB or GB.
func size(name string, at *int64) *setting {
	const want = "a size like 100MB, or 0 for no limit"
	return &setting{name: name, show: func() string { return shownSize(*at) }, read: func(n *yaml.Node, key string) *fault {
		text, f := scalar(n, key, want, "!!str", "!!int")
		if f != nil {
			return f
		}
		v, ok := parseSize(text)
		if !ok {
			return wrongValue(n, key, text, want)
		}
		*at = v
		return nil
	}}
}

func parseSize(text string) (int64, bool) {
	unit := int64(1)
	for _, u := range sizeUnits() {
		if number, has := strings.CutSuffix(strings.ToUpper(text), u.name); has {
			text, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 || v > math.MaxInt64/unit {
		return 0, false
	}
	return v * unit, true
}

func shownSize(v int64) string {
	for _, u := range sizeUnits() {
		if v > 0 && v%u.bytes == 0 {
			return strconv.FormatInt(v/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(v, 10)
}
