package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Session is what is kept of a bound session between its stops.
type Session struct {
	ID               string `json:"session"`             // the client's
	Epic             string `json:"epic"`                // that it is bound to; "" for none
	Blocks           int    `json:"cycles"`              // how often a stop was blocked
	NoProgress       int    `json:"still"`               // in a row, without progress
	Unreadable       int    `json:"unknown"`             // in a row, without a state
	Fingerprint      string `json:"print,omitempty"`     // of the work, at the last stop
	BlocksThisPrompt int    `json:"row,omitempty"`       // how often a stop was blocked for this prompt
	Blocked          bool   `json:"held,omitempty"`      // the last stop was blocked, and it was not released since
	Cancelled        bool   `json:"cancelled,omitempty"` // a person released it
	NewSession       bool   `json:"fresh,omitempty"`     // it asked to go on in a new session
	Ended            bool   `json:"ended,omitempty"`     // its client reported that it is over
	Ending           Ending `json:"ending,omitzero"`     // how it was let go the last time, with work left
}

// Bind is the session that works on an epic from now on. One whose last stop was blocked for the
// same epic keeps its counts: its model cannot reset them by binding it again.
func (s Session) Bind(id, epic string) Session {
	if s.ID == id && s.Epic == epic && s.Blocked && !s.Cancelled {
		return s
	}
	return Session{ID: id, Epic: epic}
}

// Load reads what is kept of a session. ok is false when nothing is. It fails
// with ErrState for what is no regular file, too large, or no session's.
func Load(path, id string) (s Session, ok bool, err error) {
	data, err := ReadState(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Session{}, false, nil
	}
	if err != nil {
		return Session{}, false, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Session{}, false, fmt.Errorf("%s: %w: %w", path, ErrState, err)
	}
	return s, s.ID == id && id != "", nil
}

// Save keeps a session, for this person only.
func Save(path string, s Session) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	return WriteState(path, append(data, '\n'))
}
