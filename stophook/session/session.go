package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Session is what is kept of a bound session between its stops.
type Session struct {
	ID        string `json:"session"`             // the client's
	Epic      string `json:"epic"`                // that it is bound to; "" none
	Cycles    int    `json:"cycles"`              // times that it was sent back to work
	Still     int    `json:"still"`               // in a row, without progress
	Unknown   int    `json:"unknown"`             // in a row, without a state
	Print     string `json:"print,omitempty"`     // of the work at the last stop
	Row       int    `json:"row,omitempty"`       // times that it was sent back for this prompt
	Held      bool   `json:"held,omitempty"`      // sent back the last time, and not let go since
	Cancelled bool   `json:"cancelled,omitempty"` // a person let it go
	Fresh     bool   `json:"fresh,omitempty"`     // it asked for a fresh session
	Ended     bool   `json:"ended,omitempty"`     // its client said that it is over
}

// Bind is the session that works on an epic from now on. One that is being sent back to the
// same epic keeps its counts: its model cannot begin them anew by binding it again.
func (s Session) Bind(id, epic string) Session {
	if s.ID == id && s.Epic == epic && s.Held && !s.Cancelled {
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
