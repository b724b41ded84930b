package stream

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/text"
)

// ClauseRunes is how long a clause for a person is at most.
const ClauseRunes = 160

// Activity is what an agent does now. It is safe for concurrent use; the zero Doing is nothing.
type Activity struct {
	mu   sync.Mutex
	what string
}

// Set says what it does now, in one clause; "" for nothing.
func (d *Activity) Set(what string) {
	what = text.Clause(what, ClauseRunes)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.what = what
}

// Get is what it does now.
func (d *Activity) Get() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.what
}

// toolInput is what the inputs of the clients' own tools say best about a call.
type toolInput struct {
	Command     string `json:"command"`
	FilePath    string `json:"file_path"`
	Path        string `json:"path"`
	Notebook    string `json:"notebook_path"`
	Pattern     string `json:"pattern"`
	URL         string `json:"url"`
	Query       string `json:"query"`
	Skill       string `json:"skill"`
	Description string `json:"description"`
}

// DescribeTool says what a call of a tool does, like "Bash: go test ./..." or "Edit internal/x.go".
// Paths below dir are shortened.
func DescribeTool(name string, input json.RawMessage, dir string) string {
	var in toolInput
	if IgnoreTypeMismatch(json.Unmarshal(input, &in)) != nil {
		in = toolInput{}
	}
	separator := ": "
	what := cmp.Or(in.Command, in.Pattern, in.URL, in.Query, in.Skill, in.Description)
	if path := cmp.Or(in.FilePath, in.Path, in.Notebook); path != "" && in.Command == "" {
		separator, what = " ", relative(path, dir)
	}
	if what == "" {
		separator = ""
	}
	return text.Clause(cmp.Or(name, "tool")+separator+what, ClauseRunes)
}

func relative(path, dir string) string {
	if inner, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "" && inner != "" {
		return inner
	}
	return path
}

// LastBytes is the end of s, not more than limit bytes and no half rune.
func LastBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	s = s[len(s)-limit:]
	for s != "" && s[0]&0xc0 == 0x80 {
		s = s[1:]
	}
	return strings.Clone(s)
}

// IgnoreTypeMismatch makes a field of another type than expected no error: it was left empty. Only
// what is not JSON at all, or no object, is one.
func IgnoreTypeMismatch(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil
	}
	return err
}
