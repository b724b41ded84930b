package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/config"
	"github.com/beadsorch/orch/cmd/detect"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/install"
	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/stophook/settings"
	"github.com/beadsorch/orch/templates"
)

// initCmd puts orch into a client, and takes it out.
type initCmd struct{ *app }

func newInitCmd(a initCmd) *cobra.Command {
	var yes, undo, shim bool
	var plugin, name string
	c := &cobra.Command{
		Use:   "init",
		Short: "install the stop hook and the command run-tasks for a client, or take them out again",
		Long: `Init adds orch's hooks to the client's settings in this repository, and the command
run-tasks. It shows what it would change and asks; what is not orch's stays as it is,
byte for byte. Run again, it changes nothing. --undo restores the files as they were,
those of all clients, or of one with --client.`,
		Args: cli.AtMost(0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			k, err := workspace.HookedClient(name)
			if err != nil {
				return err
			}
			if a.LookPath(client.QuickProgram) != "" {
				k = k.Quick()
			}
			switch {
			case undo && c.Flags().Changed("client"):
				return a.undoInit(k)
			case undo:
				return a.undoInit(workspace.Hooked()...)
			case plugin != "":
				return a.writePlugin(plugin)
			case shim:
				return a.initialize(k, yes, shimWants)
			}
			return a.initialize(k, yes, nil)
		},
	}
	c.Flags().StringVar(&name, "client", "claude", "the `client`: "+workspace.HookedNames())
	c.Flags().BoolVar(&shim, "shim", false, "instead of changing settings.json, write .claude/hooks/stop.sh, which hands over to orch")
	c.Flags().StringVar(&plugin, "plugin", "", "instead, write a Claude Code plugin into this `folder`, which must not exist")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&undo, "undo", false, "take out what orch init has put in")
	c.MarkFlagsMutuallyExclusive("undo", "plugin", "shim")
	c.MarkFlagsMutuallyExclusive("client", "plugin")
	c.MarkFlagsMutuallyExclusive("client", "shim")
	return c
}

// shimWants is the hook file of teams that have it configured, and the command. What the
// file did before is kept, and undo gives it back.
func shimWants(string) ([]install.Want, error) {
	shim := install.Whole(claude.ShimFile, claude.Shim)
	shim.Over, shim.Program = true, true
	wants := []install.Want{shim}
	for path, text := range claude.Client().Files {
		wants = append(wants, install.Whole(path, text))
	}
	return wants, nil
}

// clientWants is all that is installed for a client: its hooks and commands; for Claude
// Code also the agents' definitions, and what a hand-written stop hook is replaced by.
func clientWants(k client.Client, root string) ([]install.Want, error) {
	wants := install.Client(k)
	if k.Name != "claude" {
		return append(wants, gateWant(detect.Rules(os.DirFS(root)))), nil
	}
	for _, agent := range templates.Agents() {
		text, err := templates.AgentFile(agent)
		if err != nil {
			return nil, err
		}
		want := install.Whole(".claude/agents/"+agent.Name+".md", text)
		want.Yields = true
		wants = append(wants, want)
	}
	wants, checks := takeOver(wants, k, root)
	if len(checks) == 0 {
		checks = detect.Rules(os.DirFS(root))
	}
	return append(wants, gateWant(checks)), nil
}

// gateWant gives the settings a gate, where they have none.
func gateWant(rules []validation.Rule) install.Want {
	return install.Want{Path: workspace.SettingsFile, Over: true, Text: func(before []byte) ([]byte, error) {
		after, _ := config.AddGate(workspace.SettingsFile, before, rules)
		return after, nil
	}}
}

// takeOver replaces a stop hook that a team has written by hand, .claude/hooks/stop.sh: two
// would fight. The file stays; the checks in it are for the gate.
func takeOver(wants []install.Want, k client.Client, root string) ([]install.Want, []validation.Rule) {
	text, err := os.ReadFile(filepath.Join(root, k.Settings))
	script, scriptErr := os.ReadFile(filepath.Join(root, claude.ShimFile))
	commands, hooksErr := settings.Commands(text, k.Hooks[0].Event)
	if errors.Join(err, scriptErr, hooksErr) != nil || string(script) == claude.Shim {
		return wants, nil
	}
	var theirs []settings.Hook
	for _, c := range commands {
		if strings.Contains(c, claude.ShimFile) {
			theirs = append(theirs, settings.Hook{Event: k.Hooks[0].Event, Command: c})
		}
	}
	if len(theirs) == 0 {
		return wants, nil
	}
	add := wants[0].Text
	wants[0].Text = func(before []byte) ([]byte, error) {
		rest, err := settings.Remove(before, theirs)
		if err != nil {
			return nil, err
		}
		return add(rest)
	}
	var checks []validation.Rule
	for n, command := range claude.Checks(string(script)) {
		checks = append(checks, validation.Rule{Name: fmt.Sprintf("check_%d", n+1), Type: validation.Command, Command: command})
	}
	return wants, checks
}

// writePlugin writes orch as a plugin of Claude Code.
func (a initCmd) writePlugin(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return &cli.Error{Code: "EXISTS", What: dir + " is there already", Exit: cli.ExitUsage, Fix: []string{"name a folder that is not"}}
	}
	v, _ := cli.Version()
	if !semantic().MatchString(v) {
		v = "v0.0.0"
	}
	files, err := claude.Plugin(strings.TrimPrefix(v, "v"))
	if err != nil {
		return err
	}
	paths := slices.Sorted(maps.Keys(files))
	for n, path := range paths {
		paths[n] = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(paths[n]), 0o755); err != nil {
			return fmt.Errorf("writing the plugin: %w", err)
		}
		if err := os.WriteFile(paths[n], []byte(files[path]), 0o644); err != nil {
			return fmt.Errorf("writing the plugin: %w", err)
		}
	}
	return a.sayInit("written; claude --plugin-dir "+dir+", then /orch:run-tasks EPIC", paths)
}

var semantic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`) })

// initFile is where init keeps what the files were.
func initFile(common string) string { return filepath.Join(common, "orch", "init.json") }

func (a initCmd) initialize(k client.Client, yes bool, wanted func(root string) ([]install.Want, error)) error {
	root, common := session.Repository(a.Dir)
	if root == "" {
		return cli.NoRepository()
	}
	if wanted == nil {
		wanted = func(root string) ([]install.Want, error) { return clientWants(k, root) }
	}
	wants, err := wanted(root)
	if err != nil {
		return err
	}
	edits, err := install.Edits(root, initFile(common), wants)
	if err != nil {
		return initError(err)
	}
	if len(edits) == 0 {
		return a.sayInit("installed already; nothing to change", nil)
	}
	if !a.JSON {
		for _, e := range edits {
			a.showDiff(e)
		}
	}
	if !yes && !a.JSON {
		if err := a.confirm("Write this?"); err != nil {
			return err
		}
	}
	if err := install.Write(root, initFile(common), edits); err != nil {
		return err
	}
	var files []string
	for _, e := range edits {
		files = append(files, e.Path)
	}
	text := "installed; in " + k.Title + " type " + k.Start + ". orch init --undo takes it out again"
	if k.Trust != "" {
		text += "\nfirst, " + k.Trust
	}
	return a.sayInit(text, files)
}

// initError says how to go on when a file can not be changed; all are left as they are.
func initError(err error) error {
	var file *install.FileError
	switch {
	case !errors.As(err, &file):
		return err
	case errors.Is(err, install.ErrExists):
		return &cli.Error{Code: "FILE_EXISTS", What: file.Path + " is there already, and is not orch's", Exit: cli.ExitUsage, Err: err, Fix: []string{"rename it, then orch init again"}}
	}
	return &cli.Error{Code: "SETTINGS", What: file.Path + " can not be changed; it is left as it is", Why: file.Err.Error(), Exit: cli.ExitUsage, Err: err,
		Fix: []string{"mend the file, then orch init again"}}
}

func (a initCmd) sayInit(text string, files []string) error {
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.init/1", "changed": append([]string{}, files...), "message": text})
		return nil
	}
	fmt.Fprintln(a.Stdout, text)
	return nil
}

// The lines of a diff that are shown: of what stays, beside what changes; and of a new file
// that is longer than a screen.
const (
	diffContext = 3
	diffHead    = 8
	diffScreen  = 32
)

// showDiff prints what changes, a line each.
func (a initCmd) showDiff(e install.Edit) {
	fmt.Fprintln(a.Stdout, e.Path)
	for _, d := range diff.Do(string(e.Before), string(e.Text)) {
		mark := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffInsert: "+", diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffEqual: " "}[d.Type]
		lines := slices.Collect(strings.Lines(d.Text))
		from, to := len(lines), len(lines) // what is left out
		switch {
		case d.Type == diffmatchpatch.DiffEqual && len(lines) > 2*diffContext+1:
			from, to = diffContext, len(lines)-diffContext
		case e.Before == nil && len(lines) > diffScreen:
			from, to = diffHead, len(lines)
		}
		for n, line := range lines {
			if n == from && from < to {
				fmt.Fprintf(a.Stdout, "  %s … %d more lines\n", mark, to-from)
			}
			if n < from || n >= to {
				fmt.Fprintf(a.Stdout, "  %s %s\n", mark, strings.TrimRight(line, "\r\n"))
			}
		}
	}
	fmt.Fprintln(a.Stdout)
}

// confirm asks a person, who has to say yes; a program has to say --yes.
func (a initCmd) confirm(question string) error {
	f, ok := a.Stdin.(*os.File)
	if _, terminal := a.Terminal(a.Stdout); !ok || !terminal {
		return &cli.Error{Code: "NOT_ASKED", What: "nothing was written, since nobody can be asked here", Exit: cli.ExitUsage, Fix: []string{"orch init --yes"}}
	}
	fmt.Fprintf(a.Stdout, "%s [y/N] ", question)
	answer, err := bufio.NewReader(f).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); err != nil || word != "y" && word != "yes" {
		return &cli.Error{Code: "NOT_WANTED", What: "nothing was written", Exit: cli.ExitUsage}
	}
	return nil
}

func (a initCmd) undoInit(clients ...client.Client) error {
	root, common := session.Repository(a.Dir)
	if root == "" {
		return cli.NoRepository()
	}
	wants, err := shimWants(root)
	for _, k := range clients {
		more, moreErr := clientWants(k.Quick(), root) // which takes out either
		wants, err = append(wants, more...), errors.Join(err, moreErr)
	}
	if err != nil {
		return err
	}
	back, changed, err := install.Undo(root, initFile(common), wants)
	if err != nil {
		return initError(err)
	}
	for _, path := range changed {
		fmt.Fprintf(a.Stderr, "%s was changed since; only what is orch's is taken out\n", path)
	}
	if len(back) == 0 {
		return a.sayInit("orch init has put nothing here", nil)
	}
	return a.sayInit("the files are as they were before orch init", back)
}
