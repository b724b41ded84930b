package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
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
	if h, ok := r.looseCommit(b); ok && (a == b || slices.Contains(h.parents, a)) {
		return true, nil
	}
	if h, ok := r.looseCommit(a); ok && slices.Contains(h.parents, b) {
		return false, nil
	}
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
	if h, ok := r.looseCommit(c); ok {
		return h.tree, nil
	}
	out, err := r.Out(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", string(c)+"^{tree}")
	var exit *command.ExitError
	if errors.As(err, &exit) && exit.ExitCode == 1 && !isDamaged(err) {
		return "", fmt.Errorf("%w: %s", ErrNoSuchRef, c)
	}
	return out, err
}

// Readable tells which of the commits can be read; what is gone, damaged, or no commit is left out. It fails as Do does.
func (r *Repo) Readable(ctx context.Context, commits []Commit) (map[Commit]bool, error) {
	readable := map[Commit]bool{}
	var asked strings.Builder
	for _, c := range commits {
		if _, ok := r.looseCommit(c); ok {
			readable[c] = true
		} else if c != "" {
			asked.WriteString(string(c) + "\n")
		}
	}
	if asked.Len() == 0 {
		return readable, nil
	}
	res, err := r.Do(ctx, Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, Stdin: []byte(asked.String())})
	for line := range strings.Lines(string(res.Stdout)) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "commit" {
			readable[Commit(id)] = true
		}
	}
	return readable, err
}

// Blobs are the contents of the objects that are blobs, by their ids; others are left out. It reads no more than
// [command.Cmd] keeps of an output, and fails as Do does, or where there is more.
func (r *Repo) Blobs(ctx context.Context, ids []string) (map[string][]byte, error) {
	blobs := map[string][]byte{}
	if len(ids) == 0 {
		return blobs, nil
	}
	res, err := r.Do(ctx, Call{Args: []string{"cat-file", "--batch"}, Stdin: []byte(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return nil, err
	}
	for rest := res.Stdout; len(rest) > 0; {
		head, after, _ := bytes.Cut(rest, []byte("\n"))
		fields := strings.Fields(string(head))
		if len(fields) == 2 { // "ID missing", and the like
			rest = after
			continue
		}
		size := -1
		if len(fields) == 3 {
			size, err = strconv.Atoi(fields[2])
		}
		if err != nil || size < 0 || size >= len(after) {
			return nil, fmt.Errorf("git cat-file --batch: what it printed ends within an object, or is too much")
		}
		if fields[1] == "blob" {
			blobs[fields[0]] = after[:size:size]
		}
		rest = after[size+1:]
	}
	return blobs, nil
}

// links are what a commit says of its tree and its parents.
type links struct {
	tree    string
	parents []Commit
}

// maxCommit bounds a commit that is read here, in bytes.
const maxCommit = 1 << 20

// looseCommit reads a commit that has a file of its own, as young ones do, and whose content is what its id says.
// Whatever is not as expected is git's to say.
func (r *Repo) looseCommit(c Commit) (l links, ok bool) {
	if len(c) != 40 { // an id of SHA-256 is git's to compute
		return l, false
	}
	f, err := openRegular(filepath.Join(r.commonDir, "objects", string(c[:2]), string(c[2:])), syscall.O_NOFOLLOW)
	if err != nil {
		return l, false
	}
	defer f.Close()
	object, err := objfile.NewReader(f)
	if err != nil {
		return l, false
	}
	defer object.Close()
	kind, size, err := object.Header()
	if err != nil || kind != plumbing.CommitObject || size > maxCommit {
		return l, false
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(object, body); err != nil || plumbing.ComputeHash(plumbing.CommitObject, body).String() != string(c) {
		return l, false
	}
	return parseLinks(body)
}

// parseLinks reads the head of a commit.
func parseLinks(body []byte) (l links, ok bool) {
	for line := range strings.Lines(string(body)) {
		word, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "tree" && l.tree == "":
			l.tree = id
		case word == "parent":
			l.parents = append(l.parents, Commit(id))
		default:
			return l, l.tree != ""
		}
	}
	return l, l.tree != ""
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

// FileChange is how one file changed.
type FileChange struct {
	// Path is the file, from the top of the tree, with slashes.
	Path string
	// Added is how many lines came; 0 for a binary file.
	Added int
	// Deleted is how many lines went; 0 for a binary file.
	Deleted int
	// OldMode and NewMode are what git calls the mode, in octal; "000000" where there is no file.
	OldMode, NewMode string
	// Old and New are the ids of the contents; all zeros where there is no file.
	Old, New string
}

// ChangedFiles lists what differs between the trees of two commits, in order of the paths;
// a renamed file is one deleted and one added. It fails as Do does.
func (r *Repo) ChangedFiles(ctx context.Context, from, to Commit) ([]FileChange, error) {
	out, err := r.Out(ctx, "diff-tree", "-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--end-of-options", string(from), string(to), "--")
	if err != nil {
		return nil, err
	}
	return parseChanges(out)
}

// parseChanges reads ":mode mode id id status NUL path NUL" records, and then "added TAB deleted TAB path NUL" for each
// of the same files; "-" stands for a binary one.
func parseChanges(out string) (changes []FileChange, err error) {
	records := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	counted := map[string]FileChange{}
	for n := 0; n < len(records) && records[n] != ""; n++ {
		raw, ok := strings.CutPrefix(records[n], ":")
		if !ok {
			c, err := parseNumstat(records[n])
			if err != nil {
				return nil, err
			}
			counted[c.Path] = c
			continue
		}
		about := strings.Fields(raw)
		if n++; len(about) != 5 || n >= len(records) || records[n] == "" {
			return nil, fmt.Errorf("git diff-tree printed %q", raw)
		}
		changes = append(changes, FileChange{Path: records[n], OldMode: about[0], NewMode: about[1], Old: about[2], New: about[3]})
	}
	for n, c := range changes {
		changes[n].Added, changes[n].Deleted = counted[c.Path].Added, counted[c.Path].Deleted
	}
	return changes, nil
}

// parseNumstat reads one record of numbers.
func parseNumstat(record string) (c FileChange, err error) {
	fields := strings.SplitN(record, "\t", 3)
	if len(fields) != 3 || fields[2] == "" {
		return c, fmt.Errorf("git diff-tree printed %q", record)
	}
	c.Path = fields[2]
	if c.Added, err = countLines(fields[0]); err != nil {
		return c, err
	}
	c.Deleted, err = countLines(fields[1])
	return c, err
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
