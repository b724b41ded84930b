package mcp

import (
	"encoding/json"
	"fmt"
)

// rule is a validation rule as a model sends it: its fields beside its name, or below config.
type rule struct {
	Name    string `json:"name" jsonschema:"a short name, such as tests_pass"`
	Type    string `json:"type,omitempty" jsonschema:"command (the default), content_pattern, coverage, files_changed or custom"`
	Enabled *bool  `json:"enabled,omitempty" jsonschema:"false leaves it out"`
	fields
	Config fields `json:"config,omitzero" jsonschema:"the fields of its type, in place of those beside it"`
}

// fields are those of all types of rules.
type fields struct {
	Command   string  `json:"command,omitempty" jsonschema:"command, custom: what a shell runs; exit 0 passes"`
	Timeout   string  `json:"timeout,omitempty" jsonschema:"command, custom: such as 90s"`
	Dir       string  `json:"dir,omitempty" jsonschema:"command, custom: the folder that it runs in"`
	Pattern   string  `json:"pattern,omitempty" jsonschema:"content_pattern: a regular expression"`
	Target    string  `json:"target,omitempty" jsonschema:"content_pattern: agent_output, file, diff or work_product"`
	MustMatch *bool   `json:"mustMatch,omitempty" jsonschema:"content_pattern: false says that it need not match, which holds always"`
	Absent    bool    `json:"absent,omitempty" jsonschema:"content_pattern, files_changed: must not match"`
	Path      string  `json:"path,omitempty" jsonschema:"content_pattern, files_changed: a glob of files; coverage: the report"`
	Min       float64 `json:"min,omitempty" jsonschema:"coverage: the least that passes, in percent"`
	Format    string  `json:"format,omitempty" jsonschema:"coverage: go, lcov, cobertura or jacoco; found out by default"`
	Parallel  bool    `json:"parallel,omitempty" jsonschema:"it may run beside its neighbours"`
}

// setting is the rule as the settings have it.
func (r rule) setting() map[string]any {
	f := r.fields
	if r.Config != (fields{}) {
		f = r.Config
	}
	on := (r.Enabled == nil || *r.Enabled) && (f.MustMatch == nil || *f.MustMatch)
	out := map[string]any{"name": r.Name, "type": "command", "enabled": on}
	if r.Type != "" {
		out["type"] = r.Type
	}
	if f.Target == "agent_output" {
		f.Target = "output"
	}
	for name, value := range map[string]any{"command": f.Command, "timeout": f.Timeout, "dir": f.Dir, "pattern": f.Pattern, "target": f.Target, "path": f.Path, "format": f.Format,
		"absent": f.Absent, "parallel": f.Parallel, "min": f.Min} {
		if value != "" && value != false && value != 0.0 {
			out[name] = value
		}
	}
	return out
}

// rulesOf is the text of rules that a command reads.
func rulesOf(rules []rule) []byte {
	list := []map[string]any{}
	for _, r := range rules {
		list = append(list, r.setting())
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Appendf(nil, "%q", err.Error()) // it came as JSON; what is none is refused
	}
	return text
}
