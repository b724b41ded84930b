package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"github.com/beadsorch/orch/orchestrator/command"
)

// IsAncestor reports whether a is b or one of its ancestors. It fails with [ErrNoSuchRef]
// when one of them is not here, else as Do does.
func (r *Repo) IsAncestor(ctx context.Context, a, b Commit) (bool, error) {
	_, err := r.Out(ctx, "merge-base", "--is-ancestor", "--end-of-options", string(a), string(b))
	var exit *command.ExitError
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &exit):
		return false, err
	case exit.ExitCode == 1:
		return false, nil
	}
	for _, c := range []Commit{a, b} {
		if _, err := r.Resolve(ctx, string(c)); err != nil {
			return false, err
		}
	}
	return false, err
}

// Tree is the id of c's tree. It fails with [ErrNoSuchRef], or as Do does.
func (r *Repo) Tree(ctx context.Context, c Commit) (string, error) {
	if tree, ok := r.looseTree(c); ok {
		return tree, nil
	}
	out, err := r.Out(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", string(c)+"^{tree}")
	var exit *command.ExitError
	if errors.As(err, &exit) && exit.ExitCode == 1 && !isDamaged(err) {
		return "", fmt.Errorf("%w: %s", ErrNoSuchRef, c)
	}
	return out, err
}

// looseTree reads the tree out of a commit that has a file of its own, as young ones do.
// Whatever is not as expected is git's to say.
func (r *Repo) looseTree(c Commit) (tree string, ok bool) {
	if len(c) < 3 {
		return "", false
	}
	f, err := openRegular(filepath.Join(r.commonDir, "objects", string(c[:2]), string(c[2:])), syscall.O_NOFOLLOW)
	if err != nil {
		return "", false
	}
	defer f.Close()
	object, err := objfile.NewReader(f)
	if err != nil {
		return "", false
	}
	defer object.Close()
	if kind, _, err := object.Header(); err != nil || kind != plumbing.CommitObject {
		return "", false
	}
	line := make([]byte, len("tree ")+len(c))
	if _, err := io.ReadFull(object, line); err != nil {
		return "", false
	}
	return strings.CutPrefix(string(line), "tree ")
}

// Missing counts the objects of c, its tree and its files, that a partial clone has left at its
// remote; 0 in any other repository. Orch never fetches. It fails as Do does.
func (r *Repo) Missing(ctx context.Context, c Commit) (n int, err error) {
	if !r.partial {
		return 0, nil
	}
	out, err := r.Out(ctx, "rev-list", "--objects", "--no-walk", "--missing=print", "--end-of-options", string(c))
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "?") {
			n++
		}
	}
	return n, err
}

// FileChange is how much of one file changed.
type FileChange struct {
	// Path is the file, from the top of the tree, with slashes.
	Path string
	// Added is how many lines came; 0 for a binary file.
	Added int
	// Deleted is how many lines went; 0 for a binary file.
	Deleted int
}

// ChangedFiles lists what differs between the trees of two commits, in order of the paths;
// a renamed file is one deleted and one added. It fails as Do does.
func (r *Repo) ChangedFiles(ctx context.Context, from, to Commit) ([]FileChange, error) {
	out, err := r.Out(ctx, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--end-of-options", string(from), string(to), "--")
	if err != nil {
		return nil, err
	}
	return parseNumstat(out)
}

// parseNumstat reads "added TAB deleted TAB path NUL" records; "-" stands for a binary file.
func parseNumstat(out string) (changes []FileChange, err error) {
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if record == "" {
			continue
		}
		fields := strings.SplitN(record, "\t", 3)
		if len(fields) != 3 || fields[2] == "" {
			return nil, fmt.Errorf("git diff-tree printed %q", record)
		}
		c := FileChange{Path: fields[2]}
		if c.Added, err = countLines(fields[0]); err != nil {
			return nil, err
		}
		if c.Deleted, err = countLines(fields[1]); err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func countLines(s string) (int, error) {
	if s == "-" {
		return 0, nil
	}
	return strconv.Atoi(s)
}

// WriteBlob stores content as it is and returns the id of the blob. It fails as Do does.
func (r *Repo) WriteBlob(ctx context.Context, content []byte) (Commit, error) {
	if content == nil {
		content = []byte{}
	}
	res, err := r.Do(ctx, Call{Args: []string{"hash-object", "-w", "-t", "blob", "--stdin"}, Stdin: content})
	return Commit(strings.TrimSuffix(string(res.Stdout), "\n")), err
}
