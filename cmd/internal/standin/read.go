package standin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// chosen narrows which issues are given.
type chosen struct {
	parent, kind, assignee, priority string
	status, labels, without, ids     []string
	unassigned                       bool
	limit                            int
}

func (c *chosen) add(f *pflag.FlagSet, limit int) {
	f.StringVar(&c.parent, "parent", "", "")
	f.StringVarP(&c.kind, "type", "t", "", "")
	f.StringVarP(&c.assignee, "assignee", "a", "", "")
	f.StringVarP(&c.priority, "priority", "p", "", "")
	f.StringSliceVarP(&c.labels, "label", "l", nil, "")
	f.StringSliceVar(&c.without, "exclude-type", nil, "")
	f.IntVarP(&c.limit, "limit", "n", limit, "")
	for _, layout := range []string{"pretty", "plain", "tree", "flat", "long"} {
		f.Bool(layout, false, "")
	}
}

func (c *chosen) fits(i tracker.Issue) bool {
	return (c.kind == "" || i.Type == c.kind) && (c.assignee == "" || i.Assignee == c.assignee) && (!c.unassigned || i.Assignee == "") &&
		(c.priority == "" || strconv.Itoa(i.Priority) == strings.TrimPrefix(strings.ToUpper(c.priority), "P")) && !slices.Contains(c.without, i.Type) &&
		!slices.ContainsFunc(c.labels, func(label string) bool { return !slices.Contains(i.Labels, label) }) &&
		(len(c.ids) == 0 || slices.Contains(c.ids, i.ID)) && (len(c.status) == 0 || slices.Contains(c.status, string(i.Status)) || slices.Contains(c.status, "all"))
}

// cut gives the first of issues, and says on standard error that there are more.
func (l *line) cut(issues []tracker.Issue, limit int) []tracker.Issue {
	if limit <= 0 || len(issues) <= limit {
		return issues
	}
	fmt.Fprintf(&l.err, "Showing %d of %d issues. Use --limit 0 for all, or --limit N to raise the cap.\n", limit, len(issues))
	return issues[:limit]
}

func listVerb(l *line, f *pflag.FlagSet) func([]string) error {
	var c chosen
	c.add(f, 50)
	f.StringSliceVarP(&c.status, "status", "s", nil, "")
	f.StringSliceVar(&c.ids, "id", nil, "")
	all := f.Bool("all", false, "")
	ready := f.Bool("ready", false, "")
	f.BoolVar(&c.unassigned, "no-assignee", false, "")
	for _, kind := range []string{"include-gates", "include-templates", "include-infra"} {
		f.Bool(kind, false, "")
	}
	return func(args []string) error {
		if len(args) > 0 {
			return usage("bd list takes no argument")
		}
		x, issues, err := l.index()
		if err != nil {
			return err
		}
		if *ready {
			issues = x.Ready(tracker.Filter{Parent: c.parent}, l.Now())
		}
		out := []tracker.Issue{}
		for _, i := range issues {
			hidden := !*all && len(c.status) == 0 && i.Status.Done() || !tracker.Workable(i) && len(c.ids) == 0 && !(i.Status == tracker.StatusPinned)
			if !hidden && c.fits(i) && (c.parent == "" || *ready || slices.Contains(x.Children(c.parent), i.ID)) {
				out = append(out, i)
			}
		}
		slices.SortStableFunc(out, inOrder)
		if !*all {
			out = l.cut(out, c.limit)
		}
		return l.issues(x, out)
	}
}

// inOrder is that of bd list.
func inOrder(a, b tracker.Issue) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.CreatedAt.Truncate(time.Second).Compare(a.CreatedAt.Truncate(time.Second)), strings.Compare(a.ID, b.ID))
}

func readyVerb(l *line, f *pflag.FlagSet) func([]string) error {
	var c chosen
	c.add(f, 100)
	f.BoolVarP(&c.unassigned, "unassigned", "u", false, "")
	f.StringP("sort", "s", "priority", "")
	claim := f.Bool("claim", false, "")
	return func(args []string) error {
		if *claim {
			return l.refuse("claim")
		}
		x, _, err := l.index()
		if err != nil {
			return err
		}
		out := slices.DeleteFunc(x.Ready(tracker.Filter{Parent: c.parent}, l.Now()), func(i tracker.Issue) bool { return !c.fits(i) })
		return l.issues(x, l.cut(out, c.limit))
	}
}

func childrenVerb(l *line, f *pflag.FlagSet) func([]string) error {
	f.Bool("pretty", false, "")
	return func(args []string) error {
		if len(args) != 1 {
			return usage("bd children takes an id")
		}
		x, issues, err := l.index()
		if err != nil {
			return err
		}
		kids := x.Children(args[0])
		out := slices.DeleteFunc(slices.Clone(issues), func(i tracker.Issue) bool { return !slices.Contains(kids, i.ID) })
		slices.SortStableFunc(out, inOrder)
		return l.issues(x, out)
	}
}

// issues prints issues as bd list does.
func (l *line) issues(x *tracker.Index, issues []tracker.Issue) error {
	out, from := make([]tracker.Issue, 0, len(issues)), dependents(x, tracker.DepBlocks)
	var b strings.Builder
	for _, i := range issues {
		out = append(out, counted(x, i, tracker.DepBlocks, from))
		b.WriteString(head(i))
	}
	return l.print(out, b.String())
}

// head is an issue on a line.
func head(i tracker.Issue) string {
	return fmt.Sprintf("%s  [%s] P%d %s  %s\n", text.Clause(i.ID, 64), i.Status, i.Priority, text.Clause(i.Type, 20), text.Clause(i.Title, 200))
}

// dependents counts the edges of a type, or "" of all, to each issue.
func dependents(x *tracker.Index, kind string) map[string]int {
	from := map[string]int{}
	for _, other := range x.All() {
		for _, d := range other.Dependencies {
			if kind == "" || d.Type == kind {
				from[d.DependsOnID]++
			}
		}
	}
	return from
}

// counted is an issue with the fields that bd computes: its parent, and how many edges there are, of one type or "" of all. Of
// an issue that has them they stay, but for those of other types. from is what [dependents] gives.
func counted(x *tracker.Index, i tracker.Issue, kind string, from map[string]int) tracker.Issue {
	of := func(d tracker.Dependency) bool { return kind == "" || d.Type == kind }
	to := 0
	for _, d := range i.Dependencies {
		if of(d) {
			to++
		}
	}
	if parent, ok := x.Parent(i.ID); ok {
		i.Keep("parent", parent)
	}
	i.Keep("dependency_count", to)
	i.Keep("dependent_count", from[i.ID])
	if comments, err := i.Comments(); err == nil && !i.Has("comment_count") {
		i.Keep("comment_count", len(comments))
	}
	return i.Without("comments", "_type")
}

// edged is an issue as bd shows it at the other end of an edge.
func edged(i tracker.Issue, kind string) (d tracker.Dependency, err error) {
	i.Dependencies = nil
	i = i.Without("comments", "_type", "parent", "dependency_count", "dependent_count", "comment_count")
	i.Keep("dependency_type", kind)
	raw, err := i.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	return d, err
}

func showVerb(l *line, f *pflag.FlagSet) func([]string) error {
	more := f.StringArray("id", nil, "")
	comments := f.Bool("include-comments", false, "")
	for _, name := range []string{"include-dependents", "short", "long", "local-time"} {
		f.Bool(name, false, "")
	}
	return func(args []string) error {
		args = append(args, *more...)
		if len(args) == 0 {
			args = []string{l.Task}
		}
		x, _, err := l.index()
		if err != nil {
			return err
		}
		var out []tracker.Issue
		var b strings.Builder
		for _, id := range args {
			i, ok := x.Issue(id)
			if !ok {
				fmt.Fprintf(&l.err, "Error fetching %s: no issue found matching %q\n", text.Clause(id, 80), text.Clause(id, 80))
				continue
			}
			shown, err := l.shown(x, i, *comments)
			if err != nil {
				return err
			}
			out = append(out, shown)
			b.WriteString(l.whole(x, i))
		}
		if len(out) == 0 {
			return &refusal{code: notFound, what: "no issues found matching the provided IDs", hint: []string{"bd list --all"}}
		}
		return l.print(out, b.String())
	}
}

// shown is an issue as bd show has it.
func (l *line) shown(x *tracker.Index, i tracker.Issue, comments bool) (tracker.Issue, error) {
	out := counted(x, i, "", dependents(x, ""))
	out.Dependencies = nil
	for _, d := range i.Dependencies {
		if target, ok := x.Issue(d.DependsOnID); ok {
			e, err := edged(target, d.Type)
			if err != nil {
				return out, err
			}
			out.Dependencies = append(out.Dependencies, e)
		}
	}
	if comments {
		all, err := l.Tracker.Comments(l.ctx, i.ID)
		if err != nil {
			return out, err
		}
		out.Keep("comments", all)
	}
	return out, nil
}

// whole is an issue as text.
func (l *line) whole(x *tracker.Index, i tracker.Issue) string {
	var b strings.Builder
	b.WriteString(head(i))
	for _, part := range [][2]string{{"DESCRIPTION", i.Description}, {"DESIGN", i.Design}, {"ACCEPTANCE CRITERIA", i.AcceptanceCriteria}, {"NOTES", i.Notes}, {"ASSIGNEE", i.Assignee}, {"LABELS", strings.Join(i.Labels, ", ")}, {"CLOSED", i.CloseReason}} {
		if part[1] != "" {
			fmt.Fprintf(&b, "\n%s\n  %s\n", part[0], strings.ReplaceAll(strings.TrimSpace(text.Clean(part[1])), "\n", "\n  "))
		}
	}
	for _, d := range i.Dependencies {
		if target, ok := x.Issue(d.DependsOnID); ok {
			fmt.Fprintf(&b, "\n%s %s", text.Clause(d.Type, 40), strings.TrimSpace(head(target)))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func blockedVerb(l *line, f *pflag.FlagSet) func([]string) error {
	parent := f.String("parent", "", "")
	return func([]string) error {
		x, issues, err := l.index()
		if err != nil {
			return err
		}
		by, out := x.Blocked(), []tracker.Issue{}
		var b strings.Builder
		issues = slices.Clone(issues)
		slices.SortStableFunc(issues, inOrder)
		for _, i := range issues {
			if len(by[i.ID]) == 0 || *parent != "" && !slices.Contains(x.Children(*parent), i.ID) {
				continue
			}
			i.Dependencies = nil
			i = i.Without("comments", "_type", "parent", "dependency_count", "dependent_count", "comment_count")
			i.Keep("blocked_by_count", len(by[i.ID]))
			i.Keep("blocked_by", by[i.ID])
			out = append(out, i)
			fmt.Fprintf(&b, "%s  blocked by %s\n", strings.TrimSpace(head(i)), strings.Join(by[i.ID], ", "))
		}
		return l.print(out, b.String())
	}
}

func depVerb(l *line, f *pflag.FlagSet) func([]string) error {
	f.StringP("type", "t", "", "")
	return func(args []string) error {
		if len(args) == 0 {
			return usage("bd dep list ID, bd dep tree ID or bd dep cycles")
		}
		x, _, err := l.index()
		switch {
		case err != nil:
			return err
		case args[0] == "cycles":
			cycles := x.Cycles()
			if cycles == nil {
				cycles = [][]string{}
			}
			return l.print(cycles, fmt.Sprintf("%d cycles\n", len(cycles)))
		case args[0] != "list" && args[0] != "tree":
			return l.refuse("dep " + args[0])
		case len(args) != 2:
			return usage("bd dep %s takes an id", args[0])
		}
		i, ok := x.Issue(args[1])
		if !ok {
			return &refusal{code: notFound, what: fmt.Sprintf("no issue found matching %q", text.Clause(args[1], 80)), hint: []string{"bd list --all"}}
		}
		if args[0] == "tree" {
			return l.tree(x, i)
		}
		out, b := []tracker.Dependency{}, strings.Builder{}
		for _, d := range i.Dependencies {
			if target, ok := x.Issue(d.DependsOnID); ok {
				e, err := edged(target, d.Type)
				if err != nil {
					return err
				}
				out = append(out, e)
				fmt.Fprintf(&b, "%s %s", text.Clause(d.Type, 40), head(target))
			}
		}
		return l.print(out, b.String())
	}
}

// maxDepth bounds a tree.
const maxDepth = 50

// tree prints what an issue waits for, and what that does; each issue once.
func (l *line) tree(x *tracker.Index, top tracker.Issue) error {
	out, seen, b := []tracker.Issue{}, map[string]bool{}, strings.Builder{}
	var visit func(i tracker.Issue, parent, edge string, depth int)
	visit = func(i tracker.Issue, parent, edge string, depth int) {
		if seen[i.ID] || depth > maxDepth {
			return
		}
		seen[i.ID] = true
		bare := i
		bare.Dependencies = nil
		bare = bare.Without("comments", "_type", "parent", "dependency_count", "dependent_count", "comment_count")
		bare.Keep("depth", depth)
		bare.Keep("parent_id", parent)
		if edge != "" {
			bare.Keep("edge_from_parent", edge)
		}
		bare.Keep("truncated", depth == maxDepth)
		out = append(out, bare)
		b.WriteString(strings.Repeat("  ", depth) + head(i))
		for _, d := range i.Dependencies {
			if target, ok := x.Issue(d.DependsOnID); ok {
				visit(target, i.ID, d.Type, depth+1)
			}
		}
	}
	visit(top, "", "", 0)
	return l.print(out, b.String())
}

func statusVerb(l *line, _ *pflag.FlagSet) func([]string) error {
	return func([]string) error {
		x, issues, err := l.index()
		if err != nil {
			return err
		}
		n := map[tracker.Status]int{}
		for _, i := range issues {
			n[i.Status]++
		}
		ready, blocked := len(x.Ready(tracker.Filter{}, l.Now())), len(x.Blocked())
		type summary struct {
			Blocked    int `json:"blocked_issues"`
			Closed     int `json:"closed_issues"`
			Deferred   int `json:"deferred_issues"`
			InProgress int `json:"in_progress_issues"`
			Open       int `json:"open_issues"`
			Pinned     int `json:"pinned_issues"`
			Ready      int `json:"ready_issues"`
			Total      int `json:"total_issues"`
		}
		s := summary{blocked, n[tracker.StatusClosed], n[tracker.StatusDeferred], n[tracker.StatusInProgress], n[tracker.StatusOpen], n[tracker.StatusPinned], ready, len(issues)}
		return l.print(map[string]any{"schema_version": 1, "summary": s}, fmt.Sprintf("%d issues: %d open, %d in progress, %d closed; %d ready, %d blocked\n", s.Total, s.Open, s.InProgress, s.Closed, s.Ready, s.Blocked))
	}
}

func commentsVerb(l *line, f *pflag.FlagSet) func([]string) error {
	f.String("author", "", "")
	f.Bool("local-time", false, "")
	stdin := f.Bool("stdin", false, "")
	file := f.StringP("file", "f", "", "")
	return func(args []string) error {
		if len(args) > 1 && args[0] == "add" {
			return l.comment(args[1], strings.Join(args[2:], " "), *stdin, *file)
		}
		if len(args) != 1 {
			return usage("bd comments ID, or bd comments add ID TEXT")
		}
		all, err := l.Tracker.Comments(l.ctx, args[0])
		if errors.Is(err, tracker.ErrNotFound) {
			return &refusal{code: notFound, what: fmt.Sprintf("no issue found matching %q", text.Clause(args[0], 80)), hint: []string{"bd list --all"}}
		}
		if err != nil {
			return err
		}
		if all == nil {
			all = []tracker.CommentRecord{}
		}
		var b strings.Builder
		for _, c := range all {
			fmt.Fprintf(&b, "%s  %s\n  %s\n", c.CreatedAt.UTC().Format(time.RFC3339), text.Clause(c.Author, 80), strings.ReplaceAll(strings.TrimSpace(text.Clean(c.Text)), "\n", "\n  "))
		}
		return l.print(all, b.String())
	}
}
