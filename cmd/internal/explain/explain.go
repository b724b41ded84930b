// Package explain sorts the errors of all that is below the commands into what a person is
// shown: what happened, why, and what to do.
package explain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicstore"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Error sorts every error that the packages below return into what a
// person is shown. It is the one place that knows them all.
func Error(err error) *cli.Error {
	var (
		u      *cli.Error
		inWay  *git.InTheWayError
		broken *git.BrokenRefError
	)
	if why, ok := fault.Damaged(err); ok {
		return damagedError(why, err)
	}
	switch {
	case errors.As(err, &u):
		if why, ok := fault.Machine(u.Err); ok && u.Exit != cli.ExitHeld && u.Exit != cli.ExitMachine {
			return machineError(u.What+": "+why, err) // whatever it was taken for where it came up
		}
		return u
	case errors.As(err, &broken):
		return brokenRefError(broken, err)
	case errors.As(err, &inWay):
		return &cli.Error{Code: "REF_IN_THE_WAY", What: inWay.Error(), Exit: cli.ExitNotReady, Err: err,
			Why: "orch needs that name for the work of this epic, and does not move references that it has not made", Fix: []string{inWay.Fix(cli.Quote[string])}}
	}
	if why, ok := fault.Machine(err); ok {
		return machineError(why, err)
	}
	for _, kind := range []func(error) *cli.Error{epicError, folderError, trackerError, fileError} {
		if e := kind(err); e != nil {
			return e
		}
	}
	return &cli.Error{Code: "UNEXPECTED", What: err.Error(), Exit: cli.ExitFailed, Err: err}
}

// epicError is for the settings, and an epic that cannot be driven; nil for what is none.
func epicError(err error) *cli.Error {
	var (
		setting *config.Error
		held    *epicstore.HeldError
		noEpic  *epic.ErrNotEpic
		fenced  *epicstore.FencedError
		foreign *epicstore.ForeignError
		corrupt *journal.CorruptError
		replay  *epicstore.ReplayError
	)
	switch {
	case errors.As(err, &setting):
		return settingError(setting)
	case errors.As(err, &held):
		fix := []string{"orch watch " + cli.Quote(held.Epic), "orch status " + cli.Quote(held.Epic), "orch stop " + cli.Quote(held.Epic)}
		if !held.Holder.Drives() {
			fix = []string{"give the command again, with a longer --wait", "orch status " + cli.Quote(held.Epic)}
		}
		return &cli.Error{Code: "RUN_ACTIVE", What: held.Error(), Exit: cli.ExitHeld, Err: err, Why: "one orch at a time may drive an epic", Fix: fix}
	case errors.As(err, &noEpic):
		return noEpicError(noEpic)
	case errors.As(err, &fenced):
		return fencedError(fenced, err)
	case errors.As(err, &foreign), errors.As(err, &corrupt), errors.As(err, &replay),
		errors.Is(err, journal.ErrUnsafe), errors.Is(err, journal.ErrVersion), errors.Is(err, journal.ErrHeld):
		return journalError(err)
	}
	return nil
}

// fencedError is for a run whose epic is not where it was, or not its own any more.
func fencedError(fenced *epicstore.FencedError, err error) *cli.Error {
	u := &cli.Error{Code: "RUN_FENCED", What: fenced.Error(), Exit: cli.ExitHeld, Err: err}
	goesOn := "orch run " + cli.Quote(fenced.Epic) + "   goes on"
	switch {
	case fenced.Was != "":
		u.Why = "all that orch knows of the epic is in what was moved; this run has stopped its agents and written nothing since"
		back := "mv " + cli.Quote(fenced.Is) + " " + cli.Quote(fenced.Was)
		if !fenced.Free {
			u.Why += "; where another run goes on by now (orch status " + cli.Quote(fenced.Epic) + "), let that end first"
			back = "mv " + cli.Quote(fenced.Was) + " " + cli.Quote(fenced.Was+".aside") + "; " + back
		}
		u.Fix = []string{back + "   puts it back", goesOn + " then"}
	case fenced.Lost:
		u.Why = "the journal of the epic is gone; its work is in git, and this run has stopped its agents and written nothing since"
		u.Fix = []string{"orch doctor --fix   has the next run find the work by git and the tracker", goesOn + " then"}
	default:
		u.Why = "another orch may drive the epic now, so this run has stopped its agents and written nothing since"
		u.Fix = []string{"orch status " + cli.Quote(fenced.Epic), goesOn + ", when no other does"}
	}
	return u
}

// folderError is for a repository, or a folder in it, that orch cannot work in; nil for what is none.
func folderError(err error) *cli.Error {
	var (
		refused *git.UnsupportedError
		root    worktreeFolder
		out     *git.CheckedOutError
		unsafe  *private.UnsafeError
	)
	switch {
	case errors.As(err, &refused):
		return &cli.Error{Code: "REPOSITORY", What: refused.Reason, Exit: cli.ExitNotReady, Err: err, Fix: []string{refused.Fix}}
	case errors.As(err, &root):
		return rootError(root, err)
	case errors.As(err, &out):
		return &cli.Error{Code: string(reason.CheckedOut), What: out.Error(), Exit: cli.ExitNeedsYou, Err: err,
			Why: "orch moves the epic branch; a checkout of it would be left stale",
			Fix: Leave(out.Path, out.Reason)}
	case errors.Is(err, git.ErrNotRepository):
		return &cli.Error{Code: "NO_REPOSITORY", What: "this is not a git repository", Exit: cli.ExitNotReady, Err: err,
			Fix: []string{"run orch inside one, or name it: orch -C DIR ...", "orch demo needs none"}}
	case errors.As(err, &unsafe):
		return &cli.Error{Code: "IN_THE_WAY", What: err.Error(), Exit: cli.ExitNotReady, Err: err, Why: "orch follows no links in folders of its own and of git's administration, and waits for nothing there",
			Fix: []string{"ls -ld " + cli.Quote(unsafe.Path), "move it away, and put the folder or file back that it stands for"}}
	}
	return nil
}

// trackerError is for a tracker that is not there, or not of use, or has not what was asked for; nil for
// what is none.
func trackerError(err error) *cli.Error {
	var (
		version *beads.VersionError
		tasks   *beads.DamagedError
	)
	switch {
	case errors.As(err, &version):
		return &cli.Error{Code: "TRACKER_TOO_OLD", What: version.Error(), Exit: cli.ExitNotReady, Err: err,
			Fix: []string{"install bd 1.0.4 or later, or use the embedded tracker: workflow.tracker.kind: file"}}
	case errors.Is(err, tracker.ErrNotFound):
		return &cli.Error{Code: "NOT_FOUND", What: err.Error(), Exit: cli.ExitNotFound, Err: err, Why: "the tracker has nothing of that id", Fix: []string{"orch tasks list --all, or bd list --all"}}
	case errors.As(err, &tasks):
		return tasksError(tasks, err)
	case errors.Is(err, beads.ErrNoDatabase):
		return &cli.Error{Code: "NO_TRACKER", What: "there is no tracker here", Exit: cli.ExitNotReady, Err: err, Why: err.Error(),
			Fix: []string{"bd init --stealth, or without bd: orch tasks create --type epic \"...\""}}
	}
	return nil
}

// worktreeFolder is the error of a folder that cannot hold worktrees.
type worktreeFolder interface {
	error
	// Folder is the folder that was asked for.
	Folder() string
}

// tasksError is for the embedded tracker's file that is not what it should be.
func tasksError(e *beads.DamagedError, err error) *cli.Error {
	u := &cli.Error{Code: string(reason.TrackerDamaged), What: "the file of the tasks is damaged: " + e.Error(), Exit: cli.ExitNotReady, Err: err,
		Why: "orch guesses no task, so nothing was read from the file, and it stays as it is; work that was done is kept"}
	if e.Line > 0 {
		u.Fix = append(u.Fix, fmt.Sprintf("sed -n %dp %s   shows the line", e.Line, cli.Quote(e.Path)))
	}
	if e.Fix != "" {
		u.Fix = append(u.Fix, e.Fix)
	}
	u.Fix = append(u.Fix, "or bring the file back from a backup; where it is committed: git log -p -- "+cli.Quote(e.Path))
	return u
}

// Leave is how a work tree gives up a branch that it has checked out; busy is what goes on there, "" for
// nothing.
func Leave(dir, busy string) []string {
	detach := "git -C " + cli.Quote(dir) + " switch --detach"
	if busy == "" {
		return []string{detach}
	}
	return []string{"git -C " + cli.Quote(dir) + " status   shows what goes on there; end it", "then: " + detach}
}

// rootError is for a folder that cannot hold worktrees.
func rootError(root worktreeFolder, err error) *cli.Error {
	e := &cli.Error{Code: "WORKTREE_FOLDER", What: root.Error(), Exit: cli.ExitNotReady, Err: err, Why: "agents work in folders below it, and nothing that was put in its place is followed",
		Fix: []string{"another place: workflow.worktree.dir"}}
	if _, err := os.Lstat(root.Folder()); err == nil {
		e.Fix = []string{"mv " + cli.Quote(root.Folder()) + " " + cli.Quote(root.Folder()+".aside"), "or another place: workflow.worktree.dir"}
	}
	return e
}

// fileError is for a file or folder that cannot be used as it is; nil for what is none.
func fileError(err error) *cli.Error {
	path := ""
	var (
		at   *fs.PathError
		link *os.LinkError
		exit *command.ExitError
	)
	switch {
	case errors.As(err, &exit) && strings.Contains(exit.Stderr, "Permission denied"):
		return &cli.Error{Code: "NO_ACCESS", What: err.Error(), Exit: cli.ExitNotReady, Err: err,
			Why: "a file or folder of the repository is closed to you, or belongs to somebody else",
			Fix: []string{`find "$(git rev-parse --git-common-dir)" ! -user "$(id -un)" -o -type d ! -perm -u=rwx   lists what is`, "chmod u+rwX what is yours and closed, or give it to you with chown"}}
	case errors.As(err, &at):
		path = at.Path
	case errors.As(err, &link):
		path = link.New
	default:
		return nil
	}
	look := "ls -ld " + cli.Quote(path) + " " + cli.Quote(filepath.Dir(path))
	if !filepath.IsAbs(path) { // below a folder that the error names
		look = "look who owns it, and what it is, with ls -ld"
	}
	e := &cli.Error{Code: "NO_ACCESS", What: err.Error(), Exit: cli.ExitNotReady, Err: err}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Why = "the file, or a folder above it, is closed to you, or belongs to somebody else"
		e.Fix = []string{look, "chmod u+rwX the one that is yours and closed, or give it to you with chown"}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, fs.ErrExist):
		e.Code, e.Why = "IN_THE_WAY", "something else stands where a file or folder is needed"
		e.Fix = []string{look, "move it away"}
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Code, e.Why, e.Fix = "NAME_TOO_LONG", "a name in a folder has at most 255 bytes here, and a path has a limit too", []string{"rename the folder that the repository is in"}
	default:
		return nil
	}
	return e
}

// machineError is a fault of the machine.
func machineError(what string, err error) *cli.Error {
	r, _ := reason.Of(reason.Machine)
	e := &cli.Error{Code: string(reason.Machine), What: strings.TrimPrefix(strings.TrimPrefix(what, "error: "), "fatal: "), Why: r.Means, Exit: cli.ExitMachine, Err: err,
		Fix: []string{"mend that, and give the command again"}}
	var closed *fault.ClosedError
	if errors.As(err, &closed) {
		e.Why = "no work can be kept there; no attempt is charged"
		e.Fix = []string{"ls -ld " + cli.Quote(closed.Path) + "; lsattr -d " + cli.Quote(closed.Path) + "; findmnt -T " + cli.Quote(closed.Path) + "   tell who owns it, whether it is immutable, and how it is mounted",
			"make it writable for you, and give the command again"}
	}
	return e
}

// damagedError is for a file of the repository that git cannot read; why is git's own line.
func damagedError(why string, err error) *cli.Error {
	e := &cli.Error{Code: "REPOSITORY_DAMAGED", What: "git cannot read a file of the repository: " + why, Exit: cli.ExitMachine, Err: err,
		Why: "nothing was changed, and no attempt is charged"}
	switch {
	case strings.Contains(why, "packed-refs"):
		e.Fix = []string{"bring the file back from a backup or another clone; mend the line that git names", "git for-each-ref   tells whether it is whole then, and what is missing is fetched, or found by git fsck --lost-found"}
	case strings.Contains(why, "multi-pack"):
		e.Fix = []string{`rm -f "$(git rev-parse --git-path objects/pack/multi-pack-index)" && git multi-pack-index write   makes it anew from the packs`}
	case strings.Contains(why, "commit-graph"), strings.Contains(why, "commit graph"):
		e.Fix = []string{`rm -rf "$(git rev-parse --git-path objects/info/commit-graph)" "$(git rev-parse --git-path objects/info/commit-graphs)" && git commit-graph write --reachable   makes it anew`}
	default:
		e.Fix = []string{"git fsck --full   lists what is damaged", "bring the file back from a backup, or the object with it from another clone"}
	}
	return e
}

// brokenRefError is for a reference of the person's that stands for nothing.
func brokenRefError(broken *git.BrokenRefError, err error) *cli.Error {
	fix := "rm " + cli.Quote(broken.Path) + " && git update-ref " + cli.Quote(broken.Ref) + " COMMIT"
	switch filepath.Base(broken.Path) {
	case "HEAD":
		fix = "git switch BRANCH"
	case "packed-refs":
		fix = "git update-ref " + cli.Quote(broken.Ref) + " COMMIT"
	}
	return &cli.Error{Code: "REPOSITORY_DAMAGED", What: broken.Error(), Exit: cli.ExitMachine, Err: err,
		Why: "nothing was changed, no attempt is charged, and what you trust stays trusted",
		Fix: []string{"tail -n 3 " + cli.Quote(broken.Log) + "; git fsck --lost-found   tell which commit it was at", fix}}
}

// mends is the way out of most that can be wrong with a journal.
const mends = "orch doctor --fix mends it: it keeps the file as it is beside it, cuts it to what is sound, and the next run finds by git and the tracker what is missing then"

// journalError is for a journal that cannot be trusted, or not be had.
func journalError(err error) *cli.Error {
	var (
		foreign *epicstore.ForeignError
		corrupt *journal.CorruptError
	)
	u := &cli.Error{Code: "JOURNAL_CORRUPT", What: err.Error(), Exit: cli.ExitNotReady, Err: err,
		Why: "a record before the end of the journal is damaged; orch never guesses what it said, and nothing was changed", Fix: []string{mends}}
	switch {
	case errors.As(err, &foreign):
		u.Code, u.Exit = "JOURNAL_FOREIGN", cli.ExitNotReady
		u.Why = "somebody has copied it there; by it orch would take the work of one epic for that of another, and nothing was changed"
	case errors.As(err, &corrupt):
		u.What = corrupt.Error()
	case errors.Is(err, journal.ErrVersion), errors.Is(err, epic.ErrNewer):
		u.Code, u.Exit, u.Why = "JOURNAL_NEWER", cli.ExitNotReady, "this orch would not understand all of it, and nothing was changed"
		u.Fix = []string{"go on with the newer orch"}
	case errors.Is(err, journal.ErrUnsafe):
		u.Code, u.Exit, u.Why = "JOURNAL_UNSAFE", cli.ExitNotReady, "only a plain file that nobody else can write is believed, and nothing was changed"
	case errors.Is(err, journal.ErrHeld):
		u.Code, u.Exit, u.Why, u.Fix = "RUN_ACTIVE", cli.ExitHeld, "", []string{"orch status"}
	default:
		u.Why = "a record does not follow from those before it: the journal was edited, or put together from others; nothing was changed"
	}
	return u
}

func settingError(e *config.Error) *cli.Error {
	u := &cli.Error{Code: "SETTINGS", What: e.Error(), Why: e.Snippet, Exit: cli.ExitUsage, Err: e}
	if e.Fix != "" {
		u.Fix = []string{e.Fix}
	}
	return u
}

func noEpicError(e *epic.ErrNotEpic) *cli.Error {
	u := &cli.Error{Code: "EPIC_NOT_FOUND", What: e.Error(), Exit: cli.ExitNotFound, Err: e}
	there := "neither an epic nor a task"
	if e.Exists {
		there = "a task, not an epic"
	}
	u.Why = fmt.Sprintf("the tracker has %d open %s; %s is %s", len(e.Open), cli.Plural(len(e.Open), "epic", "epics"), e.ID, there)
	if near, ok := nearest(string(e.ID), e.Open); ok {
		u.Fix = []string{fmt.Sprintf("did you mean %s (%s)?   orch run %s", near.ID, near.Title, near.ID)}
	} else {
		u.Fix = []string{"orch tasks list --type epic, or bd list --type epic"}
	}
	return u
}

// nearest is the issue whose id differs least from id.
func nearest(id string, issues []tracker.Issue) (best tracker.Issue, ok bool) {
	least := max(3, len(id)/2)
	for _, i := range issues {
		if d := config.Distance(id, i.ID); d < least {
			best, least, ok = i, d, true
		}
	}
	return best, ok
}
