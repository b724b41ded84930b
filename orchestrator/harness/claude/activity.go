package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/harness"
)

const clauseRunes = 160

// activity is what the agent does now. It is safe for concurrent use.
type activity struct {
	mu   sync.Mutex
	what string
}

func (a *activity) set(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.what = what
}

func (a *activity) get() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.what
}

// toolInput is what the inputs of the client's own tools say best about a call.
type toolInput struct {
	Command     string `json:"command"`
	FilePath    string `json:"file_path"`
	Notebook    string `json:"notebook_path"`
	Pattern     string `json:"pattern"`
	URL         string `json:"url"`
	Query       string `json:"query"`
	Skill       string `json:"skill"`
	Description string `json:"description"`
}

// blocksActivity is what the newest block shows the agent doing, or empty.
func blocksActivity(blocks []block, cwd string) string {
	for i := len(blocks) - 1; i >= 0; i-- {
		switch b := blocks[i]; b.Type {
		case "tool_use":
			return toolActivity(b, cwd)
		case "text":
			return "writing"
		case "thinking":
			return "thinking"
		}
	}
	return ""
}

// toolActivity is like "Bash: go test ./..." or "Edit internal/x.go".
func toolActivity(b block, cwd string) string {
	var in toolInput
	if err := tolerate(json.Unmarshal(b.Input, &in)); err != nil {
		in = toolInput{}
	}
	separator := ": "
	what := first(in.Command, in.Pattern, in.URL, in.Query, in.Skill, in.Description)
	if path := first(in.FilePath, in.Notebook); path != "" {
		separator, what = " ", relative(path, cwd)
	}
	if what == "" {
		separator = ""
	}
	return harness.Clause(first(b.Name, "tool")+separator+what, clauseRunes)
}

func retryActivity(e event) string {
	why := first(e.Word, "no answer")
	if e.status() != 0 {
		why = fmt.Sprintf("%d %s", e.status(), why)
	}
	return harness.Clause(fmt.Sprintf("waiting for the API (%s), retry %d of %d", why, e.Attempt, e.Max), clauseRunes)
}

// first is the first of the texts that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func relative(path, dir string) string {
	if inner, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "" && inner != "" {
		return inner
	}
	return path
}
