package show

import (
	"fmt"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/text"
)

// keptText names what is kept for a person, with the command that shows each; "" for nothing.
func (p page) keptText() string {
	kept := p.view.Kept()
	if len(kept) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nKept for you (%d)\n", len(kept))
	for _, k := range kept {
		fmt.Fprintf(&b, "  ! %s: %s\n      next  %-36s   %s\n", text.Clause(k.Path, 1000), text.Clause(k.Why, 400), "ls -A "+cli.Quote(k.Path), "take what you need; then rm -r "+cli.Quote(k.Path))
	}
	return b.String()
}
