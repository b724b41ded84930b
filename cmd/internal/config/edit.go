package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/beadsorch/orch/orchestrator/validation"
)

// AddGate puts rules that run commands into settings that have no gate, with the setup that these need where there is none, and leaves every
// other line as it is. ok is false when there is a gate, or no place for one: then the
// text is not changed.
func AddGate(path string, data []byte, rules []validation.Rule, setup []string) (out []byte, ok bool) {
	line, indent, ok := gatePlace(path, data)
	if !ok || len(rules) == 0 {
		return data, false
	}
	var block strings.Builder
	if line == 0 {
		if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
			block.WriteString("\n")
		}
		block.WriteString(topKey + ":\n")
	}
	pad := strings.Repeat(" ", indent)
	block.WriteString(pad + "gate:\n")
	for _, r := range rules {
		fmt.Fprintf(&block, "%s  - {name: %s, type: command, command: %s}\n", pad, r.Name, strconv.Quote(r.Command))
	}
	if was, _, err := Load(path, data, nil); err == nil && len(was.Setup) == 0 && len(setup) > 0 {
		fmt.Fprintf(&block, "%ssetup: %s # in each new worktree, with the network, which the gate then has not\n", pad, shownList(setup))
	}
	at := len(data)
	if line > 0 {
		at = lineEnd(data, line)
	}
	out = append(append(append([]byte{}, data[:at]...), block.String()...), data[at:]...)
	if c, _, err := Load(path, out, nil); err != nil || len(c.Gate) != len(rules) {
		return data, false
	}
	return out, true
}

// gatePlace finds the line behind which a gate may stand, and how far it is indented; line
// 0 is the end of the file, with a key workflow of its own.
func gatePlace(path string, data []byte) (line, indent int, ok bool) {
	root, err := parseDocument(path, data)
	if err != nil {
		return 0, 0, false
	}
	if root == nil {
		return 0, 2, true
	}
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		return 0, 0, false
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value != topKey {
			continue
		}
		if value.Kind != yaml.MappingNode || value.Style&yaml.FlowStyle != 0 || len(value.Content) == 0 {
			return 0, 0, false
		}
		for j := 0; j < len(value.Content); j += 2 {
			if value.Content[j].Value == "gate" {
				return 0, 0, false
			}
		}
		return key.Line, value.Content[0].Column - 1, true
	}
	return 0, 2, true
}

// lineEnd is where the line of a number, from 1, ends with its newline.
func lineEnd(data []byte, line int) (at int) {
	for n := 0; n < line; n++ {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return len(data)
		}
		at += end + 1
	}
	return at
}
