package beads_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// TestDifferential drives the embedded tracker and the real bd with the same
// random operations, and compares ready work, its order, and all states.
// ORCH_TEST_OPS asks for another number of operations.
func TestDifferential(t *testing.T) {
	t.Parallel()
	bd, run := newBD(t)
	ops := 1000
	if testing.Short() {
		ops = 200
	}
	if n, err := strconv.Atoi(os.Getenv("ORCH_TEST_OPS")); err == nil {
		ops = n
	}
	file := filePlace(t).Tracker.(*beads.File)
	d := &differential{t: t, rnd: rand.New(rand.NewPCG(1, 2)), bd: bd, run: run, file: file}
	d.populate(24)
	const batch = 50 // operations between two comparisons
	for done := 0; done < ops; done += batch {
		var lines strings.Builder
		for range batch {
			lines.WriteString(d.operation())
		}
		d.run(lines.String(), "batch")
		d.compare(done + batch)
	}
}

type differential struct {
	t    *testing.T
	rnd  *rand.Rand
	bd   *beads.BD
	run  func(stdin string, args ...string) string
	file *beads.File
	ids  []string
}

// populate makes the same issues in both: two epics, one in the other, and
// tasks below them.
func (d *differential) populate(n int) {
	var lines strings.Builder
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		id, kind, parent := fmt.Sprintf("t-a.%d", i), "task", "t-a"
		switch i {
		case 0:
			id, kind, parent = "t-a", "epic", ""
		case 1:
			id, kind = "t-a.1", "epic"
		default:
			if i%3 == 0 {
				parent = "t-a.1"
			}
		}
		edge := ""
		if parent != "" {
			edge = fmt.Sprintf(`,"dependencies":[{"issue_id":%q,"depends_on_id":%q,"type":"parent-child"}]`, id, parent)
		}
		fmt.Fprintf(&lines, `{"_type":"issue","id":%q,"title":"issue %d","status":"open","priority":%d,"issue_type":%q,"created_at":%q,"updated_at":%q%s}`+"\n",
			id, i, d.rnd.IntN(5), kind, at.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), at.Format(time.RFC3339), edge)
		d.ids = append(d.ids, id)
	}
	issues, err := beads.ParseJSONL([]byte(lines.String()))
	require.NoError(d.t, err)
	_, _, err = d.file.Import(d.t.Context(), issues)
	require.NoError(d.t, err)
	d.run(lines.String(), "import", "-")
	d.compare(0)
}

// operation does something random to the file, and returns the line that does
// the same to bd; "" when it is not allowed.
func (d *differential) operation() string {
	ctx := d.t.Context()
	a, b := d.ids[2+d.rnd.IntN(len(d.ids)-2)], d.ids[2+d.rnd.IntN(len(d.ids)-2)]
	switch d.rnd.IntN(6) {
	case 0, 1:
		if d.file.AddDependency(ctx, a, b, tracker.DepBlocks) == nil {
			return fmt.Sprintf("dep add %s %s blocks\n", a, b)
		}
	case 2:
		if d.file.RemoveDependency(ctx, a, b) == nil && !strings.HasPrefix(a, b+".") {
			return fmt.Sprintf("dep remove %s %s\n", a, b)
		}
	case 3:
		if d.closed(a) { // bd 1.0.3 finds no issue that its batch has closed already
			return ""
		}
		_, err := d.file.Apply(ctx, "t", []tracker.Change{{ID: a, Kind: tracker.Close, Reason: "done"}})
		require.NoError(d.t, err)
		return fmt.Sprintf("close %s done\n", a)
	default:
		status := []tracker.Status{tracker.StatusOpen, tracker.StatusOpen, tracker.StatusInProgress, tracker.StatusBlocked}[d.rnd.IntN(4)]
		_, err := d.file.Apply(ctx, "t", []tracker.Change{{ID: a, Kind: tracker.SetStatus, Status: status}})
		require.NoError(d.t, err)
		return fmt.Sprintf("update %s status=%s\n", a, status)
	}
	return ""
}

// closed reports whether an issue is.
func (d *differential) closed(id string) bool {
	all, err := d.file.Survey(d.t.Context())
	require.NoError(d.t, err)
	return slices.ContainsFunc(all, func(i tracker.Issue) bool { return i.ID == id && i.Status == tracker.StatusClosed })
}

func (d *differential) compare(after int) {
	ctx := d.t.Context()
	now := time.Now()
	ours, err := d.file.Survey(ctx)
	require.NoError(d.t, err)
	theirs, err := d.bd.Survey(ctx)
	require.NoError(d.t, err)
	states := func(issues []tracker.Issue) map[string]tracker.Status {
		m := map[string]tracker.Status{}
		for _, i := range issues {
			m[i.ID] = i.Status
		}
		return m
	}
	require.Equal(d.t, states(theirs), states(ours), "after %d operations", after)
	x := tracker.NewIndex(ours)
	said, err := beads.Parse(d.t.Context(), []byte(d.run("", "ready", "--limit", "0", "--json")))
	require.NoError(d.t, err)
	require.Equal(d.t, ids(said), ids(x.Ready(tracker.Filter{}, now)), "after %d operations", after)
	require.Equal(d.t, tracker.NewIndex(theirs).Blocked(), x.Blocked(), "after %d operations", after)
}
