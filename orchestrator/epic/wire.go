package epic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
)

// shape is the version of an event as JSON. Events without one are read by upgrade; those of a
// higher one are refused.
const shape = 3

// ErrNewer says that a newer orch wrote an event; only that one understands it.
var ErrNewer = errors.New("the event was written by a newer version of orch")

// wireEvent is an event as JSON.
type wireEvent struct {
	V       int               `json:"v"`
	Kind    Kind              `json:"kind"`
	At      time.Time         `json:"at"`
	Task    TaskID            `json:"task,omitempty"`
	Attempt int               `json:"attempt,omitempty"`
	Code    reason.Code       `json:"code,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	Request string            `json:"request,omitempty"`
	Data    json.RawMessage   `json:"data,omitempty"`
	Kept    map[string]string `json:"kept,omitempty"`
}

// MarshalJSON writes the event as the journal has it. It fails for an event without a fact.
func (e Event) MarshalJSON() ([]byte, error) {
	kind := e.Kind()
	if kind == "" {
		return nil, fmt.Errorf("an event of no known kind (%T) cannot be written", e.Fact)
	}
	data, err := plainJSON(e.Fact)
	if err != nil {
		return nil, err
	}
	if string(data) == "{}" {
		data = nil
	}
	return plainJSON(wireEvent{V: shape, Kind: kind, At: e.At, Task: e.Task, Attempt: e.Attempt, Code: e.Code, Reason: e.Reason, Request: e.Request, Data: data, Kept: e.Kept})
}

// plainJSON is compact JSON in which <promise> can be read.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads an event of this version or of any before. It fails for a kind
// that it does not know, and with ErrNewer for a later version.
func (e *Event) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(b, []byte(`{"v":`)) { // as upgrade reads most: each is decoded once
		old, v, err := upgrade(b)
		if v < shape {
			if err == nil {
				*e = old
			}
			return err
		}
	}
	var w wireEvent
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	switch {
	case w.V > shape:
		return fmt.Errorf("%w: it has version %d, and this one knows up to %d", ErrNewer, w.V, shape)
	case w.V < shape:
		old, _, err := upgrade(b)
		if err == nil {
			*e = old
		}
		return err
	}
	fact, err := readFact(w.Kind, w.Data)
	if err != nil {
		return err
	}
	*e = Event{At: w.At, Task: w.Task, Attempt: w.Attempt, Code: w.Code, Reason: w.Reason, Request: w.Request, Fact: fact, Kept: w.Kept}
	return nil
}

// readFact reads the fact of a kind. It fails where there is no such kind, and as JSON does.
func readFact(kind Kind, data []byte) (Fact, error) {
	for _, r := range facts() {
		if r.kind != kind {
			continue
		}
		v := reflect.New(reflect.TypeOf(r.fact))
		if len(data) > 0 {
			if err := json.Unmarshal(data, v.Interface()); err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
		}
		return v.Elem().Interface().(Fact), nil
	}
	return nil, fmt.Errorf("no kind of event is called %q; a newer orch may have written it", kind)
}
