package claude

import (
	"cmp"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/harness/stream"
	"github.com/beadsorch/orch/orchestrator/text"
)

// blocksActivity is what the newest block shows the agent doing, or empty.
func blocksActivity(blocks []block, cwd string) string {
	for i := len(blocks) - 1; i >= 0; i-- {
		switch b := blocks[i]; b.Type {
		case "tool_use":
			return stream.DescribeTool(b.Name, b.Input, cwd)
		case "text":
			return "writing"
		case "thinking":
			return "thinking"
		}
	}
	return ""
}

func retryActivity(e event) string {
	why := cmp.Or(e.Word, "no answer")
	if e.status() != 0 {
		why = fmt.Sprintf("%d %s", e.status(), why)
	}
	return text.Clause(fmt.Sprintf("waiting for the API (%s), retry %d of %d", why, e.Attempt, e.Max), stream.ClauseRunes)
}
