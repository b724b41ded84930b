// Package document is what orch prints as JSON: one Go type for each document, with its schema
// tag. What is no document cannot be printed as JSON, and the tools of the Model Context
// Protocol answer with the same types.
//
// The comment of a field is its meaning, with its unit and when it is absent. docs/json.md, the
// meanings in the schemas of the tools, and the golden examples are made from the types here:
//
//	go test ./cmd/internal/document -update
//
// The name and the meaning of a field stay, or the number of its schema tag rises.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Document is one document: a struct that is printed as a JSON object, with its tag as the
// member "schema" in front.
type Document interface {
	// Schema is the tag: "orch.", a name, "/" and a number that rises when a field changes.
	Schema() string
}

// Marshal is a document as JSON on one line. It fails for a value that JSON does not have,
// such as an infinite number.
func Marshal(d Document) ([]byte, error) {
	var fields, out bytes.Buffer
	enc := json.NewEncoder(&fields)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("writing %s: %w", d.Schema(), err)
	}
	body := bytes.TrimSpace(fields.Bytes())
	if len(body) == 0 || body[0] != '{' {
		return nil, fmt.Errorf("writing %s: it is no object", d.Schema())
	}
	fmt.Fprintf(&out, `{"schema":%q`, d.Schema())
	if len(body) > len("{}") {
		out.WriteByte(',')
	}
	out.Write(body[1:])
	return out.Bytes(), nil
}

// Write prints a document over several lines. A document that cannot be printed is replaced by
// an [Error] that says so.
func Write(w io.Writer, d Document) error { return write(w, d, "  ") }

// WriteLine prints a document as one line of JSON lines.
func WriteLine(w io.Writer, d Document) error { return write(w, d, "") }

func write(w io.Writer, d Document, indent string) error {
	body, err := Marshal(d)
	if err != nil {
		body, _ = Marshal(Error{Code: "UNEXPECTED", Message: err.Error(), Exit: 1}) // text and a number always have JSON
	}
	if indent != "" {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, body, "", indent); err != nil {
			return err
		}
		body = pretty.Bytes()
	}
	_, err = w.Write(append(body, '\n'))
	return err
}
