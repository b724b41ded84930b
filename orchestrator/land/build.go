package land

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Message is what a landed commit says.
type Message struct {
	// Epic is the id of the epic.
	Epic string
	// Task is the id of the task.
	Task string
	// Attempt is the number of the attempt, from 1; 0 for the epic as a whole.
	Attempt int
	// Title becomes the subject; empty means the task's id.
	Title string
	// Sandbox is what bounded the agents; "" says nothing.
	Sandbox string
	// Body is free text below the subject; it may be empty.
	Body string
}

// Candidate is a commit that may become the branch's tip.
type Candidate struct {
	// Old is the branch's tip that it was built on.
	Old git.Commit
	// Commit is the candidate, with the parents Old and Attempt.
	Commit git.Commit
	// Tree is its tree.
	Tree string
	// Attempt is the commit that is to land.
	Attempt git.Commit
}

// ConflictError says that a commit does not merge.
type ConflictError struct {
	// Files are the paths with conflicts; none when the two have no common history.
	Files []string
	// Messages are git's words, one a conflict.
	Messages []string
}

// Error names the first of the files.
func (e *ConflictError) Error() string {
	switch len(e.Files) {
	case 0:
		return "conflict: " + strings.Join(e.Messages, "; ")
	case 1:
		return "conflict in " + e.Files[0]
	}
	return fmt.Sprintf("conflict in %s and %d more", e.Files[0], len(e.Files)-1)
}

// Build merges attempt into old and commits the result, without moving any reference. The
// author is the attempt's. It fails with a [*ConflictError], or as git does.
func Build(ctx context.Context, repo *git.Repo, old, attempt git.Commit, m Message) (Candidate, error) {
	merged, err := repo.Merge(ctx, old, attempt)
	if err != nil {
		return Candidate{}, err
	}
	if !merged.Clean() {
		return Candidate{}, &ConflictError{Files: merged.Files, Messages: merged.Messages}
	}
	author, err := authorOf(ctx, repo, attempt)
	if err != nil {
		return Candidate{}, err
	}
	res, err := repo.Do(ctx, git.Call{Env: author, Stdin: []byte(m.text()),
		Args: []string{"commit-tree", "-p", string(old), "-p", string(attempt), "-F", "-", merged.Tree}})
	if err != nil {
		return Candidate{}, err
	}
	c := git.Commit(strings.TrimSuffix(string(res.Stdout), "\n"))
	return Candidate{Old: old, Commit: c, Tree: merged.Tree, Attempt: attempt}, nil
}

// text is the message, its trailers in a paragraph of their own at the end.
func (m Message) text() string {
	message := cmp.Or(text.OneLine(m.Title), text.OneLine(m.Task), "untitled") + "\n\n" // trailers are none without a subject
	if body := strings.TrimSpace(strings.ReplaceAll(m.Body, "\x00", "")); body != "" {
		message += body + "\n\n"
	}
	message += fmt.Sprintf("%s: %s\n%s: %s\n%s: %s\n", trailerEpic, url.PathEscape(m.Epic),
		trailerTask, url.PathEscape(m.Task), trailerAttempt, m.key())
	if m.Sandbox != "" {
		message += fmt.Sprintf("%s: %s\n", trailerSandbox, text.OneLine(m.Sandbox))
	}
	return message
}

// key is the value of the Orch-Attempt trailer.
func (m Message) key() string { return fmt.Sprintf("%s/%d", url.PathEscape(m.Task), m.Attempt) }

// Join gives a commit that has the work of both tip and other: one of them, where it has the other
// among its ancestors, else their merge, whose author is other's. It moves no reference. It fails with
// a [*ConflictError], or as git does.
func Join(ctx context.Context, repo *git.Repo, tip, other git.Commit, subject string) (git.Commit, error) {
	if done, err := repo.IsAncestor(ctx, other, tip); err != nil || done {
		return tip, err
	}
	if forward, err := repo.IsAncestor(ctx, tip, other); err != nil || forward {
		return other, err
	}
	merged, err := repo.Merge(ctx, tip, other)
	if err != nil {
		return "", err
	}
	if !merged.Clean() {
		return "", &ConflictError{Files: merged.Files, Messages: merged.Messages}
	}
	author, err := authorOf(ctx, repo, other)
	if err != nil {
		return "", err
	}
	res, err := repo.Do(ctx, git.Call{Env: author, Stdin: []byte(text.OneLine(subject) + "\n"),
		Args: []string{"commit-tree", "-p", string(tip), "-p", string(other), "-F", "-", merged.Tree}})
	return git.Commit(strings.TrimSuffix(string(res.Stdout), "\n")), err
}
