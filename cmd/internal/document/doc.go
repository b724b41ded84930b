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
