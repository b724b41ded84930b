// Package setup is what a person does once in a repository, and when something is wrong: init,
// doctor, gc, purge, and the settings explained.
package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/utils/diff"
	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/install"
	"github.com/beadsorch/orch/stophook/session"
)

// initCmd puts orch into a client, and takes it out.
type initCmd struct{ app *cli.Invocation }

// Init is the command orch init.
func Init(app *cli.Invocation) *cobra.Command {
	a := initCmd{app}
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
			if a.app.LookPath(client.QuickProgram) != "" {
				k = k.Quick()
			}
			switch {
			case undo && c.Flags().Changed("client"):
				return a.undoInit(k)
			case undo:
				return a.undoInit(workspace.ClientsWithHooks()...)
			case plugin != "":
				return a.writePlugin(plugin)
			case shim:
				return a.initialize(c.Context(), k, yes, shimWants)
			}
			return a.initialize(c.Context(), k, yes, nil)
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

// initFile is where init keeps what the files were.
func initFile(common string) string { return filepath.Join(common, "orch", "init.json") }

func (a initCmd) initialize(ctx context.Context, k client.Client, yes bool, wanted func(root string) ([]install.Want, error)) error {
	root, common := session.Repository(a.app.Dir)
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
	if !a.app.JSON {
		for _, e := range edits {
			a.showDiff(e)
		}
	}
	if !yes && !a.app.JSON {
		if err := a.confirm("Write this?"); err != nil {
			return err
		}
	}
	before := a.trusts(ctx)
	if err := install.Write(root, initFile(common), edits); err != nil {
		return err
	}
	if before && !a.app.JSON && a.app.Getenv("ORCH_ATTEMPT") == "" { // it was shown, and nothing else has changed
		if err := a.trustShown(ctx); err != nil {
			return err
		}
	}
	var files []string
	for _, e := range edits {
		files = append(files, e.Path)
	}
	text := "installed; in " + k.Title + " type " + k.Start + ". orch init --undo takes it out again"
	if k.Trust != "" {
		text += "\nfirst, " + k.Trust
	}
	if k.Sandbox != "" {
		text += "\nwhat a session's client starts is in no sandbox of orch's; " + k.Sandbox
	}
	return a.sayInit(text, files)
}

// trusts reports whether all that this repository has run, or nothing, is allowed already.
func (a initCmd) trusts(ctx context.Context) bool {
	w, err := workspace.Open(ctx, a.app)
	if err != nil {
		return false
	}
	q, err := trust.Ask(ctx, w.Project, "HEAD")
	return err == nil && q.State(plan.Settings) == trust.Trusted
}

// trustShown keeps as allowed what init has just shown and written.
func (a initCmd) trustShown(ctx context.Context) error {
	w, err := workspace.Open(ctx, a.app)
	if err != nil {
		return err
	}
	q, err := trust.Ask(ctx, w.Project, "HEAD")
	if err != nil {
		return err
	}
	return q.AnswerSettings()
}

func (a initCmd) undoInit(clients ...client.Client) error {
	root, common := session.Repository(a.app.Dir)
	if root == "" {
		return cli.NoRepository()
	}
	wants, err := shimWants(root)
	for _, k := range clients {
		more, moreErr := clientPaths(k.Quick()) // which takes out either
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
		what := "only what is orch's is taken out"
		if slices.ContainsFunc(wants, func(w install.Want) bool { return w.Path == path && w.Take == nil }) {
			what = "it stays as it is"
		}
		fmt.Fprintf(a.app.Stderr, "%s was changed since; %s\n", path, what)
	}
	switch {
	case len(back) == 0:
		return a.sayInit("orch init has put nothing here", nil)
	case len(changed) > 0:
		return a.sayInit("all other files are as they were before orch init", back)
	}
	return a.sayInit("the files are as they were before orch init", back)
}

// initError says how to go on when a file cannot be changed; all are left as they are.
func initError(err error) error {
	var file *install.FileError
	switch {
	case !errors.As(err, &file):
		return err
	case errors.Is(err, install.ErrExists):
		return &cli.Error{Code: "FILE_EXISTS", What: file.Path + " is there already, and is not orch's", Exit: cli.ExitUsage, Err: err, Fix: []string{"rename it, then orch init again"}}
	}
	return &cli.Error{Code: "SETTINGS", What: file.Path + " cannot be changed; it is left as it is", Why: file.Err.Error(), Exit: cli.ExitUsage, Err: err,
		Fix: []string{"mend the file, then orch init again"}}
}

func (a initCmd) sayInit(text string, files []string) error {
	a.app.Print(document.Init{Changed: append([]string{}, files...), Message: text}, text+"\n")
	return nil
}

// The lines of a diff that are shown: of what stays, beside what changes; and of a new file
// that is longer than a screen.
const (
	diffContext = 3
	diffHead    = 14
	diffScreen  = 32
)

// showDiff prints what changes, a line each.
func (a initCmd) showDiff(e install.Edit) {
	fmt.Fprintln(a.app.Stdout, e.Path)
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
				fmt.Fprintf(a.app.Stdout, "  %s … %d more lines\n", mark, to-from)
			}
			if n < from || n >= to {
				fmt.Fprintf(a.app.Stdout, "  %s %s\n", mark, strings.TrimRight(line, "\r\n"))
			}
		}
	}
	fmt.Fprintln(a.app.Stdout)
}

// confirm asks a person, who has to say yes; a program has to say --yes.
func (a initCmd) confirm(question string) error {
	f, ok := a.app.Stdin.(*os.File)
	if _, terminal := a.app.Terminal(a.app.Stdout); !ok || !terminal {
		return &cli.Error{Code: "NOT_ASKED", What: "nothing was written, since nobody can be asked here", Exit: cli.ExitUsage, Fix: []string{"orch init --yes"}}
	}
	fmt.Fprintf(a.app.Stdout, "%s [y/N] ", question)
	answer, err := bufio.NewReader(f).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); err != nil || word != "y" && word != "yes" {
		return &cli.Error{Code: "NOT_WANTED", What: "nothing was written", Exit: cli.ExitUsage}
	}
	return nil
}
