// Package refname has the names of the references that orch makes.
//
//	refs/heads/epic/EPIC                   what has landed of an epic
//	refs/heads/orch/EPIC/TASK/N            the work of attempt N at a task
//	refs/orch/EPIC/attic/TASK/N            work of an attempt that landed nowhere
//	refs/orch/EPIC/lease                   who may land
//	refs/orch/EPIC/tip, tip-N              where a landing, or a person's word, left the branch
//
// EPIC and TASK are slugs of ids.
package refname

import (
	"strings"

	"github.com/beadsorch/orch/orchestrator/slug"
)

// What the names of all epics' references begin with.
const (
	Heads    = "refs/heads/"      // of all branches
	Epics    = "refs/heads/epic/" // of the branches of epics, which a person may move too
	Attempts = "refs/heads/orch/" // of the branches of attempts
	Own      = "refs/orch/"       // of what is no branch, and only orch writes
)

// Epic is an epic by the slug of its id.
type Epic string

// Of is the epic of an id.
func Of(id string) Epic { return Epic(slug.Of(id)) }

// Branch is the branch that the epic's work lands on.
func (e Epic) Branch() string { return Epics + string(e) }

// ShortBranch is Branch as a person writes it.
func (e Epic) ShortBranch() string { return strings.TrimPrefix(e.Branch(), Heads) }

// Attempts is what the names of its attempts' branches begin with.
func (e Epic) Attempts() string { return Attempts + string(e) + "/" }

// Own is what the names of its references begin with that are no branches.
func (e Epic) Own() string { return Own + string(e) + "/" }

// Attic is what the names of its attic references begin with.
func (e Epic) Attic() string { return e.Own() + "attic/" }

// Lease is the reference whose content is who may land.
func (e Epic) Lease() string { return e.Own() + "lease" }

// Tip is the reference that keeps where the branch was left.
func (e Epic) Tip() string { return e.Own() + "tip" }

// IsOrchs reports whether a reference's name is one that orch makes.
func IsOrchs(name string) bool {
	return strings.HasPrefix(name, Epics) || strings.HasPrefix(name, Attempts) || strings.HasPrefix(name, Own)
}
