package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/text"
)

// BrokenRefError says that a reference is there, and that what it says stands for nothing.
type BrokenRefError struct {
	// Ref is its full name, or HEAD.
	Ref string
	// Path is the file that says it.
	Path string
	// Log is the file that says where it was, if it keeps one.
	Log string
	// Says is what it says, in a few words.
	Says string
}

// Error names the reference, the file and what it says.
func (e *BrokenRefError) Error() string {
	return fmt.Sprintf("the reference %s is broken: %s has %s, which is no commit of this repository", e.Ref, e.Path, e.Says)
}

// CheckHead fails with a [*BrokenRefError] where HEAD stands for no commit though its branch is there: before the first
// commit of a branch there is none. It fails as Do does.
func (r *Repo) CheckHead(ctx context.Context) error {
	_, err := r.Resolve(ctx, "HEAD")
	if !errors.Is(err, ErrNoSuchRef) {
		return err
	}
	head, ok := readHead(r.commonDir)
	if !ok {
		return nil
	}
	broken := &BrokenRefError{Ref: "HEAD", Path: filepath.Join(r.commonDir, "HEAD"), Log: filepath.Join(r.commonDir, "logs", "HEAD"), Says: quoteShort(head)}
	name, isBranch := strings.CutPrefix(strings.TrimSpace(head), "ref: ")
	if !isBranch {
		return broken
	}
	broken.Ref, broken.Path = name, filepath.Join(r.commonDir, filepath.FromSlash(name))
	broken.Log = filepath.Join(r.commonDir, "logs", filepath.FromSlash(name))
	info, err := os.Lstat(broken.Path)
	if err == nil && info.Mode().IsRegular() {
		content, err := readRegular(broken.Path, maxSmall)
		if broken.Says = quoteShort(string(content)); err != nil {
			broken.Says = "what cannot be read (" + err.Error() + ")"
		}
		return broken
	}
	if id, packed := r.packed(name); packed {
		broken.Path, broken.Says = filepath.Join(r.commonDir, "packed-refs"), string(id)
		return broken
	}
	return nil
}

// quoteShort is the beginning of a text, quoted.
func quoteShort(said string) string {
	if strings.TrimSpace(said) == "" {
		return "nothing"
	}
	const most = 60 // cells
	return fmt.Sprintf("%q", text.Clause(said, most))
}
