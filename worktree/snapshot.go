package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/text"
)

// snapshot is what is in a work tree, as a tree object, made through an index of its own.
type snapshot struct {
	tree     string
	index    string   // a file; matches tree
	unmerged []string // paths that have conflict entries in the agent's index
	nested   []string // git repositories below, not in the tree but as they were in the index
	apart    []string // those of nested that the index does not link to
	unread   []string // paths that git would not take, or that are too large
	large    []string // those that are too large, with their sizes
	blocking []string // what git would have waited for, and was removed
	damaged  bool     // the agent's index named objects that are not there
}

// entries is what an index says.
type entries struct {
	unmerged []string
	links    []string // submodules
	assumed  []string // marked assume-unchanged
	skipped  []string // marked skip-worktree
}

// snapshot stores the work tree's content: everything but what is ignored or inside a nested
// repository. parent is what the files are compared with when the agent's index is of no
// use. The caller removes the returned directory, in every case.
func (l linked) snapshot(ctx context.Context, parent git.Commit) (snap snapshot, dir string, err error) {
	if dir, err = l.repo.Scratch("index-"); err != nil {
		return snap, dir, err
	}
	l.makeReadable(nil)
	blocking, err := l.unblock()
	if err != nil {
		return snap, dir, err
	}
	snap.index = filepath.Join(dir, "index")
	have, err := l.ownIndex(ctx, snap.index, parent)
	if err != nil {
		return snap, dir, fmt.Errorf("reading the index: %w", err)
	}
	if err := l.putBack(ctx, snap.index, blocking); err != nil {
		return snap, dir, fmt.Errorf("putting back %s: %w", blocking[0], err)
	}
	err = l.stage(ctx, snap.index, have, &snap)
	for _, from := range []git.Commit{parent, ""} { // an index that names what is not there: what counts are the files
		if exitCode(err) <= 0 || ctx.Err() != nil {
			break
		}
		snap = snapshot{index: snap.index, damaged: true}
		if have, err = l.newIndex(ctx, snap.index, from); err == nil {
			err = l.stage(ctx, snap.index, have, &snap)
		}
	}
	if err == nil && len(snap.unread) > 0 && l.makeReadable(snap.unread) {
		snap = snapshot{index: snap.index, damaged: snap.damaged}
		more, moreErr := l.unblock()
		if blocking = append(blocking, more...); moreErr != nil {
			return snap, dir, moreErr
		}
		err = errors.Join(l.putBack(ctx, snap.index, more), l.stage(ctx, snap.index, have, &snap))
	}
	snap.blocking = blocking
	return snap, dir, err
}

// newIndex makes an index from a commit, or without one an empty index.
func (l linked) newIndex(ctx context.Context, index string, from git.Commit) (entries, error) {
	if err := os.Remove(index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return entries{}, err
	}
	if from == "" {
		return entries{}, nil
	}
	if _, err := l.git(ctx, index, nil, "read-tree", "--reset", string(from)); err != nil {
		return entries{}, err
	}
	if _, err := l.git(ctx, index, nil, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 { // 1: something differs
		return entries{}, err
	}
	return l.entries(ctx, index)
}

// stage brings the index, which says what have has, up to the files, and stores its tree.
func (l linked) stage(ctx context.Context, index string, have entries, snap *snapshot) error {
	snap.unmerged, snap.nested = have.unmerged, have.links
	changed, unread, err := l.changed(ctx, index)
	if err != nil {
		return fmt.Errorf("looking for changes: %w", err)
	}
	var paths []string
	for _, p := range append(changed, have.unmerged...) {
		if repo, isRepo := strings.CutSuffix(p, "/"); isRepo {
			snap.nested, snap.apart = append(snap.nested, repo), append(snap.apart, repo)
		} else if !slices.Contains(have.links, p) {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	paths, oversized, large := l.splitBySize(slices.Compact(paths))
	refused, err := l.addToIndex(ctx, index, paths)
	if err != nil {
		return fmt.Errorf("storing what changed: %w", err)
	}
	snap.unread, snap.large = append(append(unread, refused...), oversized...), large
	res, err := l.git(ctx, index, nil, "write-tree")
	snap.tree = strings.TrimSpace(string(res.Stdout))
	return err
}

// ownIndex makes the index that a snapshot is taken with: a copy of the agent's, whose
// stat data saves reading unchanged files, or one made from parent.
func (l linked) ownIndex(ctx context.Context, index string, parent git.Commit) (entries, error) {
	err := l.copyIndex(l.index(), index)
	if err == nil {
		var have entries
		if have, err = l.entries(ctx, index); err == nil {
			return have, l.unhide(ctx, index, have)
		}
	}
	if ctx.Err() != nil || ofMachine(err) {
		return entries{}, err
	}
	return l.newIndex(ctx, index, parent)
}

// ofMachine reports whether err says nothing of what it was about.
func ofMachine(err error) bool {
	_, ok := fault.Machine(err)
	return ok
}

// copyIndex copies an index with its time, which is part of what git decides by.
func (l linked) copyIndex(from, to string) error {
	info, err := l.common.Lstat(from)
	if err != nil {
		return err
	}
	content, err := l.common.ReadFile(from, maxIndex)
	if err != nil {
		return err
	}
	return errors.Join(l.common.WriteFile(to, content), l.common.Chtimes(to, info.ModTime(), info.ModTime()))
}

// maxIndex bounds an index, in bytes: some million files.
const maxIndex = 1 << 30

// unhide clears marks that would hide changes. What is marked skip-worktree and is not there stays
// marked, as a sparse checkout has left it out.
func (l linked) unhide(ctx context.Context, index string, have entries) error {
	there := slices.DeleteFunc(slices.Clone(have.skipped), func(path string) bool {
		_, err := l.trees.Lstat(filepath.Join(l.dir, path))
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
	})
	return errors.Join(l.unmark(ctx, index, "--no-assume-unchanged", have.assumed), l.unmark(ctx, index, "--no-skip-worktree", there))
}

// unmark takes a mark from entries of the index.
func (l linked) unmark(ctx context.Context, index, option string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := l.git(ctx, index, zeroEnded(paths), "update-index", option, "-z", "--stdin")
	return err
}

// entries reads the index.
func (l linked) entries(ctx context.Context, index string) (entries, error) {
	res, err := l.git(ctx, index, nil, "ls-files", "-z", "-v", "--stage")
	if err != nil {
		return entries{}, err
	}
	return parseEntries(string(res.Stdout)), nil
}

// parseEntries reads "tag mode id stage TAB path NUL" records; a lower-case tag means assume-unchanged,
// and an S of either case skip-worktree.
func parseEntries(out string) (e entries) {
	for record := range strings.SplitSeq(out, "\x00") {
		meta, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 4 {
			continue
		}
		switch {
		case fields[3] != "0":
			if !slices.Contains(e.unmerged, path) {
				e.unmerged = append(e.unmerged, path)
			}
		case fields[1] == gitlink:
			e.links = append(e.links, path)
		default:
			if fields[0] != strings.ToUpper(fields[0]) {
				e.assumed = append(e.assumed, path)
			}
			if strings.EqualFold(fields[0], "S") {
				e.skipped = append(e.skipped, path)
			}
		}
	}
	return e
}

// changed lists what differs from the index: changed, deleted and untracked paths, nested
// repositories with a slash at the end; unread are directories that could not be looked into.
func (l linked) changed(ctx context.Context, index string) (paths, unread []string, err error) {
	res, err := l.git(ctx, index, nil, "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
	if err != nil {
		return nil, nil, err
	}
	for _, rest := range textAfter(res.Stderr, "warning: could not open directory '") {
		path, why, _ := strings.Cut(rest, "/'")
		if _, machine := fault.Said(why); machine {
			return nil, nil, &command.ExitError{Argv: []string{"ls-files"}, Stderr: path + why, Says: text.FirstLine(path+why, "")}
		}
		unread = append(unread, path)
	}
	return zeroSplit(res.Stdout), unread, nil
}

// textAfter is what follows prefix on the lines of git's stderr, in the wording of git 2.39 with LC_ALL=C.
func textAfter(stderr []byte, prefix string) (rests []string) {
	for line := range strings.Lines(string(stderr)) {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix); ok {
			rests = append(rests, rest)
		}
	}
	return rests
}

// addToIndex adds paths of the work tree to the index. It skips what git refuses, such as a file
// that cannot be read or a name such as "git~1".
func (l linked) addToIndex(ctx context.Context, index string, paths []string) (refused []string, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	res, err := l.git(ctx, index, zeroEnded(paths), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	switch {
	case err == nil:
		return textAfter(res.Stderr, "Ignoring path "), nil
	case exitCode(err) < 0 || ctx.Err() != nil:
		return nil, err
	case len(paths) == 1:
		if _, machine := fault.Said(strings.ReplaceAll(string(res.Stderr), paths[0], "")); machine {
			return nil, err // a full disk is no reason to go without a file, and a file's name no full disk
		}
		return paths, nil
	}
	half := len(paths) / 2
	first, err := l.addToIndex(ctx, index, paths[:half])
	if err != nil {
		return nil, err
	}
	second, err := l.addToIndex(ctx, index, paths[half:])
	return append(first, second...), err
}

// ignored counts what is ignored, a directory that is ignored as a whole as one.
func (l linked) ignored(ctx context.Context, index string) (int, error) {
	res, err := l.git(ctx, index, nil,
		"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	return len(zeroSplit(res.Stdout)), err
}

func zeroEnded(items []string) []byte { return []byte(strings.Join(items, "\x00") + "\x00") }

func zeroSplit(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// exitCode is git's exit status, -1 when err is none of git's, or a fault of the machine.
func exitCode(err error) int {
	var exit *command.ExitError
	if errors.As(err, &exit) && fault.Of(err) == nil {
		return exit.ExitCode
	}
	return -1
}
