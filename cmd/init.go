package cmd

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/google/renameio/v2"
	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/claude"
)

// initCmd puts orch into a client, and takes it out.
type initCmd struct{ *app }

func newInitCmd(a initCmd) *cobra.Command {
	var yes, undo, shim bool
	var plugin string
	c := &cobra.Command{
		Use:   "init",
		Short: "install the stop hook and /run-tasks for Claude Code here, or take them out again",
		Long: `Init adds orch's hooks to .claude/settings.json and the command /run-tasks to
.claude/commands. It shows what it would change and asks; what is not orch's stays
as it is, byte for byte. Run again, it changes nothing. --undo restores the files
as they were.`,
		Args: atMost(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case undo:
				return a.undoInit()
			case plugin != "":
				return a.writePlugin(plugin)
			case shim:
				return a.initialize(yes, shimEdits)
			}
			return a.initialize(yes, initEdits)
		},
	}
	c.Flags().BoolVar(&shim, "shim", false, "instead of changing settings.json, write .claude/hooks/stop.sh, which hands over to orch")
	c.Flags().StringVar(&plugin, "plugin", "", "instead, write a Claude Code plugin into this `folder`, which must not exist")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&undo, "undo", false, "take out what orch init has put in")
	c.MarkFlagsMutuallyExclusive("undo", "plugin", "shim")
	return c
}

// The files that init changes, in the repository.
const (
	claudeSettings = ".claude/settings.json"
	claudeCommand  = ".claude/commands/run-tasks.md"
	claudeShim     = ".claude/hooks/stop.sh"
)

// edit is one file as it is and as it is to be.
type edit struct {
	Path   string `json:"path"`
	Before []byte `json:"before"` // nil where there is no file
	After  string `json:"after"`  // the SHA-256 of what orch wrote
	Dirs   int    `json:"dirs"`   // folders that orch made for it
	text   []byte
}

func initEdits(root string) ([]edit, error) {
	settings, err := readOr(filepath.Join(root, claudeSettings))
	if err != nil {
		return nil, err
	}
	after, err := claude.Install(settings, claude.Hooks())
	if err != nil {
		return nil, &userError{Code: "SETTINGS", What: claudeSettings + " can not be changed; it is left as it is", Why: err.Error(), Exit: exitUsage, Err: err,
			Fix: []string{"mend the file, then orch init again"}}
	}
	command, err := readOr(filepath.Join(root, claudeCommand))
	if err != nil {
		return nil, err
	}
	if command != nil && string(command) != claude.Command {
		return nil, &userError{Code: "COMMAND_EXISTS", What: claudeCommand + " is there already, and is not orch's", Exit: exitUsage,
			Fix: []string{"rename it, then orch init again"}}
	}
	var edits []edit
	for _, e := range []edit{{Path: claudeSettings, Before: settings, text: after}, {Path: claudeCommand, Before: command, text: []byte(claude.Command)}} {
		if !bytes.Equal(e.Before, e.text) {
			e.After = digest(e.text)
			edits = append(edits, e)
		}
	}
	return edits, nil
}

// shimEdits writes the hook file of teams that have it configured, and the command. What
// the file did before is kept, and undo gives it back.
func shimEdits(root string) ([]edit, error) {
	var edits []edit
	for path, text := range map[string]string{claudeShim: claude.Shim, claudeCommand: claude.Command} {
		was, err := readOr(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		if string(was) != text {
			edits = append(edits, edit{Path: path, Before: was, text: []byte(text), After: digest([]byte(text))})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return strings.Compare(a.Path, b.Path) })
	return edits, nil
}

// writePlugin writes orch as a plugin of Claude Code.
func (a initCmd) writePlugin(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return &userError{Code: "EXISTS", What: dir + " is there already", Exit: exitUsage, Fix: []string{"name a folder that is not"}}
	}
	v, _ := version()
	if !semantic().MatchString(v) {
		v = "v0.0.0"
	}
	files, err := claude.Plugin(strings.TrimPrefix(v, "v"))
	if err != nil {
		return err
	}
	var edits []edit
	for path, text := range files {
		if err := writeFile(filepath.Join(dir, path), []byte(text)); err != nil {
			return err
		}
		edits = append(edits, edit{Path: filepath.Join(dir, path)})
	}
	slices.SortFunc(edits, func(a, b edit) int { return strings.Compare(a.Path, b.Path) })
	return a.sayInit("written; claude --plugin-dir "+dir+", then /orch:run-tasks EPIC", edits)
}

var semantic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`) })

// readOr is the content of a regular file; nil where there is none.
func readOr(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is there: %w", err)
	}
	return append([]byte{}, b...), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

var errNoRepository = &userError{Code: "NO_REPOSITORY", What: "this is not a git repository", Exit: exitNotReady, Fix: []string{"cd into one, or orch -C FOLDER"}}

func (a initCmd) initialize(yes bool, wanted func(root string) ([]edit, error)) error {
	root, common := gitDirs(a.Dir)
	if root == "" {
		return errNoRepository
	}
	edits, err := wanted(root)
	if err != nil {
		return err
	}
	if len(edits) == 0 {
		return a.sayInit("installed already; nothing to change", nil)
	}
	if !a.json {
		for _, e := range edits {
			a.showDiff(e)
		}
	}
	if !yes && !a.json {
		if err := a.confirm("Write this?"); err != nil {
			return err
		}
	}
	if err := keepEdits(common, root, edits); err != nil {
		return err
	}
	for _, e := range edits {
		path := filepath.Join(root, e.Path)
		if err := writeFile(path, e.text); err != nil {
			return err
		}
		if e.Path == claudeShim && e.Before == nil {
			if err := os.Chmod(path, 0o755); err != nil {
				return fmt.Errorf("making %s a program: %w", e.Path, err)
			}
		}
	}
	return a.sayInit("installed; in Claude Code type /run-tasks EPIC. orch init --undo takes it out again", edits)
}

func (a initCmd) sayInit(text string, edits []edit) error {
	files := []string{}
	for _, e := range edits {
		files = append(files, e.Path)
	}
	if a.json {
		writeJSON(a.Stdout, map[string]any{"schema": "orch.init/1", "changed": files, "message": text})
		return nil
	}
	fmt.Fprintln(a.Stdout, text)
	return nil
}

// showDiff prints what changes, a line each.
func (a initCmd) showDiff(e edit) {
	fmt.Fprintf(a.Stdout, "%s\n", e.Path)
	for _, d := range diff.Do(string(e.Before), string(e.text)) {
		mark := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffInsert: "+", diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffEqual: " "}[d.Type]
		for line := range strings.Lines(d.Text) {
			fmt.Fprintf(a.Stdout, "  %s %s\n", mark, strings.TrimRight(line, "\r\n"))
		}
	}
	fmt.Fprintln(a.Stdout)
}

// confirm asks a person, who has to say yes; a program has to say --yes.
func (a initCmd) confirm(question string) error {
	f, ok := a.Stdin.(*os.File)
	if _, terminal := a.terminal(a.Stdout); !ok || !terminal {
		return &userError{Code: "NOT_ASKED", What: "nothing was written, since nobody can be asked here", Exit: exitUsage, Fix: []string{"orch init --yes"}}
	}
	fmt.Fprintf(a.Stdout, "%s [y/N] ", question)
	answer, err := bufio.NewReader(f).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); err != nil || word != "y" && word != "yes" {
		return &userError{Code: "NOT_WANTED", What: "nothing was written", Exit: exitUsage}
	}
	return nil
}

// initFile is where init keeps what the files were.
func initFile(common string) string { return filepath.Join(common, "orch", "init.json") }

// keepEdits writes down what the files were before, so that undo can give it back. What
// an earlier init wrote over stays what undo gives back.
func keepEdits(common, root string, edits []edit) error {
	kept, err := keptEdits(common)
	if err != nil {
		return err
	}
	for n, e := range edits {
		for dir := filepath.Dir(e.Path); dir != "."; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(root, dir)); errors.Is(err, fs.ErrNotExist) {
				edits[n].Dirs++
			}
		}
		e = edits[n]
		for _, k := range kept {
			if k.Path == e.Path && k.After == digest(e.Before) {
				e.Before, e.Dirs = k.Before, k.Dirs
			}
		}
		kept = append(deleteEdit(kept, e.Path), e)
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping what was there: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(initFile(common)), 0o700); err != nil {
		return fmt.Errorf("keeping what was there: %w", err)
	}
	return writeFile(initFile(common), text)
}

func deleteEdit(kept []edit, path string) (out []edit) {
	for _, k := range kept {
		if k.Path != path {
			out = append(out, k)
		}
	}
	return out
}

func keptEdits(common string) (kept []edit, err error) {
	text, err := readOr(initFile(common))
	if err == nil && text != nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what init kept: %w", err)
	}
	return kept, nil
}

// writeFile replaces a file as a whole; one that is there keeps its mode.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, text, 0o644, renameio.WithExistingPermissions()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func (a initCmd) undoInit() error {
	root, common := gitDirs(a.Dir)
	if root == "" {
		return errNoRepository
	}
	kept, err := keptEdits(common)
	if err != nil {
		return err
	}
	if len(kept) == 0 {
		return a.sayInit("orch init has put nothing here", nil)
	}
	for _, e := range kept {
		if err := a.undoEdit(root, e); err != nil {
			return err
		}
	}
	if err := os.Remove(initFile(common)); err != nil {
		return fmt.Errorf("forgetting what init kept: %w", err)
	}
	return a.sayInit("the files are as they were before orch init", kept)
}

// undoEdit gives a file back as it was; one that was changed since loses only what is
// orch's.
func (a initCmd) undoEdit(root string, e edit) error {
	path := filepath.Join(root, e.Path)
	now, err := readOr(path)
	if err != nil || now == nil {
		return err
	}
	switch {
	case digest(now) == e.After && e.Before == nil:
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing %s: %w", e.Path, err)
		}
		return removeDirs(filepath.Dir(path), e.Dirs)
	case digest(now) == e.After:
		return writeFile(path, e.Before)
	case e.Path == claudeSettings:
		rest, err := claude.Remove(now, claude.Hooks())
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stderr, "%s was changed since; only orch's hooks are taken out\n", e.Path)
		return writeFile(path, rest)
	}
	fmt.Fprintf(a.Stderr, "%s was changed since; it is left as it is\n", e.Path)
	return nil
}

// removeDirs removes the folders that were made for a file, as far as they are empty.
func removeDirs(dir string, n int) error {
	for ; n > 0; n-- {
		if err := os.Remove(dir); err != nil {
			return nil // somebody else has put something in
		}
		dir = filepath.Dir(dir)
	}
	return nil
}

// hookFinding is what doctor says of the stop hook in Claude Code.
func (w *workspace) hookFinding() finding {
	settings, err := readOr(filepath.Join(w.root(), claudeSettings))
	if err != nil {
		return finding{"stop hook", false, firstLine(err.Error()), "orch init"}
	}
	if settings == nil {
		return finding{"stop hook", true, "not installed (orch init); orch run needs none", ""}
	}
	commands, err := claude.Commands(settings, "Stop")
	if err != nil {
		return finding{"stop hook", false, firstLine(err.Error()), "mend " + claudeSettings}
	}
	ours, others := 0, []string{}
	for _, c := range commands {
		if c == claude.Hooks()[0].Command {
			ours++
		} else {
			others = append(others, c)
		}
	}
	switch {
	case ours > 1:
		return finding{"stop hook", false, fmt.Sprintf("installed %d times", ours), "orch init --undo, then orch init"}
	case ours == 1 && len(others) > 0:
		return finding{"stop hook", false, "installed beside another one, which may fight it: " + others[0], "take that out of " + claudeSettings}
	case ours == 0:
		return finding{"stop hook", true, "not installed (orch init); orch run needs none", ""}
	case lookPath(w.env("PATH"), "orch") == "":
		return finding{"stop hook", false, "installed, and orch is not on PATH: it would never fire", "put orch on PATH"}
	}
	return finding{"stop hook", true, "installed once, decides as " + string(stophook.NotBound) + " for unbound sessions", ""}
}
