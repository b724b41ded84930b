package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/worktree"
)

// tooLarge looks, before anything reads the work, whether it is over a limit of size, and ends
// the attempt with TOO_LARGE if it is; what is committed is kept in the attic.
func (x *Effects) tooLarge(ctx context.Context, t *epic.Task, d epic.Decision, e ending, w worktree.Work) (ending, bool) {
	why, err := "", error(nil)
	if len(w.Large) > 0 {
		why = epic.FirstOf(w.Large) + " is over a limit of size, not committed, and only in the worktree"
	} else if why, err = x.Store.Oversized(ctx, t.Last().Base, w.Head); err != nil {
		e.Reason = "looking at its work: " + err.Error()
		e.Agent.End, e.Code = epic.EndedCrash, epic.AgentCrashed
		return e, true
	}
	if why == "" {
		return e, false
	}
	e.Agent.Changed = true
	if err := x.Store.Attic(ctx, string(t.ID), d.Attempt, w.Head); err != nil {
		why += "; keeping its work: " + err.Error()
	}
	return overLimit(e, why), true
}

// tooMany is the same for the number of files.
func (x *Effects) tooMany(ctx context.Context, t *epic.Task, d epic.Decision, e ending, files int) (ending, bool) {
	most := x.Store.MaxFiles()
	if most == 0 || files <= most {
		return e, false
	}
	why := fmt.Sprintf("it changes %d files, over limits.files, %d", files, most)
	if err := x.Store.Attic(ctx, string(t.ID), d.Attempt, e.Agent.Head); err != nil {
		why += "; keeping its work: " + err.Error()
	}
	return overLimit(e, why), true
}

func overLimit(e ending, why string) ending {
	e.Code, e.Reason = epic.TooLarge, why
	e.Agent.Said = "Your work is not taken, since it is too large: " + why + ". Do the task without it: build products, downloads and data sets do not belong into commits."
	return e
}

// unsavedSize is the answer when a new attempt cannot start since the one before left
// something too large to be saved.
func unsavedSize(e ending, err error) ending {
	var unsaved *worktree.UnsavedError
	if errors.As(err, &unsaved) && unsaved.Large {
		e.Code, e.Agent.Fast = epic.TooLarge, false
	}
	return e
}
