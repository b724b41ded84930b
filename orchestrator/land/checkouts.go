package land

import (
	"context"

	"github.com/beadsorch/orch/orchestrator/git"
)

// Checkouts has the files of a commit, for the gate. One caller at a time.
type Checkouts interface {
	// Checkout makes the folder exactly c, not even what is ignored is there beside it.
	Checkout(ctx context.Context, c git.Commit) (dir string, err error)
	// VerifyDir is that folder. It need not be there before Checkout.
	VerifyDir() string
}
