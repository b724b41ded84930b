package beads

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// What people do to the embedded tracker by hand. The rules are bd's.

// Create adds an issue below parent, or below none for "". It fails with
// ErrRefused when a field is not allowed or the id is taken, and with
// ErrNotFound when there is no such parent.
func (f *File) Create(ctx context.Context, i tracker.Issue, parent string) (made tracker.Issue, err error) {
	err = f.change(ctx, func(tx *transaction) error {
		id, err := tx.create(i, parent, f.opt.Actor)
		if err != nil {
			return err
		}
		made = *tx.records[tx.at[id]].issue
		return nil
	})
	return made, err
}

// Update changes the fields of an issue. Its id stays. It fails with ErrNotFound,
// with ErrRefused when a field is not allowed, and with what edit returns.
func (f *File) Update(ctx context.Context, id string, edit func(*tracker.Issue) error) (made tracker.Issue, err error) {
	err = f.change(ctx, func(tx *transaction) error {
		i, err := tx.issue(id)
		if err != nil {
			return err
		}
		was := *i
		if err := edit(i); err != nil {
			return err
		}
		i.ID, i.UpdatedAt = was.ID, tx.now
		if err := validate(*i); err != nil {
			return err
		}
		if i.Status != was.Status {
			who := i.Assignee
			if i.Status == tracker.StatusClosed {
				return fmt.Errorf("a status cannot be set to closed; close it: %w", tracker.ErrRefused)
			}
			tx.status(i, i.Status)
			i.Assignee = who
		}
		made = *i
		return nil
	})
	return made, err
}

// CloseIssue closes an issue as a person does: one that is blocked, and an epic
// with open children, are refused (ErrRefused) unless force is set.
func (f *File) CloseIssue(ctx context.Context, id, reason string, force bool) error {
	return f.change(ctx, func(tx *transaction) error {
		i, err := tx.issue(id)
		if err != nil {
			return err
		}
		if err := tx.mayClose(i); err != nil && !force {
			return err
		}
		tx.close(i, reason)
		i.ClosedBy = f.opt.Actor
		return nil
	})
}

func (tx *transaction) mayClose(i *tracker.Issue) error {
	x := tx.index()
	var open []string
	for _, d := range i.Dependencies {
		if t, ok := x.Issue(d.DependsOnID); ok && d.Type == tracker.DepBlocks && !t.Status.Done() {
			open = append(open, d.DependsOnID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%s is blocked by open issues %s: %w", i.ID, strings.Join(open, ", "), tracker.ErrRefused)
	}
	for _, c := range x.Children(i.ID) {
		if kid, _ := x.Issue(c); i.Type == tracker.TypeEpic && !kid.Status.Done() {
			open = append(open, c)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("epic %s has open children %s: %w", i.ID, strings.Join(open, ", "), tracker.ErrRefused)
	}
	return nil
}

// AddDependency makes from depend on to. It fails with ErrNotFound, and with
// ErrRefused for a circle, an issue and itself, and an epic that blocks a task or
// the other way round.
func (f *File) AddDependency(ctx context.Context, from, to, kind string) error {
	return f.change(ctx, func(tx *transaction) error {
		i, err := tx.issue(from)
		if err != nil {
			return err
		}
		target, err := tx.issue(to)
		if err != nil {
			return err
		}
		if err := tx.mayDepend(i, target, kind); err != nil {
			return err
		}
		for _, d := range i.Dependencies {
			if d.DependsOnID == to && d.Type == kind {
				return nil
			}
			if d.DependsOnID == to {
				return fmt.Errorf("%s depends on %s already (%s): %w", from, to, d.Type, tracker.ErrRefused)
			}
		}
		i.Dependencies = append(i.Dependencies, tracker.Dependency{IssueID: from, DependsOnID: to, Type: kind, CreatedAt: tx.now})
		i.UpdatedAt = tx.now
		return nil
	})
}

func (tx *transaction) mayDepend(i, target *tracker.Issue, kind string) error {
	if i.ID == target.ID {
		return fmt.Errorf("%s cannot depend on itself: %w", i.ID, tracker.ErrRefused)
	}
	blocking := kind == tracker.DepBlocks || kind == tracker.DepConditional
	if blocking && (i.Type == tracker.TypeEpic) != (target.Type == tracker.TypeEpic) {
		return fmt.Errorf("epics block only epics, and tasks only tasks: %w", tracker.ErrRefused)
	}
	if (blocking || kind == tracker.DepWaitsFor || kind == tracker.DepParent) && tx.reaches(target.ID, i.ID) {
		return fmt.Errorf("%s depends on %s already, this would be a circle: %w", target.ID, i.ID, tracker.ErrRefused)
	}
	return nil
}

// reaches reports whether from depends on to, over any number of edges that
// block or contain.
func (tx *transaction) reaches(from, to string) bool {
	seen := map[string]bool{}
	next := []string{from}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if id == to {
			return true
		}
		i, err := tx.issue(id)
		if err != nil || seen[id] {
			continue
		}
		seen[id] = true
		for _, d := range i.Dependencies {
			if slices.Contains([]string{tracker.DepBlocks, tracker.DepConditional, tracker.DepWaitsFor, tracker.DepParent}, d.Type) {
				next = append(next, d.DependsOnID)
			}
		}
	}
	return false
}

// RemoveDependency takes every edge from one issue to another away. It fails with
// ErrNotFound when there is none.
func (f *File) RemoveDependency(ctx context.Context, from, to string) error {
	return f.change(ctx, func(tx *transaction) error {
		i, err := tx.issue(from)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(i.Dependencies), func(d tracker.Dependency) bool { return d.DependsOnID == to })
		if len(left) == len(i.Dependencies) {
			return fmt.Errorf("%s does not depend on %s: %w", from, to, tracker.ErrNotFound)
		}
		i.Dependencies, i.UpdatedAt = left, tx.now
		return nil
	})
}

// Import takes issues in: those with a known id replace what is there, others
// are added. It fails as a whole, with ErrRefused, when one is not allowed.
func (f *File) Import(ctx context.Context, issues []tracker.Issue) (created, updated int, err error) {
	err = f.change(ctx, func(tx *transaction) error {
		created, updated = 0, 0
		for _, i := range issues {
			if i.ID == "" || i.Title == "" || i.Status == "" {
				return fmt.Errorf("issue %q has no id, title or status: %w", i.ID, tracker.ErrRefused)
			}
			if !i.Has("_type") {
				i.Keep("_type", "issue")
			}
			if n, ok := tx.at[i.ID]; ok {
				tx.records[n].issue = &i
				updated++
				continue
			}
			tx.add(i)
			created++
		}
		return nil
	})
	return created, updated, err
}

// Export returns the whole file. It fails when that does not parse.
func (f *File) Export(context.Context) ([]byte, error) {
	records, err := f.read()
	if err != nil {
		return nil, err
	}
	return encodeRecords(records, records)
}
