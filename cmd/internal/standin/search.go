package standin

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// has reports whether a text has a part in it, in whichever case.
func has(s, part string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(part)) }

func searchVerb(l *line, f *pflag.FlagSet) func([]string) error {
	var c chosen
	c.add(f, 50)
	f.StringSliceVarP(&c.status, "status", "s", nil, "")
	f.BoolVar(&c.unassigned, "no-assignee", false, "")
	query, about, notes := f.String("query", "", ""), f.String("desc-contains", "", ""), f.String("notes-contains", "", "")
	return func(args []string) error {
		q := cmp.Or(strings.Join(args, " "), *query)
		if q == "" {
			return usage("bd search takes what is looked for")
		}
		x, issues, err := l.index()
		if err != nil {
			return err
		}
		out, from, b := []tracker.Issue{}, dependents(x, tracker.DepBlocks), strings.Builder{}
		issues = slices.Clone(issues)
		slices.SortStableFunc(issues, inOrder)
		for _, i := range issues {
			hidden := len(c.status) == 0 && i.Status.Done() || c.parent != "" && !slices.Contains(x.Children(c.parent), i.ID)
			if !hidden && c.fits(i) && (has(i.Title, q) || has(i.ID, q)) && has(i.Description, *about) && has(i.Notes, *notes) {
				out = append(out, i)
			}
		}
		if c.limit > 0 && len(out) > c.limit {
			out = out[:c.limit]
		}
		if len(out) == 0 {
			return l.print(out, fmt.Sprintf("No issues found matching '%s'\n", text.Clause(q, 200)))
		}
		fmt.Fprintf(&b, "Found %d issues matching '%s':\n", len(out), text.Clause(q, 200))
		for n, i := range out {
			out[n] = counted(x, i, tracker.DepBlocks, from)
			b.WriteString(found(i))
		}
		return l.print(out, b.String())
	}
}

// found is an issue on a line of bd search.
func found(i tracker.Issue) string {
	var who, labels string
	if i.Assignee != "" {
		who = " @" + text.Clause(i.Assignee, 80)
	}
	if len(i.Labels) > 0 {
		labels = " [" + text.Clause(strings.Join(i.Labels, " "), 200) + "]"
	}
	return fmt.Sprintf("%s [P%d] [%s] %s%s%s - %s\n", text.Clause(i.ID, 64), i.Priority, text.Clause(i.Type, 20), i.Status, who, labels, text.Clause(i.Title, 200))
}

// groupings are what bd count groups by: the groups that an issue is in.
func groupings() map[string]func(tracker.Issue) []string {
	return map[string]func(tracker.Issue) []string{
		"by-status":   func(i tracker.Issue) []string { return []string{string(i.Status)} },
		"by-priority": func(i tracker.Issue) []string { return []string{fmt.Sprint("P", i.Priority)} },
		"by-type":     func(i tracker.Issue) []string { return []string{i.Type} },
		"by-assignee": func(i tracker.Issue) []string { return []string{cmp.Or(i.Assignee, "(unassigned)")} },
		"by-label": func(i tracker.Issue) []string {
			if len(i.Labels) == 0 {
				return []string{"(no labels)"}
			}
			return i.Labels
		},
	}
}

func countVerb(l *line, f *pflag.FlagSet) func([]string) error {
	var c chosen
	c.add(f, 0)
	f.StringSliceVarP(&c.status, "status", "s", nil, "")
	f.StringSliceVar(&c.ids, "id", nil, "")
	f.BoolVar(&c.unassigned, "no-assignee", false, "")
	title, more := f.String("title", "", ""), f.String("title-contains", "", "")
	about, notes := f.String("desc-contains", "", ""), f.String("notes-contains", "", "")
	for name := range groupings() {
		f.Bool(name, false, "")
	}
	return func([]string) error {
		var groups []func(tracker.Issue) []string
		f.Visit(func(flag *pflag.Flag) {
			if by, ok := groupings()[flag.Name]; ok {
				groups = append(groups, by)
			}
		})
		if len(groups) > 1 {
			return usage("only one --by-* flag can be specified")
		}
		x, issues, err := l.index()
		if err != nil {
			return err
		}
		out := slices.DeleteFunc(slices.Clone(issues), func(i tracker.Issue) bool {
			return !c.fits(i) || !has(i.Title, *title) || !has(i.Title, *more) || !has(i.Description, *about) || !has(i.Notes, *notes) ||
				c.parent != "" && !slices.Contains(x.Children(c.parent), i.ID)
		})
		if len(groups) == 0 {
			return l.print(map[string]any{"count": len(out), "schema_version": 1}, fmt.Sprintf("%d\n", len(out)))
		}
		return l.groups(out, groups[0])
	}
}

// groups prints how many issues are in each group.
func (l *line) groups(issues []tracker.Issue, by func(tracker.Issue) []string) error {
	n := map[string]int{}
	for _, i := range issues {
		for _, name := range by(i) {
			n[name]++
		}
	}
	type group struct {
		Count int    `json:"count"`
		Group string `json:"group"`
	}
	out, b := []group{}, strings.Builder{}
	fmt.Fprintf(&b, "Total: %d\n\n", len(issues))
	for _, name := range slices.Sorted(maps.Keys(n)) {
		out = append(out, group{n[name], name})
		fmt.Fprintf(&b, "%s: %d\n", text.Clause(name, 80), n[name])
	}
	return l.print(map[string]any{"groups": out, "schema_version": 1, "total": len(issues)}, b.String())
}
