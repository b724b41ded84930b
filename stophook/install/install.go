// Package install puts files of orch's into a repository, and takes them out again.
//
// What a file was before is written down first, so that taking them out gives it back byte
// for byte; a file that somebody has changed since loses only what is orch's.
package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/settings"
)

// Want is one file as it is to be.
type Want struct {
	// Path is relative to the repository.
	Path string
	// Text is what it is to hold, by what it holds now: nil where there is no file.
	Text func(before []byte) ([]byte, error)
	// Take takes what is orch's out of a file that somebody has changed since; nil leaves
	// such a file alone.
	Take func(now []byte) ([]byte, error)
	// Yields says that a file of somebody else's stays, and that this is no error.
	Yields bool
	// Over says that a file of somebody else's is written over; taking ours out gives it
	// back.
	Over bool
	// Program says that a new file may be run.
	Program bool
}

// Whole is a file that is orch's as a whole.
func Whole(path, text string) Want {
	return Want{Path: path, Text: func([]byte) ([]byte, error) { return []byte(text), nil }}
}

// Client is all that puts a client's sessions under orch's hooks.
func Client(c client.Client) []Want {
	var wants []Want
	if c.Settings != "" {
		wants = append(wants, Want{Path: c.Settings,
			Text: func(before []byte) ([]byte, error) { return settings.Install(before, c.Hooks) },
			Take: func(now []byte) ([]byte, error) { return settings.Remove(now, c.Hooks) },
		})
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		wants = append(wants, Whole(path, c.Files[path]))
	}
	for _, path := range slices.Sorted(maps.Keys(c.Append)) {
		wants = append(wants, withAppended(path, c.Append[path]))
	}
	if c.Servers == "" {
		return wants
	}
	tools := Want{Path: c.Servers, Text: putTools, Take: dropTools}
	if c.Servers == c.Settings {
		wants[0].Text, wants[0].Take = chain(wants[0].Text, putTools), chain(wants[0].Take, dropTools)
		return wants
	}
	return append(wants, tools)
}

// withAppended is a file with a text of orch's at its end, once.
func withAppended(path, text string) Want {
	return Want{Path: path, Text: func(before []byte) ([]byte, error) {
		switch {
		case bytes.Contains(before, []byte(text)):
			return before, nil
		case len(bytes.TrimSpace(before)) == 0:
			return []byte(text), nil
		}
		return slices.Concat(bytes.TrimRight(before, "\n"), []byte("\n\n"+text)), nil
	}, Take: func(now []byte) ([]byte, error) {
		return bytes.Replace(bytes.Replace(now, []byte("\n\n"+text), []byte("\n"), 1), []byte(text), nil, 1), nil
	}}
}

// putTools lists orch's tools for a model; dropTools takes them out.
func putTools(before []byte) ([]byte, error) {
	return settings.Put(before, "mcpServers", "orch", map[string]any{"command": "orch", "args": []string{"mcp"}})
}

func dropTools(now []byte) ([]byte, error) { return settings.Drop(now, "mcpServers", "orch") }

// chain applies two edits to a text, one after the other.
func chain(first, second func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		text, err := first(text)
		if err != nil {
			return nil, err
		}
		return second(text)
	}
}

// Edit is one file as it is and as it is to be.
type Edit struct {
	Path   string `json:"path"`
	Before []byte `json:"before"` // nil where there is no file
	After  string `json:"after"`  // the SHA-256 of what orch wrote
	Dirs   int    `json:"dirs"`   // folders that orch made for it
	Text   []byte `json:"-"`      // what orch writes

	program bool
}

// The ways in which a file cannot be changed; none is written then.
var (
	// ErrSettings says that a file is not what it has to be in order to be added to.
	ErrSettings = errors.New("cannot be changed")
	// ErrExists says that a file of somebody else's is in the way.
	ErrExists = errors.New("is there already, and is not orch's")
)

// FileError is a file that cannot be changed, with [ErrSettings] or [ErrExists] in it.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives what is wrong.
func (e *FileError) Unwrap() error { return e.Err }

// Edits are what has to change for the files to be as they are wanted; none when they are.
// It fails with a [FileError].
func Edits(root, record string, wants []Want) ([]Edit, error) {
	kept, err := loadRecord(record)
	if err != nil {
		return nil, err
	}
	var edits []Edit
	for _, w := range wants {
		before, err := readFile(filepath.Join(root, w.Path))
		if err != nil {
			return nil, &FileError{w.Path, err}
		}
		text, err := w.Text(before)
		if err != nil {
			return nil, &FileError{w.Path, fmt.Errorf("%w: %w", ErrSettings, err)}
		}
		if bytes.Equal(before, text) {
			continue
		}
		if before != nil && w.Take == nil && !w.Over && !isOurs(kept, w.Path, before) {
			if w.Yields {
				continue
			}
			return nil, &FileError{w.Path, ErrExists}
		}
		edits = append(edits, Edit{Path: w.Path, Before: before, Text: text, After: digest(text), program: w.Program})
	}
	return edits, nil
}

// isOurs reports whether a file is as an earlier version of orch has written it.
func isOurs(kept []Edit, path string, now []byte) bool {
	return slices.ContainsFunc(kept, func(k Edit) bool { return k.Path == path && k.After == digest(now) })
}

// Write carries edits out, after writing down in the file record what was there. What an
// earlier edit wrote over stays what taking out gives back.
// It makes neither root nor the folder that record's is in anew, where they were removed or moved.
func Write(root, record string, edits []Edit) error {
	if _, err := os.Stat(root); err != nil {
		return fmt.Errorf("writing below %s: %w", root, err)
	}
	kept, err := loadRecord(record)
	if err != nil {
		return err
	}
	for _, e := range edits {
		for dir := filepath.Dir(e.Path); dir != "."; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(root, dir)); errors.Is(err, fs.ErrNotExist) {
				e.Dirs++
			}
		}
		at := slices.IndexFunc(kept, func(k Edit) bool { return k.Path == e.Path })
		if at >= 0 && kept[at].After == digest(e.Before) {
			e.Before, e.Dirs = kept[at].Before, kept[at].Dirs
		}
		if at >= 0 {
			kept = slices.Delete(kept, at, at+1)
		}
		kept = append(kept, e)
	}
	if err := saveRecord(record, kept); err != nil {
		return err
	}
	for _, e := range edits {
		path := filepath.Join(root, e.Path)
		if err := replaceFile(path, e.Text); err != nil {
			return err
		}
		if e.program && e.Before == nil {
			if err := os.Chmod(path, 0o755); err != nil {
				return fmt.Errorf("making %s a program: %w", e.Path, err)
			}
		}
	}
	return nil
}

// Undo gives the files back as they were, those of all wants, and forgets them. It names
// the files that it gave back, and those that were changed since.
func Undo(root, record string, wants []Want) (back, changed []string, err error) {
	kept, err := loadRecord(record)
	if err != nil {
		return nil, nil, err
	}
	var rest []Edit
	for _, e := range kept {
		at := slices.IndexFunc(wants, func(w Want) bool { return w.Path == e.Path })
		if at < 0 {
			rest = append(rest, e)
			continue
		}
		same, err := undoEdit(root, e, wants[at].Take)
		if err != nil {
			return back, changed, err
		}
		back = append(back, e.Path)
		if !same {
			changed = append(changed, e.Path)
		}
	}
	return back, changed, saveRecord(record, rest)
}

// undoEdit restores one file; same is false when it had been changed since.
func undoEdit(root string, e Edit, take func([]byte) ([]byte, error)) (same bool, err error) {
	path := filepath.Join(root, e.Path)
	now, err := readFile(path)
	if err != nil || now == nil {
		return true, err
	}
	switch {
	case digest(now) == e.After && e.Before == nil:
		if err := os.Remove(path); err != nil {
			return true, fmt.Errorf("removing %s: %w", e.Path, err)
		}
		removeDirs(filepath.Dir(path), e.Dirs)
		return true, nil
	case digest(now) == e.After:
		return true, replaceFile(path, e.Before)
	case take == nil:
		return false, nil
	}
	rest, err := take(now)
	if err != nil {
		return false, &FileError{e.Path, fmt.Errorf("%w: %w", ErrSettings, err)}
	}
	return false, replaceFile(path, rest)
}

// removeDirs removes the folders that were made for a file, as far as they are empty.
func removeDirs(dir string, n int) {
	for ; n > 0 && os.Remove(dir) == nil; n-- {
		dir = filepath.Dir(dir)
	}
}

func loadRecord(record string) (kept []Edit, err error) {
	text, err := readFile(record)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what was there: %w", err)
	}
	return kept, nil
}

// saveRecord records what the files were; without edits there is no record.
func saveRecord(record string, kept []Edit) error {
	if len(kept) == 0 {
		if err := os.Remove(record); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forgetting what was there: %w", err)
		}
		return nil
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping what was there: %w", err)
	}
	if err := os.Mkdir(filepath.Dir(record), 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // the git directory is there, or was moved
		return fmt.Errorf("keeping what was there: %w", err)
	}
	return replaceFile(record, text)
}

// readFile is the content of a file; nil where there is none.
func readFile(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is there: %w", err)
	}
	return append([]byte{}, b...), nil
}

// replaceFile replaces a file as a whole; one that is there keeps its mode, and its place
// behind a link.
func replaceFile(path string, text []byte) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, text, 0o644, renameio.WithExistingPermissions()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
