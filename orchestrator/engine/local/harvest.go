package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
)

// harvest inspects what the agent left in git, whatever it said, and makes all
// of it reachable. An interrupted agent's work is inspected too.
func (t *turn) harvest(ctx context.Context, w *engine.Work) error {
	ctx = context.WithoutCancel(ctx)
	err := t.leave(ctx, w)
	if err == nil {
		err = t.inspect(ctx, w)
	}
	if err != nil {
		w.Reason = "looking at its work: " + err.Error()
		w.End = epic.EndedCrash
		blameMachine(w, "looking at its work", err)
		return fmt.Errorf("looking at its work: %w", err)
	}
	if w.End != epic.EndedStopped && (w.End != epic.EndedItself || !w.Changed) {
		w.Reason = joinClauses(w.Reason, t.refusalHint())
	}
	if w.Gone != "" {
		t.sayGone(w)
	}
	if len(w.Embedded) > 0 {
		t.sayEmbedded(w)
	}
	if w.Refused != "" {
		t.sayRefused(w)
	}
	switch {
	case w.TooLarge != "", w.Changed && (w.Gone != "" || len(w.Embedded) > 0 || w.Refused != "" || w.End != epic.EndedItself || t.Abandon):
		if err := t.e.Bench.Attic(ctx, string(t.Task), t.Number, w.Head); err != nil {
			t.reportUnsaved(w, err)
		}
	case !w.Changed && w.End == epic.EndedItself && w.Gone == "" && len(w.Embedded) == 0 && w.Refused == "":
		w.Text = "You ended without changing any file. The task is done only when its work is committed on your branch."
	}
	return nil
}

// sayGone says that the worktree was gone, and where what was committed in it is.
func (t *turn) sayGone(w *engine.Work) {
	what := "its worktree was gone when the agent ended"
	if w.Changed {
		what += "; what it had committed is " + t.names.Attic
	}
	what += "; missing is " + w.Gone
	w.Reason, w.Fast = joinClauses(what, w.Reason), false
	w.Text = "An earlier attempt at this task was not taken: " + what + ". Leave the worktree that you are given where it is."
}

// sayRefused says why its commits were not taken back, and where the files of its worktree are.
func (t *turn) sayRefused(w *engine.Work) {
	what := w.Refused
	if w.Changed {
		what += "; the files of its worktree are " + t.names.Attic
	}
	w.Reason = joinClauses(what, w.Reason)
	w.Text = "An earlier attempt at this task was not taken: " + w.Refused + ". Change the repository by git's own commands alone."
}

// sayEmbedded says which repositories keep the work from being taken, and what helps.
func (t *turn) sayEmbedded(w *engine.Work) {
	first := w.Embedded[0]
	what := first + " is a git repository of its own, and nobody else would get what is in it"
	if more := len(w.Embedded) - 1; more > 0 {
		what += fmt.Sprintf(" (and %d more)", more)
	}
	w.Reason = joinClauses(what+"; its files are in "+filepath.Join(t.names.Dir, first), w.Reason)
	w.Text = "Your work is not taken: " + what + ". Remove " + first + "/.git, so that its files are part of your commit (git rm --cached " + first + " first, where it was added); " +
		"or make it a submodule of a repository that has the commit."
}

// reportUnsaved records that work which does not land could not be kept in the attic.
func (t *turn) reportUnsaved(w *engine.Work, err error) {
	const what = "; keeping its work: "
	if w.TooLarge != "" {
		w.TooLarge += what + err.Error()
		return
	}
	w.Reason += what + err.Error()
}

// inspect fills in what the attempt has, as far as it is within the limits of size: the sizes are
// checked before anything reads the files.
func (t *turn) inspect(ctx context.Context, w *engine.Work) error {
	h, err := t.e.Bench.Harvest(ctx, string(t.Task), t.Number, t.Base, t.salvageMessage())
	if err != nil {
		return err
	}
	w.Base, w.Head, w.Salvaged, w.Unmerged, w.Gone, w.Embedded, w.Apart = t.Base, h.Head, h.Salvaged, h.Unmerged, h.Gone, h.Embedded, h.Apart
	if len(h.Blocking) > 0 {
		w.Reason = joinClauses(w.Reason, "removed, since git would have waited for it: "+strings.Join(h.Blocking[:min(len(h.Blocking), 5)], ", "))
	}
	if len(h.Ended) > 0 {
		w.Reason = joinClauses(w.Reason, "put aside, since its work is whole without: "+strings.Join(h.Ended[:min(len(h.Ended), 5)], ", "))
	}
	w.Beside = h.Beside
	if len(h.Lost) > 0 {
		w.Reason = joinClauses(w.Reason, fmt.Sprintf("commit %s of %s cannot be read and is lost (git cat-file -t %s says why); its files count as they are in the worktree",
			h.Lost[0], shortBranch(t.names.Branch), h.Lost[0]))
	}
	if len(h.Large) > 0 {
		w.TooLarge = epic.FirstOf(h.Large) + " is over a limit of size, not committed, and only in the worktree"
	} else if w.TooLarge, err = t.e.Bench.Oversized(ctx, t.Base, h.Head); err != nil {
		return err
	}
	if w.TooLarge != "" {
		w.Changed = true
		return nil
	}
	changes, err := t.e.Repo.ChangedFiles(ctx, t.Base, h.Head)
	if err != nil {
		return err
	}
	w.Changed = len(changes) > 0
	for _, f := range changes {
		w.Added, w.Deleted = w.Added+f.Added, w.Deleted+f.Deleted
		if len(w.Files) < engine.MaxFiles {
			w.Files = append(w.Files, f.Path)
		}
	}
	if most := t.Limits.Files; most > 0 && len(changes) > most {
		w.TooLarge = fmt.Sprintf("it changes %d files, over limits.files, %d", len(changes), most)
	}
	return nil
}

func (t *turn) salvageMessage() string {
	return fmt.Sprintf("%s: uncommitted work of attempt %d\n\nCommitted by orch: the agent ended without doing so.", t.Task, t.Number)
}
