package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ChangedIn lists the files of a work tree that differ from base, new ones included and ignored
// ones not, from its top, in order. An empty base stands for what is checked out. The index is
// read from a copy, and what is in submodules is not compared. It fails with [ErrNoSuchRef] when there
// is no such commit, with a [*BlockingError] where git would wait, or as Do does.
func (r *Repo) ChangedIn(ctx context.Context, c Checkout, base Commit) (files []string, err error) {
	if base == "" {
		if base, err = r.Head(ctx, c.GitDir); err != nil {
			return nil, err
		}
	}
	if blocking := Blocking(c.Path); len(blocking) > 0 {
		return nil, &BlockingError{Path: blocking[0]}
	}
	scratch, err := r.Scratch("changed-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop(scratch)) }()
	index := filepath.Join(scratch, "index")
	have, err := readRegular(filepath.Join(c.GitDir, "index"), maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err = r.Do(ctx, Call{Args: []string{"read-tree", string(base)}, Index: index})
	case err == nil:
		err = os.WriteFile(index, have, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the index of %s: %w", c.Path, err)
	}
	for _, args := range [][]string{
		{"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--end-of-options", string(base), "--"},
		{"ls-files", "--others", "--exclude-standard", "-z"},
	} {
		res, err := r.Do(ctx, Call{Args: args, WorkTree: c.Path, Index: index})
		if err != nil {
			return nil, err
		}
		for file := range strings.SplitSeq(string(res.Stdout), "\x00") {
			if file != "" {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// maxIndex bounds an index, in bytes: some ten million files.
const maxIndex = 1 << 30
