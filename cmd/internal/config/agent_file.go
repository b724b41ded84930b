package config

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/beadsorch/orch/orchestrator/validation"
)

// AgentsFolder is where clients have agents' definitions, below the repository's root.
const AgentsFolder = ".claude/agents"

// AgentFile is an agent's definition as clients have it: Markdown with a head in YAML, in
// which the key iteration says how it iterates. One without that key is not orch's affair.
type AgentFile struct {
	// Path is the file's; its name, less .md, is the agent's.
	Path string
	// Text is its content.
	Text []byte
}

// name is the agent's.
func (f AgentFile) name() string { return strings.TrimSuffix(filepath.Base(f.Path), ".md") }

// head is the YAML between two lines of three dashes at the beginning; nil without it.
func (f AgentFile) head() []byte {
	head, _ := f.parts()
	return head
}

// body is what stands below the head.
func (f AgentFile) body() string {
	_, body := f.parts()
	return strings.TrimSpace(string(body))
}

func (f AgentFile) parts() (head, body []byte) {
	text := bytes.ReplaceAll(bytes.TrimPrefix(f.Text, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	if !ok {
		return nil, text
	}
	head, body, ok = bytes.Cut(rest, []byte("\n---"))
	if !ok {
		return nil, text
	}
	return append([]byte("\n"), head...), bytes.TrimLeft(body, "-") // so that lines count as in the file
}

// define takes one agent from its file; the rules that it names go into named. It fails
// with an [*Error] when what it says of iterations is not understood; a head that is no YAML
// says nothing, since clients read such heads too.
func (c *Config) define(f AgentFile, named map[string][]string) error {
	name, head := f.name(), f.head()
	root, err := parseDocument(f.Path, head)
	if err != nil || root == nil || root.Kind != yaml.MappingNode || !agentName().MatchString(name) {
		return nil
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "iteration" {
			continue
		}
		d, known := c.Agents[name]
		if !known {
			d = Definition{Enabled: true, MaxIterations: c.Agents["me"].MaxIterations}
		}
		if fault := d.settings().record(root.Content[i+1], "iteration", noKey); fault != nil {
			return fault.inFile(f.Path, head)
		}
		named[name], d.ValidationRules = d.ValidationRules, nil
		c.Agents[name] = d
	}
	return nil
}

// keepKnown has agents that were defined in files, and not in the settings, be validated by
// those of the rules that they name which the gate has.
func (c *Config) keepKnown(named map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(named)) {
		d := c.Agents[name]
		if len(d.ValidationRules) > 0 {
			continue
		}
		for _, rule := range named[name] {
			if slices.ContainsFunc(c.Gate, func(r validation.Rule) bool { return r.Name == rule }) {
				d.ValidationRules = append(d.ValidationRules, rule)
			} else {
				c.Missing = append(c.Missing, name+": "+printable(rule))
			}
		}
		c.Agents[name] = d
	}
}
