package trust

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/git"
)

// flags say what orch trust is to do.
type flags struct {
	show, revoke bool
	base         string // the revision that agents will start from
}

// Command is orch trust.
func Command(app *cli.Invocation) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "trust [HASH]",
		Short: "see what a repository would have run on your machine, and allow it",
		Long: `Trust shows all that orch, and the agent's client, would run by what this repository
says, and asks. The answer is kept outside of the repository, for this repository
wherever it is; a change of what would run asks again, and shows what has changed.

With the first 12 digits of its digest, or more, it allows exactly that plan and
asks nothing. For programs that drive orch there is --trust HASH, or ORCH_TRUST.`,
		Example: "  orch trust\n  orch trust --show\n  orch trust 3f9a2c81d07e\n  orch trust --revoke",
		Args:    cli.AtMost(1, "at most one digest"),
		RunE: func(c *cobra.Command, args []string) error {
			return runCommand(c.Context(), app, args, f)
		},
	}
	c.Flags().BoolVar(&f.show, "show", false, "only show it")
	c.Flags().BoolVar(&f.revoke, "revoke", false, "forget all that was said of this repository")
	c.Flags().StringVar(&f.base, "base", "HEAD", "the `revision` that agents will start from, where it is another one")
	return c
}

// questionHere is the question about the project in the current folder. When all answers are to be
// forgotten, it does not matter what would run.
func questionHere(ctx context.Context, app *cli.Invocation, f flags) (*Question, error) {
	open := project.Open
	if f.revoke {
		open = project.Read
	}
	w, err := open(ctx, app, config.Kinds{})
	if errors.Is(err, git.ErrNotRepository) {
		return AskFolder(app, app.Dir)
	}
	if err != nil {
		return nil, err
	}
	return Ask(ctx, w, f.base)
}

func runCommand(ctx context.Context, app *cli.Invocation, args []string, f flags) error {
	if !f.show && app.Getenv("ORCH_ATTEMPT") != "" {
		return &cli.Error{Code: "NOT_A_PERSON", What: "an agent does not say what is trusted", Exit: cli.ExitUsage, Fix: []string{"ask the person who started orch"}}
	}
	if f.show && f.revoke {
		return cli.Usage("--show and --revoke do not go together")
	}
	q, err := questionHere(ctx, app, f)
	if err != nil {
		return err
	}
	switch {
	case f.revoke:
		n, err := q.Revoke()
		if err != nil {
			return err
		}
		app.Print(document.TrustRevoked{State: string(Untrusted), Revoked: n}, fmt.Sprintf("%d %s forgotten\n", n, cli.Plural(n, "answer", "answers")))
		return nil
	case len(args) == 1 && !f.show:
		return q.allow(args[0])
	case f.show || app.JSON:
		q.say(q.Text() + "\n" + q.stateText())
		return nil
	case q.State() == Trusted:
		q.say(q.Text() + "\n" + q.stateText())
		return nil
	case !q.interactive():
		fmt.Fprint(app.Stdout, q.Text())
		return q.refusal(q.State(), "")
	}
	yes, err := q.confirm()
	if err != nil {
		return err
	}
	if !yes {
		q.say("not trusted; orch trust asks again\n")
		return cli.ExitWith(cli.ExitNotReady)
	}
	q.say("trusted\n")
	return nil
}

// allow records a yes to the plan that is there now, if the word names it.
func (q *Question) allow(word string) error {
	if !plan.IsDigest(word) {
		return noDigest(word + " is no digest")
	}
	if !plan.Matches(q.Plan.Digest(), word) {
		return &cli.Error{Code: "UNTRUSTED", What: "that is not the digest of what would run now", Exit: cli.ExitNotReady,
			Why: "it is " + q.Plan.Digest(), Fix: []string{"orch trust --show", fmt.Sprintf("name %d digits of it or more", plan.MinDigits)}}
	}
	if err := q.Answer(true); err != nil {
		return err
	}
	q.say("trusted\n")
	return nil
}

func (q *Question) stateText() string {
	digest := q.Plan.Digest()
	switch state := q.State(); state {
	case Trusted:
		return "trusted   " + digest + "\n"
	default:
		return fmt.Sprintf("%s   %s\norch trust %s   allows exactly these\n", state, digest, plan.Short(digest))
	}
}

// say prints the plan and its state as a document, or the text.
func (q *Question) say(text string) {
	doc := document.Trust{Digest: q.Plan.Digest(), State: string(q.State()), Needed: q.State() != Trusted,
		Repository: q.identity, Store: q.store.dir(), Items: append(plan.Plan{}, q.Plan...), Changes: []plan.Change{}, Fix: "orch trust " + plan.Short(q.Plan.Digest())}
	if last, ok := q.before(); ok && q.State() != Trusted {
		doc.Changes, doc.TrustedAt = append([]plan.Change{}, q.Plan.Diff(last.Plan)...), last.At
	}
	q.app.Print(doc, text)
}
