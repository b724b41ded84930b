package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/command"
)

// Merged is what became of a merge.
type Merged struct {
	// Tree is the merged tree; with conflicts, its files have conflict markers.
	Tree string
	// Files are the paths with conflicts; none means a clean merge.
	Files []string
	// Messages are git's words on the merge, one a conflict or an automatic resolution.
	Messages []string
}

// Merge merges theirs into ours without any work tree of the user's or an agent's, and moves
// nothing. The .gitattributes files of ours apply, so a merge driver that the user has set up
// runs: merge-tree honours them only from a work tree (as measured on git 2.39), so it gets one
// that has nothing but them. It fails as Do does; histories without a common commit are
// a conflict without files.
func (r *Repo) Merge(ctx context.Context, ours, theirs Commit) (m Merged, err error) {
	dir, err := r.Scratch("merge-")
	if err != nil {
		return Merged{}, err
	}
	defer func() { err = errors.Join(err, drop(dir)) }()
	if err := r.attributes(ctx, ours, dir); err != nil {
		return Merged{}, fmt.Errorf("reading the attributes of %s: %w", ours, err)
	}
	res, err := r.Do(ctx, Call{WorkTree: dir, Args: []string{"merge-tree", "--write-tree", "--name-only", "--messages", "-z",
		"--end-of-options", string(ours), string(theirs)}})
	var exit *command.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && exit.ExitCode == 1 && len(res.Stdout) > 0: // 1 without output: a bad revision
		return parseMerge(string(res.Stdout))
	case exit != nil && strings.Contains(exit.Stderr, "unrelated histories"):
		return Merged{Messages: []string{"the two have no commit in common"}}, nil
	}
	return Merged{}, err
}

// Clean reports whether the merge has no conflict.
func (m Merged) Clean() bool { return m.Tree != "" && len(m.Files) == 0 }

var objectID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// parseMerge reads "tree NUL (path NUL)* NUL (count NUL path{count} NUL type NUL text NUL)*".
// A clean merge has the tree and the messages alone.
func parseMerge(out string) (m Merged, err error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if !objectID().MatchString(fields[0]) {
		return Merged{}, fmt.Errorf("git merge-tree printed %.80q", out)
	}
	m.Tree = fields[0]
	for fields = fields[1:]; len(fields) > 0 && fields[0] != ""; fields = fields[1:] {
		m.Files = append(m.Files, fields[0])
	}
	if len(fields) > 0 {
		fields = fields[1:]
	}
	for len(fields) > 0 {
		count, err := strconv.Atoi(fields[0])
		if err != nil || count < 0 || count > len(fields)-3 {
			return Merged{}, fmt.Errorf("git merge-tree printed messages like %.80q", fields[0])
		}
		m.Messages = append(m.Messages, strings.TrimSpace(fields[count+2]))
		fields = fields[count+3:]
	}
	return m, nil
}

// attributes writes the .gitattributes files of c below dir.
func (r *Repo) attributes(ctx context.Context, c Commit, dir string) error {
	list, err := r.Out(ctx, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", string(c))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for entry := range strings.SplitSeq(list, "\x00") {
		meta, file, _ := strings.Cut(entry, "\t")
		mode := strings.Fields(meta)
		if path.Base(file) != ".gitattributes" || len(mode) != 3 || !strings.HasPrefix(mode[0], "100") {
			continue
		}
		res, err := r.Do(ctx, Call{Args: []string{"cat-file", "blob", mode[2]}})
		if err == nil {
			err = writeBelow(root, file, res.Stdout)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeBelow(root *os.Root, file string, content []byte) error {
	if dir := path.Dir(file); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return root.WriteFile(file, content, 0o600)
}
