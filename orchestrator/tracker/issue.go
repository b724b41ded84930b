package tracker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Status is where an issue stands. bd knows the ones below; a tracker may have
// others of its own.
type Status string

// bd's built-in statuses.
const (
	StatusOpen       Status = "open"
	StatusInProgress Status = "in_progress"
	StatusBlocked    Status = "blocked"
	StatusClosed     Status = "closed"
	StatusDeferred   Status = "deferred"
	StatusPinned     Status = "pinned"
	StatusHooked     Status = "hooked"
)

// Done reports whether an issue with this status no longer blocks others: bd
// counts closed and pinned.
func (s Status) Done() bool { return s == StatusClosed || s == StatusPinned }

// The types of issue that the rules speak of.
const (
	TypeEpic = "epic"
	TypeTask = "task"
)

// ClosedWithin is how far ClosedAt of an issue may be from when it was closed, before or after: a
// tracker may keep whole seconds.
const ClosedWithin = time.Second

// Issue is one record of the tracker. Fields that are not named here are kept
// and written back.
type Issue struct {
	ID                 string       `json:"id"`                            // unique in the tracker
	Title              string       `json:"title"`                         // one line
	Description        string       `json:"description,omitempty"`         // what is to be done
	Design             string       `json:"design,omitempty"`              // how
	AcceptanceCriteria string       `json:"acceptance_criteria,omitempty"` // when it is done
	Notes              string       `json:"notes,omitempty"`               // anything else, appended to
	Status             Status       `json:"status"`                        // open, in_progress, blocked, closed, ...
	Priority           int          `json:"priority"`                      // 0 is most urgent, 4 least
	Type               string       `json:"issue_type"`                    // task, epic, bug, ...
	Assignee           string       `json:"assignee,omitempty"`            // who has it; "" for none
	EstimatedMinutes   int          `json:"estimated_minutes,omitempty"`   // 0: no estimate
	CreatedAt          time.Time    `json:"created_at,omitzero"`           // UTC
	UpdatedAt          time.Time    `json:"updated_at,omitzero"`           // UTC
	ClosedAt           *time.Time   `json:"closed_at,omitempty"`           // when it was closed, give or take a second; nil while it is not closed
	CloseReason        string       `json:"close_reason,omitempty"`        // as it was given
	ClosedBy           string       `json:"closed_by_session,omitempty"`   // who closed it; "" where the tracker does not say, or says so later
	DeferUntil         *time.Time   `json:"defer_until,omitempty"`         // not ready before; nil: at any time
	Labels             []string     `json:"labels,omitempty"`              // in the order of the record
	Dependencies       []Dependency `json:"dependencies,omitempty"`        // what it waits for, belongs to, or is related to

	extra fields // of the record, not named above
}

// Dependency is an edge: the issue waits for, belongs to, or is related to
// another.
type Dependency struct {
	IssueID     string          `json:"issue_id,omitempty"`      // the one that depends
	DependsOnID string          `json:"depends_on_id,omitempty"` // the one that it depends on
	Type        string          `json:"type,omitempty"`          // blocks, parent-child, waits-for, ...
	CreatedAt   time.Time       `json:"created_at,omitzero"`     // UTC
	CreatedBy   string          `json:"created_by,omitempty"`    // "" unknown
	Metadata    json.RawMessage `json:"metadata,omitempty"`      // bd writes a JSON string that holds JSON

	extra fields
}

// CommentRecord is one comment on an issue.
type CommentRecord struct {
	ID        json.RawMessage `json:"id"`         // unique in the tracker: a string, of old bd a number
	IssueID   string          `json:"issue_id"`   // what it is on
	Author    string          `json:"author"`     // the actor's name
	Text      string          `json:"text"`       // of any length
	CreatedAt time.Time       `json:"created_at"` // UTC
}

// Comments are those that the record has. It fails where they are of no shape that bd writes.
func (i *Issue) Comments() (all []CommentRecord, err error) {
	if raw := i.extra["comments"]; raw != nil {
		err = json.Unmarshal(raw, &all)
	}
	return all, err
}

// The types of edge that the rules of ready work read.
const (
	DepBlocks      = "blocks"
	DepConditional = "conditional-blocks" // as blocks, in bd 1.0.5
	DepWaitsFor    = "waits-for"
	DepParent      = "parent-child"
)

// DepDiscovered is the edge of an issue that came up in the work at another; it blocks nothing.
const DepDiscovered = "discovered-from"

// fields are those of a JSON object that a struct does not name.
type fields map[string]json.RawMessage

// UnmarshalJSON reads a record of any shape that bd prints. It fails when a
// field that is named has the wrong type.
func (i *Issue) UnmarshalJSON(data []byte) (err error) {
	type plain Issue
	i.extra, err = readKeeping(data, (*plain)(i))
	return err
}

// MarshalJSON writes the record with all that was read.
func (i Issue) MarshalJSON() ([]byte, error) {
	type plain Issue
	return writeKeeping(plain(i), i.extra)
}

// UnmarshalJSON reads an edge. `bd show` prints the other issue in its place,
// with a dependency_type; that is read as an edge too.
func (d *Dependency) UnmarshalJSON(data []byte) (err error) {
	type plain Dependency
	if d.extra, err = readKeeping(data, (*plain)(d)); err != nil {
		return err
	}
	if d.DependsOnID == "" {
		d.DependsOnID, d.Type = d.extra.text("id"), d.extra.text("dependency_type")
	}
	return nil
}

// MarshalJSON writes the edge with all that was read.
func (d Dependency) MarshalJSON() ([]byte, error) {
	type plain Dependency
	if d.extra["dependency_type"] != nil {
		d.DependsOnID, d.Type = "", ""
	}
	return writeKeeping(plain(d), d.extra)
}

// readKeeping fills the struct that v points to, and returns the fields of the
// object that it does not name.
func readKeeping(data []byte, v any) (fields, error) {
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	var all fields
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	t := reflect.TypeOf(v).Elem()
	for n := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(n).Tag.Get("json"), ",")
		delete(all, name)
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// writeKeeping writes the struct's fields, then the kept ones by name; _type,
// where there is one, comes first as bd has it.
func writeKeeping(v any, extra fields) ([]byte, error) {
	var known bytes.Buffer
	enc := json.NewEncoder(&known)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(bytes.TrimSpace(known.Bytes()), []byte("}"))[1:]
	var out bytes.Buffer
	out.WriteByte('{')
	if kind := extra["_type"]; kind != nil {
		fmt.Fprintf(&out, `"_type":%s,`, kind)
	}
	out.Write(body)
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if name == "_type" {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if b := out.Bytes(); b[len(b)-1] != '{' && b[len(b)-1] != ',' {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%s:%s", key, extra[name])
	}
	return append(bytes.TrimSuffix(out.Bytes(), []byte(",")), '}'), nil
}

// Has reports whether the record has a field that Issue does not name.
func (i *Issue) Has(name string) bool { return i.extra[name] != nil }

// Keep sets a field that Issue does not name. It panics for a value that JSON has not.
func (i *Issue) Keep(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	extra := fields{}
	for k, old := range i.extra {
		extra[k] = old
	}
	extra[name] = raw
	i.extra = extra
}

// Without is the issue without fields that Issue does not name; i itself is not changed.
func (i Issue) Without(names ...string) Issue {
	i.extra = maps.Clone(i.extra)
	for _, name := range names {
		delete(i.extra, name)
	}
	return i
}

// EditTexts is the issue with each text in it replaced by what edit makes of it; i itself is not changed. Ids, statuses
// and types of issues stay. A field that Issue does not name stays as it is where edit would leave no JSON.
func (i Issue) EditTexts(edit func(string) string) Issue {
	for _, body := range []*string{&i.Title, &i.Description, &i.Design, &i.AcceptanceCriteria, &i.Notes, &i.CloseReason, &i.Assignee, &i.ClosedBy} {
		*body = edit(*body)
	}
	i.Labels, i.Dependencies, i.extra = slices.Clone(i.Labels), slices.Clone(i.Dependencies), i.extra.edited(edit)
	for n := range i.Labels {
		i.Labels[n] = edit(i.Labels[n])
	}
	for n := range i.Dependencies {
		d := &i.Dependencies[n]
		d.Type, d.CreatedBy, d.Metadata, d.extra = edit(d.Type), edit(d.CreatedBy), edited(d.Metadata, edit), d.extra.edited(edit)
	}
	return i
}

// edited are the fields with their texts edited.
func (f fields) edited(edit func(string) string) fields {
	f = maps.Clone(f)
	for name, raw := range f {
		f[name] = edited(raw, edit)
	}
	return f
}

// edited is a JSON value as edited text, where that is JSON.
func edited(raw json.RawMessage, edit func(string) string) json.RawMessage {
	if text := edit(string(raw)); text != string(raw) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return raw
}

// text is a field that is a string; "" when it is not.
func (f fields) text(name string) string {
	var s string
	if json.Unmarshal(f[name], &s) != nil {
		return ""
	}
	return s
}

// flag is a field that is a bool; false when it is not.
func (f fields) flag(name string) bool {
	var b bool
	return json.Unmarshal(f[name], &b) == nil && b
}

// isUnworkable are the types that bd never offers as work, with those that are
// records of what happened.
func isUnworkable(kind string) bool {
	switch kind {
	case "merge-request", "gate", "molecule", "message", "agent", "role", "rig":
		return true
	}
	return false
}

// Workable reports whether an issue is one that an agent could be given: not of
// a type that only machinery uses, not pinned, not ephemeral, no template.
func Workable(i Issue) bool {
	return !isUnworkable(i.Type) && i.Type != "event" && i.Status != StatusPinned &&
		!i.extra.flag("pinned") && !i.extra.flag("ephemeral") && !i.extra.flag("is_template")
}

// gate is what a waits-for edge waits for: "all-children", "any-children" or "".
func (d Dependency) gate() string {
	raw := []byte(d.Metadata)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		raw = []byte(quoted)
	}
	var m struct {
		Gate string `json:"gate"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m.Gate
}
