package show

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/session"
)

// letGo lists the sessions that the stop hook let go with work of the epic left; none of an epic that is done. What
// cannot be read is left out: the hook itself reports it.
func (p page) letGo() []document.SessionEnding {
	out := []document.SessionEnding{}
	if epic.PromiseOf(p.view.State, p.view.Workspace.Now()).Promise == epic.LoopDone {
		return out
	}
	all, err := session.All(filepath.Dir(p.view.Workspace.Project.Home))
	if err != nil {
		return out
	}
	for _, s := range all {
		if s.Epic == string(p.view.State.Epic) && !s.Ending.IsZero() {
			out = append(out, document.SessionEnding{Session: s.ID, Cause: s.Ending.Cause, Why: s.Ending.Why, At: s.Ending.At})
		}
	}
	return out
}

// letGoText says of each session that was let go why, and what goes on.
func (p page) letGoText(b *strings.Builder, now time.Time) {
	all := p.letGo()
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\nLet go with work left (%d)\n", len(all))
	for _, s := range all[:min(len(all), maxRequestsShown)] {
		fmt.Fprintf(b, "  · session %s, %s ago  [%s] %s\n", text.Clause(s.Session, 64), cli.FormatDuration(now.Sub(s.At)), s.Cause, text.Clause(s.Why, 1000))
	}
	if more := len(all) - maxRequestsShown; more > 0 {
		fmt.Fprintf(b, "  · %d more: orch session list\n", more)
	}
	id := cli.Quote(p.view.State.Epic)
	b.WriteString(nextText(fmt.Sprintf("%-36s   %s\n%-36s   %s", "/run-tasks "+id, "in a session of the client: go on there", "orch run "+id, "go on without one")))
}
