package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxFileBytes = 1 << 20
	topKey       = "workflow"
	envPrefix    = "ORCH_"
)

// readFile takes what the file says; repo says that it is the repository's. It fails with an
// *Error.
func (s settings) readFile(file File, repo bool) error {
	path, data, was := file.Path, file.Text, map[*setting]*yaml.Node{}
	for _, one := range s.values() {
		was[one] = one.node
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		line := 1 + bytes.Count(data[:i], []byte("\n"))
		return &Error{File: path, Line: line, Column: i - bytes.LastIndexByte(data[:i], '\n'), What: "has a NUL in it, so it is no text"}
	}
	if len(data) > maxFileBytes {
		return &Error{File: path, What: fmt.Sprintf("has %d bytes; settings have at most %d", len(data), maxFileBytes)}
	}
	root, err := parseDocument(path, data)
	if err != nil || root == nil {
		return err
	}
	f := readWorkflow(root, func(n *yaml.Node) *fault {
		return s.record(n, topKey, func(k *yaml.Node) string { return fmt.Sprintf("%s:%d", cmp.Or(file.Name, filepath.Base(path)), k.Line) })
	})
	if f != nil {
		return f.inFile(path, data)
	}
	for _, one := range s.values() {
		if one.node != was[one] {
			one.file, one.repo = &file, repo || one.adds && one.repo
		}
	}
	return nil
}

// parseDocument gives the outermost node of the only document, nil when there is none.
func parseDocument(path string, data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(path, data, err)
	}
	switch err := d.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntaxError(path, data, err)
	default:
		return nil, (&fault{&more, "", "has a second document here", "settings are one document: take the --- out"}).inFile(path, data)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// syntaxError says where the text is no YAML. The parser knows the line only.
func syntaxError(path string, data []byte, err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	e := &Error{File: path, What: "is no YAML: " + printable(what)}
	m := regexp.MustCompile(`\Aline (\d+): (.*)`).FindStringSubmatch(what)
	if m == nil {
		return e
	}
	line, atoiErr := strconv.Atoi(m[1])
	if atoiErr != nil {
		return e
	}
	text := nthLine(data, line)
	e.Line, e.Column = line, 1+len(text)-len(strings.TrimLeft(text, " \t"))
	e.What, e.Snippet = "is no YAML: "+printable(m[2]), excerpt(data, e.Line, e.Column)
	if strings.Contains(text, "\t") {
		e.Fix = "indent with spaces, not with tabs"
	}
	return e
}

// readWorkflow reads the one key of the file that is ours.
func readWorkflow(root *yaml.Node, read func(*yaml.Node) *fault) *fault {
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return &fault{root, "", "is not a mapping", "write the settings below a key workflow:"}
	}
	var seen *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		k := root.Content[i]
		if k.Kind != yaml.ScalarNode || k.Value != topKey {
			continue
		}
		if seen != nil {
			return &fault{k, topKey, fmt.Sprintf("is there twice, first on line %d", seen.Line), "make one of them"}
		}
		seen = k
		if f := read(root.Content[i+1]); f != nil {
			return f
		}
	}
	return nil
}

// readEnv takes what the variables say. It fails with an *Error.
func (s settings) readEnv(env []string) error {
	values := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	for key, one := range s.values() {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		if values[name] == "" {
			continue
		}
		n, err := variableNode(values[name], one.form)
		if err != nil {
			return &Error{Key: name, What: "is no YAML: " + printable(strings.TrimPrefix(err.Error(), "yaml: "))}
		}
		if f := one.read(n, name); f != nil {
			return f.inVariable(name)
		}
		one.node, one.from, one.repo = nil, name, one.adds && one.repo
	}
	return nil
}

// variableNode makes a node of a variable's text. It fails for what is to be YAML and is not.
func variableNode(value string, f form) (*yaml.Node, error) {
	if f == asText {
		return scalarNode(value), nil
	}
	if f == asList && !strings.HasPrefix(strings.TrimSpace(value), "[") {
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for item := range strings.SplitSeq(value, ",") {
			n.Content = append(n.Content, scalarNode(strings.TrimSpace(item)))
		}
		return n, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(value), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return scalarNode(value), nil
	}
	return doc.Content[0], nil
}

func scalarNode(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: textTag, Value: value}
}

func (s settings) origins() (out Origins) {
	for key, one := range s.values() {
		from := one.from
		if from == "" {
			from = fromDefault
		}
		out = append(out, Origin{Key: key, Value: one.show(), Full: one.full(), From: from, Repository: one.repo})
	}
	return out
}
