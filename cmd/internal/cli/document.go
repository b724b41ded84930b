package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/beadsorch/orch/orchestrator/epic"
)

// Document is one document: a struct that is printed as a JSON object, with its tag as the
// member "schema" in front.
type Document interface {
	// Schema is the tag: "orch.", a name, "/" and a number that rises when a field changes.
	Schema() string
}

// Marshal is a document as JSON on one line, in which no list is null. It fails for a value that JSON does not have,
// such as an infinite number.
func Marshal(d Document) ([]byte, error) {
	var fields, out bytes.Buffer
	enc := json.NewEncoder(&fields)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(withLists(d)); err != nil {
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

// WriteJSON prints a document for a program, over several lines. One that cannot be printed is
// replaced by an [ErrorDocument] that says so. Nobody reads on where it cannot be written.
func WriteJSON(w io.Writer, d Document) { _ = writeDocument(w, d, "  ") }

// WriteLine prints a document as one line of JSON lines, as WriteJSON does else. It fails where it
// cannot be written.
func WriteLine(w io.Writer, d Document) error { return writeDocument(w, d, "") }

func writeDocument(w io.Writer, d Document, indent string) error {
	body, err := Marshal(d)
	if err != nil {
		body, _ = Marshal(ErrorDocument{Code: "UNEXPECTED", Message: err.Error(), Exit: 1}) // text and a number always have JSON
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

// ErrorDocument is why a command failed.
type ErrorDocument struct {
	// Code is the reason as a program reads it, such as NOT_FOUND.
	Code string `json:"code"`
	// Message is what happened.
	Message string `json:"message"`
	// Why it did, or what the code means where the message says that.
	Why string `json:"why"`
	// Fix is commands or advice, one a line.
	Fix []string `json:"fix"`
	// Exit is the exit code of the command.
	Exit int `json:"exit"`
	// Promise is LOOP_DONE, LOOP_CONTINUE, LOOP_BLOCKED or LOOP_ERROR: what the epic that the command
	// is about needs now; absent where it is about none, or asks for nothing of it.
	Promise epic.Promise `json:"promise,omitempty"`
}

// Schema is "orch.error/1".
func (ErrorDocument) Schema() string { return "orch.error/1" }
