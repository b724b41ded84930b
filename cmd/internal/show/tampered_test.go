package show_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/show"
	"github.com/beadsorch/orch/orchestrator/epic"
)

// TestTamperedText: what was found again and again, or twice at once, is one line, which says so.
func TestTamperedText(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	found := func(second int, changes ...string) epic.Event {
		return epic.Event{At: at.Add(time.Duration(second) * time.Second), Reason: "in attempt 1 of e.1: it", Fact: epic.TamperingFound{Changes: strings.Join(changes, "\n")}}
	}
	require.Empty(t, show.TamperedText(nil, epic.State{}))
	body := show.TamperedText([]epic.Event{found(0, "main was moved", "main was moved"), found(1, "a folder is closed"), found(2, "a folder is closed"), found(3, "a hook")}, epic.State{Epic: "e"})
	require.Contains(t, body, "Tampered with (3)")
	require.Contains(t, body, "  ! main was moved\n      in attempt 1 of e.1, found at 12:00:00, the last of 2 times\n")
	require.Contains(t, body, "  ! a folder is closed\n      in attempt 1 of e.1, found at 12:00:02, the last of 2 times\n")
	require.Contains(t, body, "  ! a hook\n      in attempt 1 of e.1, found at 12:00:03\n")
	var many []epic.Event
	for n := range 15 {
		many = append(many, found(n, fmt.Sprintf("change %d", n)))
	}
	require.Contains(t, show.TamperedText(many, epic.State{Epic: "e"}), "and 5 more")
}
