package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// maxParseBytes bounds what is parsed; a tracker of 10,000 issues is 12 MB.
const maxParseBytes = 256 << 20

// maxQuote is how many cells of a tracker's output an error quotes.
const maxQuote = 200

// ParseError says that a tracker's output is not what it should be.
type ParseError struct {
	Line  int    // from 1, in JSONL; 0 otherwise
	Why   string // in a clause
	Quote string // how the text begins, at most 200 bytes
	Err   error
}

// Error quotes what came.
func (e *ParseError) Error() string {
	where := "output of the tracker"
	if e.Line > 0 {
		where = fmt.Sprintf("line %d", e.Line)
	}
	return fmt.Sprintf("%s: %s: %q", where, e.Why, e.Quote)
}

// Unwrap is the error of the JSON parser, if it was one.
func (e *ParseError) Unwrap() error { return e.Err }

// Parse reads what `bd list --json` and its like print: an array of issues, one
// issue, or either in an envelope with schema_version. Lines before the JSON are
// passed over, since bd prints warnings there. It fails with *ParseError, and with
// context.Cause(ctx) soon after ctx has ended.
func Parse(ctx context.Context, data []byte) ([]tracker.Issue, error) {
	if len(data) > maxParseBytes {
		return nil, &ParseError{Why: fmt.Sprintf("more than %d bytes", maxParseBytes), Quote: text.Clause(string(data), maxQuote)}
	}
	raw, err := firstValue(ctx, data)
	if err != nil {
		return nil, err
	}
	if raw[0] == '{' {
		var envelope struct {
			Schema json.RawMessage `json:"schema_version"`
			Data   json.RawMessage `json:"data"`
			Error  string          `json:"error"`
			ID     string          `json:"id"`
		}
		if err := json.Unmarshal(raw, &envelope); err != nil {
			return nil, &ParseError{Why: "not an issue", Quote: text.Clause(string(raw), maxQuote), Err: err}
		}
		switch {
		case envelope.Error != "":
			return nil, &ParseError{Why: "an error instead of issues", Quote: text.Clause(envelope.Error, maxQuote)}
		case envelope.Data != nil:
			raw = bytes.TrimSpace(envelope.Data)
		case envelope.ID == "":
			return nil, &ParseError{Why: "an object without an id", Quote: text.Clause(string(raw), maxQuote)}
		}
	}
	return parseIssues(ctx, raw)
}

func parseIssues(ctx context.Context, raw []byte) ([]tracker.Issue, error) {
	issues, err := decodeIssues(ctx, raw)
	if ctx.Err() != nil {
		return nil, cancelError(ctx)
	}
	if err != nil {
		return nil, &ParseError{Why: err.Error(), Quote: text.Clause(string(raw), maxQuote), Err: err}
	}
	for _, i := range issues {
		if i.ID == "" || i.Title == "" {
			return nil, &ParseError{Why: "an issue without an id or a title", Quote: text.Clause(string(raw), maxQuote)}
		}
	}
	return issues, nil
}

// decodeIssues reads one issue, or an array of them one by one, so that it can be stopped between two.
func decodeIssues(ctx context.Context, raw []byte) ([]tracker.Issue, error) {
	if len(raw) > 0 && raw[0] == '{' {
		issues := make([]tracker.Issue, 1)
		return issues, json.Unmarshal(raw, &issues[0])
	}
	issues := []tracker.Issue{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	switch first, err := dec.Token(); {
	case err != nil:
		return nil, err
	case first == nil: // null
		return issues, nil
	case first != json.Delim('['):
		return nil, json.Unmarshal(raw, &issues)
	}
	for dec.More() && ctx.Err() == nil {
		var i tracker.Issue
		if err := dec.Decode(&i); err != nil {
			return nil, err
		}
		issues = append(issues, i)
	}
	return issues, nil
}

func cancelError(ctx context.Context) error {
	return fmt.Errorf("reading what the tracker printed: %w", context.Cause(ctx))
}

// maxWarnings is how many lines before the JSON may look like the beginning of some: each costs
// a try at all that follows.
const maxWarnings = 1000

// firstValue is the JSON array or object that begins a line of data, with
// nothing but space behind it.
func firstValue(ctx context.Context, data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	tries := 0
	for rest := data; len(rest) > 0; {
		line := bytes.TrimLeft(rest, " \t\r\n")
		if len(line) > 0 && (line[0] == '[' || line[0] == '{') {
			if ctx.Err() != nil {
				return nil, cancelError(ctx)
			}
			if tries++; tries > maxWarnings {
				break
			}
			raw, tail, err := valueOf(line)
			switch {
			case err == nil && tail != nil:
				return nil, &ParseError{Why: "something after the JSON", Quote: text.Clause(string(tail), maxQuote)}
			case err == nil:
				return raw, nil
			case errors.Is(err, io.ErrUnexpectedEOF):
				return nil, &ParseError{Why: "the JSON is cut off", Quote: text.Clause(string(line), maxQuote), Err: err}
			}
		}
		n := bytes.IndexByte(line, '\n')
		if n < 0 {
			break
		}
		rest = line[n+1:]
	}
	return nil, &ParseError{Why: "no JSON in it", Quote: text.Clause(string(data), maxQuote)}
}

// valueOf is the JSON value that data begins with, and what is behind it, nil where that is space.
func valueOf(data []byte) (raw json.RawMessage, tail []byte, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&raw); err != nil {
		return nil, nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		tail = data[dec.InputOffset()-1:]
	}
	return raw, tail, nil
}

// ParseJSONL reads beads' interchange format, one record a line. Records that
// are no issues (memories, tombstones) are left out. It fails with *ParseError,
// which names the line.
func ParseJSONL(data []byte) ([]tracker.Issue, error) {
	records, err := parseRecords(data)
	if err != nil {
		return nil, err
	}
	return issuesOf(records), nil
}

// record is one line of a file: an issue, or something that is kept as it is.
type record struct {
	issue *tracker.Issue
	raw   []byte // its line; nil of an issue that was added
}

func parseRecords(data []byte) (records []record, err error) {
	if len(data) > maxParseBytes {
		return nil, &ParseError{Why: fmt.Sprintf("more than %d bytes", maxParseBytes), Quote: text.Clause(string(data), maxQuote)}
	}
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		n++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		r, err := parseRecord(line)
		if err != nil {
			return nil, &ParseError{Line: n, Why: err.Error(), Quote: text.Clause(string(line), maxQuote), Err: err}
		}
		records = append(records, r)
	}
	return records, nil
}

func parseRecord(line []byte) (record, error) {
	var head struct {
		Kind   string         `json:"_type"`
		Status tracker.Status `json:"status"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return record{}, err
	}
	if head.Kind != "" && head.Kind != "issue" || head.Status == "tombstone" {
		return record{raw: line}, nil
	}
	i := new(tracker.Issue)
	if err := json.Unmarshal(line, i); err != nil {
		return record{}, err
	}
	if i.ID == "" {
		return record{}, errors.New("an issue without an id")
	}
	return record{issue: i, raw: line}, nil
}
