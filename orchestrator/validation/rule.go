// Package validation judges work by rules.
//
// A [Rule] is one question about a directory, the files that were changed in it, or what
// an agent has said; [Judge] runs all of them and gives a [Verdict]. A rule that does not
// hold has failed; one that could not be asked has errored, which is never a pass.
package validation

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// The types of rules.
const (
	// Command runs a command in the shell; exit status 0 passes.
	Command = "command"
	// ContentPattern looks for a regular expression in text.
	ContentPattern = "content_pattern"
	// Coverage reads a coverage report.
	Coverage = "coverage"
	// FilesChanged matches the names of the changed files.
	FilesChanged = "files_changed"
	// Custom runs a command in the shell that reads the context and answers for itself.
	Custom = "custom"
)

// What a content_pattern rule looks into.
const (
	// TargetOutput is what the agent has said.
	TargetOutput = "output"
	// TargetFile is the files that Path names.
	TargetFile = "file"
	// TargetProduct is the work products that were stored for the task.
	TargetProduct = "work_product"
	// TargetDiff is the changed files, as they are now; those that Path names, if there is one.
	TargetDiff = "diff"
)

// defaultTimeout is how long a command may run when its rule does not say.
const defaultTimeout = 10 * time.Minute

// Rule is one question. A field that its type does not know has to be zero.
type Rule struct {
	// Name is what people and agents see, one short line.
	Name string `json:"name"`
	// Type is one of the types above.
	Type string `json:"type"`
	// Command is what `sh -c` runs, for command and custom.
	Command string `json:"command,omitempty"`
	// Timeout is for command and custom; 0 means DefaultTimeout.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Path is a glob of slash-separated paths below the directory: * and ? stay within one
	// folder, ** crosses folders. For files_changed and content_pattern; for coverage it is the report.
	Path string `json:"path,omitempty"`
	// Pattern is a regular expression (RE2), for content_pattern.
	Pattern string `json:"pattern,omitempty"`
	// Target is what a content_pattern looks into; "" means the file when there is a Path,
	// else the output.
	Target string `json:"target,omitempty"`
	// Absent turns content_pattern and files_changed round: what they look for must not be there.
	Absent bool `json:"absent,omitempty"`
	// Min is the least coverage that passes, in percent.
	Min float64 `json:"min,omitempty"`
	// Dir is where command and custom run, a folder below the directory; "" is the directory.
	Dir string `json:"dir,omitempty"`
	// Parallel lets the rule run beside others that may, next to it in the list.
	Parallel bool `json:"parallel,omitempty"`
	// Off leaves the rule out.
	Off bool `json:"off,omitempty"`
	// Format is that of the coverage report: "go", "lcov", "cobertura", "jacoco", or "" to
	// find out by its content.
	Format string `json:"format,omitempty"`
}

// RuleError says which field of a rule is not well-formed.
type RuleError struct {
	// Rule is the rule's name; it may be empty.
	Rule string
	// Field is the field's name in lower case, as in the settings.
	Field string
	// Why is what is wrong with it, one clause.
	Why string
}

// Error is one line.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rule %q: %s %s", e.Rule, e.Field, e.Why)
}

// Types lists the types of rules.
func Types() []string { return []string{Command, ContentPattern, Coverage, FilesChanged, Custom} }

// fieldsOf lists the fields that a type knows; the first so many it needs.
func fieldsOf(kind string) (fields []string, needed int) {
	switch kind {
	case Command, Custom:
		return []string{"command", "timeout", "dir"}, 1
	case ContentPattern:
		return []string{"pattern", "path", "target", "absent"}, 1
	case Coverage:
		return []string{"path", "min", "format"}, 2
	case FilesChanged:
		return []string{"path", "absent"}, 1
	}
	return nil, 0
}

// Scope is what has to be known before a rule can be asked.
type Scope int

// The scopes, each wider than the one before.
const (
	// OfTree needs files alone.
	OfTree Scope = iota
	// OfChange needs to know which of them have changed.
	OfChange
	// OfAgent needs what an agent has said or stored.
	OfAgent
)

// Scope is that of the rule.
func (r Rule) Scope() Scope {
	if r.Type == FilesChanged {
		return OfChange
	}
	switch r.target() {
	case TargetDiff:
		return OfChange
	case TargetOutput, TargetProduct:
		return OfAgent
	}
	return OfTree
}

// target is what a content_pattern looks into; "" for other types.
func (r Rule) target() string {
	switch {
	case r.Type != ContentPattern || r.Target != "":
		return r.Target
	case r.Path != "":
		return TargetFile
	}
	return TargetOutput
}

// Within are the rules whose scope is no wider.
func Within(rules []Rule, scope Scope) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Scope() > scope })
}

// Check reports whether the rule is well-formed; it fails with a [*RuleError].
func (r Rule) Check() error {
	if field, why := r.fault(); field != "" {
		return &RuleError{Rule: r.Name, Field: field, Why: why}
	}
	return nil
}

func (r Rule) fault() (field, why string) {
	if why := lineFault(r.Name); why != "" {
		return "name", why
	}
	if r.Type == "" {
		return "type", "is needed: one of " + strings.Join(Types(), ", ")
	}
	if !slices.Contains(Types(), r.Type) {
		return "type", fmt.Sprintf("%q is none of %s", r.Type, strings.Join(Types(), ", "))
	}
	known, needed := fieldsOf(r.Type)
	set := r.set()
	for _, field := range known[:needed] {
		if !slices.Contains(set, field) {
			return field, "is needed for the type " + r.Type
		}
	}
	for _, field := range set {
		if !slices.Contains(known, field) {
			return field, "means nothing for the type " + r.Type
		}
	}
	return r.valueFault()
}

func lineFault(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty"
	case len(s) > 100:
		return "is over 100 bytes"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "has a control character in it"
	}
	return ""
}

// set lists the fields that are not zero, in a fixed order.
func (r Rule) set() (fields []string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"command", strings.TrimSpace(r.Command) != ""},
		{"timeout", r.Timeout != 0},
		{"path", r.Path != ""},
		{"pattern", r.Pattern != ""},
		{"target", r.Target != ""},
		{"absent", r.Absent},
		{"min", r.Min != 0},
		{"format", r.Format != ""},
		{"dir", r.Dir != ""},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}

func (r Rule) valueFault() (field, why string) {
	switch {
	case r.Timeout < 0:
		return "timeout", "is negative"
	case strings.ContainsRune(r.Command, 0):
		return "command", "has a NUL in it"
	case !(r.Min >= 0 && r.Min <= 100):
		return "min", "is not between 0 and 100"
	case r.Format != "" && formatNamed(r.Format) == nil:
		return "format", fmt.Sprintf("%q is none of go, lcov, cobertura, jacoco", r.Format)
	}
	if _, err := regexp.Compile(r.Pattern); err != nil {
		return "pattern", "is no regular expression: " + err.Error()
	}
	if r.Dir != "" && !fs.ValidPath(r.Dir) {
		return "dir", "is no folder below the directory"
	}
	if why := r.pathFault(); why != "" {
		return "path", why
	}
	return r.targetFault()
}

func (r Rule) pathFault() string {
	err := error(nil)
	switch {
	case r.Path == "":
	case r.Type != Coverage:
		_, err = compileGlob(r.Path)
	case !fs.ValidPath(r.Path):
		err = errGlobPath
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (r Rule) targetFault() (field, why string) {
	switch r.Target {
	case "", TargetDiff:
	case TargetOutput, TargetProduct:
		if r.Path != "" {
			return "path", "means nothing for the target " + r.Target
		}
	case TargetFile:
		if r.Path == "" {
			return "path", "is needed for the target file"
		}
	default:
		return "target", fmt.Sprintf("%q is none of output, file, diff, work_product", r.Target)
	}
	return "", ""
}
