package tracker

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Index is a whole tracker as it was read at one moment, with its relations. It
// does not change.
type Index struct {
	issues   []Issue
	at       map[string]int      // id to place in issues
	children map[string][]string // over parent-child edges, in order
	blocked  map[string]bool
}

// NewIndex relates issues to each other. When an id comes twice the last counts.
func NewIndex(issues []Issue) *Index {
	x := &Index{at: make(map[string]int, len(issues)), children: map[string][]string{}}
	for _, i := range issues {
		if n, twice := x.at[i.ID]; twice {
			x.issues[n] = i
			continue
		}
		x.at[i.ID] = len(x.issues)
		x.issues = append(x.issues, i)
	}
	for _, i := range x.issues {
		for _, p := range parentIDs(i) {
			if !slices.Contains(x.children[p], i.ID) {
				x.children[p] = append(x.children[p], i.ID)
			}
		}
	}
	x.blocked = x.findBlocked()
	return x
}

func parentIDs(i Issue) (ids []string) {
	for _, d := range i.Dependencies {
		if d.Type == DepParent {
			ids = append(ids, d.DependsOnID)
		}
	}
	return ids
}

// Issue returns the one with the id.
func (x *Index) Issue(id string) (Issue, bool) {
	n, ok := x.at[id]
	if !ok {
		return Issue{}, false
	}
	return x.issues[n], true
}

// All are the issues, each once; they are not to be changed.
func (x *Index) All() []Issue { return x.issues }

// Children returns the ids of those that have id as their parent.
func (x *Index) Children(id string) []string { return slices.Clone(x.children[id]) }

// Parent returns the first parent of an issue: by its edge, or, where it has no
// parent edge at all, the issue whose id its own id extends.
func (x *Index) Parent(id string) (string, bool) {
	i, ok := x.Issue(id)
	if !ok {
		return "", false
	}
	if ps := parentIDs(i); len(ps) > 0 {
		return ps[0], true
	}
	for n := strings.LastIndexByte(id, '.'); n > 0; n = strings.LastIndexByte(id[:n], '.') {
		if _, ok := x.at[id[:n]]; ok {
			return id[:n], true
		}
	}
	return "", false
}

// Descendants returns the ids of all below an epic, sorted, the epic left out:
// over parent-child edges, and, for issues that have no such edge, by id.
func (x *Index) Descendants(epic string) []string {
	found := map[string]bool{epic: true}
	next := []string{epic}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		for _, c := range x.children[id] {
			if !found[c] {
				found[c] = true
				next = append(next, c)
			}
		}
	}
	for _, i := range x.issues {
		if strings.HasPrefix(i.ID, epic+".") && len(parentIDs(i)) == 0 {
			found[i.ID] = true
		}
	}
	delete(found, epic)
	return slices.Sorted(maps.Keys(found))
}

// Blockers says what must be done before id can be ready: one of each row. Rows
// that the issue inherits from its parents are included. What a row names exists;
// a target that the tracker does not have never blocks.
func (x *Index) Blockers(id string) [][]string {
	var rows [][]string
	seen := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		i, ok := x.Issue(id)
		if !ok || seen[id] {
			return
		}
		seen[id] = true
		for _, d := range i.Dependencies {
			rows = append(rows, x.rowsOf(d)...)
		}
		for _, p := range parentIDs(i) {
			if parent, _ := x.Issue(p); !parent.Status.Done() { // a closed parent passes nothing on
				visit(p)
			}
		}
	}
	visit(id)
	return rows
}

// rowsOf is what one edge waits for.
func (x *Index) rowsOf(d Dependency) (rows [][]string) {
	switch d.Type {
	case DepBlocks, DepConditional:
		if _, ok := x.at[d.DependsOnID]; ok {
			rows = append(rows, []string{d.DependsOnID})
		}
	case DepWaitsFor:
		kids := x.children[d.DependsOnID]
		if d.gate() == "all-children" {
			for _, k := range kids {
				rows = append(rows, []string{k})
			}
			return rows
		}
		var row []string // any of them; a pinned one is done, but does not open the gate
		for _, k := range kids {
			if i, _ := x.Issue(k); i.Status != StatusPinned {
				row = append(row, k)
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// direct reports whether an edge of the issue itself blocks it. An edge of type
// waits-for without a gate is open as soon as one child is closed: what bd 1.0.5
// does, not what its manual says.
func (x *Index) direct(i Issue) bool {
	for _, d := range i.Dependencies {
		switch d.Type {
		case DepBlocks, DepConditional:
			if t, ok := x.Issue(d.DependsOnID); ok && !t.Status.Done() {
				return true
			}
		case DepWaitsFor:
			if x.gateHolds(d) {
				return true
			}
		}
	}
	return false
}

func (x *Index) gateHolds(d Dependency) bool {
	open, closed := false, false
	for _, k := range x.children[d.DependsOnID] {
		kid, _ := x.Issue(k)
		open = open || !kid.Status.Done()
		closed = closed || kid.Status == StatusClosed
	}
	gate := d.gate()
	return open && !(closed && (gate == "" || gate == "any-children"))
}

// findBlocked spreads blocking from parents to children.
func (x *Index) findBlocked() map[string]bool {
	blocked := map[string]bool{}
	var next []string
	mark := func(id string) {
		i, ok := x.Issue(id)
		if ok && !i.Status.Done() && !blocked[id] {
			blocked[id] = true
			next = append(next, id)
		}
	}
	for _, i := range x.issues {
		if x.direct(i) {
			mark(i.ID)
		}
	}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		for _, c := range x.children[id] {
			mark(c)
		}
	}
	return blocked
}

// Filter narrows what Ready returns. Its zero value narrows nothing.
type Filter struct {
	Parent string // only descendants of this issue
	Sort   string // "priority" (the default), "oldest" or "hybrid"
	Limit  int    // 0: none
}

// Ready returns the issues that bd would offer as work, in bd's order. The rules
// were found by driving bd 1.0.5 with random operations and comparing after each;
// they differ from its manual where the program does.
func (x *Index) Ready(f Filter, now time.Time) []Issue {
	var below map[string]bool
	if f.Parent != "" {
		below = map[string]bool{}
		for _, id := range x.Descendants(f.Parent) {
			below[id] = true
		}
	}
	out := []Issue{}
	for _, i := range x.issues {
		if x.ready(i, now) && (below == nil || below[i.ID]) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, comparer(f.Sort, now))
	if f.Limit > 0 && len(out) > f.Limit {
		out = out[:f.Limit]
	}
	return out
}

func (x *Index) ready(i Issue, now time.Time) bool {
	if i.Status != StatusOpen || i.extra.flag("pinned") || i.extra.flag("ephemeral") || x.blocked[i.ID] || isUnworkable(i.Type) {
		return false
	}
	if i.DeferUntil != nil && i.DeferUntil.After(now) {
		return false
	}
	for _, p := range parentIDs(i) { // one level only, as bd has it
		if parent, ok := x.Issue(p); ok && parent.DeferUntil != nil && parent.DeferUntil.After(now) {
			return false
		}
	}
	return true
}

// fresh is how young an issue is for the hybrid order to sort it by priority.
const fresh = 48 * time.Hour

func comparer(by string, now time.Time) func(a, b Issue) int {
	created := func(i Issue) int64 { return i.CreatedAt.Unix() }
	byID := func(a, b Issue) int { return strings.Compare(a.ID, b.ID) }
	oldest := func(a, b Issue) int {
		if d := created(a) - created(b); d != 0 {
			return int(max(-1, min(1, d)))
		}
		return byID(a, b)
	}
	switch by {
	case "oldest":
		return oldest
	case "hybrid":
		return func(a, b Issue) int {
			na, nb := now.Sub(a.CreatedAt) < fresh, now.Sub(b.CreatedAt) < fresh
			switch {
			case na != nb && na:
				return -1
			case na != nb:
				return 1
			case na && a.Priority != b.Priority:
				return a.Priority - b.Priority
			}
			return oldest(a, b)
		}
	}
	return func(a, b Issue) int {
		if a.Priority != b.Priority {
			return a.Priority - b.Priority
		}
		if d := created(b) - created(a); d != 0 {
			return int(max(-1, min(1, d)))
		}
		return byID(a, b)
	}
}

// Blocked returns, as bd does, what keeps an issue from being ready: its own
// blockers that are not done, else its parent. An issue that only waits for
// another's children is blocked, but has no row, since bd names nothing for it.
func (x *Index) Blocked() map[string][]string {
	out := map[string][]string{}
	for _, i := range x.issues {
		if !x.blocked[i.ID] {
			continue
		}
		var by []string
		for _, d := range i.Dependencies {
			if d.Type != DepBlocks && d.Type != DepConditional && d.Type != DepWaitsFor {
				continue
			}
			if t, ok := x.Issue(d.DependsOnID); ok && !t.Status.Done() && !slices.Contains(by, d.DependsOnID) {
				by = append(by, d.DependsOnID)
			}
		}
		if len(by) == 0 {
			by = parentIDs(i)
		}
		if len(by) > 0 {
			slices.Sort(by)
			out[i.ID] = by
		}
	}
	return out
}

// Cycles returns the groups of open issues that block each other in a circle,
// each sorted, in order of their first id.
func (x *Index) Cycles() [][]string {
	edges := map[string][]string{}
	for _, i := range x.issues {
		if i.Status.Done() {
			continue
		}
		for _, row := range x.Blockers(i.ID) {
			for _, id := range row {
				if t, _ := x.Issue(id); !t.Status.Done() {
					edges[i.ID] = append(edges[i.ID], id)
				}
			}
		}
	}
	var out [][]string
	for _, group := range components(x.issues, edges) {
		if len(group) > 1 || slices.Contains(edges[group[0]], group[0]) {
			slices.Sort(group)
			out = append(out, group)
		}
	}
	slices.SortFunc(out, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// components finds the strongly connected ones (Tarjan, 1972).
func components(issues []Issue, edges map[string][]string) (groups [][]string) {
	low, order := map[string]int{}, map[string]int{}
	var stack []string
	on := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		order[id] = len(order) + 1
		low[id] = order[id]
		stack, on[id] = append(stack, id), true
		for _, to := range edges[id] {
			if order[to] == 0 {
				visit(to)
				low[id] = min(low[id], low[to])
			} else if on[to] {
				low[id] = min(low[id], order[to])
			}
		}
		if low[id] != order[id] {
			return
		}
		n := slices.Index(stack, id)
		group := slices.Clone(stack[n:])
		stack = stack[:n]
		for _, m := range group {
			on[m] = false
		}
		groups = append(groups, group)
	}
	for _, i := range issues {
		if order[i.ID] == 0 {
			visit(i.ID)
		}
	}
	return groups
}
