// Package trust asks a person before orch starts a program that a repository names: what
// would run is shown in full, and the answer is kept outside of the repository.
package trust

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/registry"
)

// Variable is the environment variable that allows exactly the plan whose digest it is, as
// the flag --trust does: for programs that drive orch, where no person can be asked.
const Variable = "ORCH_TRUST"

// Question is a plan, and what a person has said of it.
type Question struct {
	app      *cli.Invocation
	store    store
	identity string
	where    string // the repository, for people
	base     string // the revision whose files are in the plan, when it is not HEAD
	head     string // the digest of the plan without these
	records  []record

	// Plan is what would run now.
	Plan plan.Plan
}

// Ask makes the question of a project. Of the agent clients' files those in the main work
// tree and in HEAD count, and those in base, the revision that agents start from, as far as
// they were never confirmed. It fails where the plan or the answers cannot be read.
func Ask(ctx context.Context, w *project.Project, base string) (*Question, error) {
	id, err := identityOf(ctx, w.Repo, w.Root)
	if err != nil {
		return nil, err
	}
	q, err := newQuestion(w.Invocation, id, w.Root, w.Repo.CommonDir(), w.Worktrees())
	if err != nil {
		return nil, err
	}
	q.Plan, err = gatherPlan(ctx, w)
	if q.head = q.Plan.Digest(); err != nil || base == "HEAD" {
		return q, err
	}
	items, err := filesOf(ctx, w, base)
	if err != nil {
		return nil, err
	}
	confirmed := append(q.confirmed(), q.Plan)
	items = slices.DeleteFunc(items, func(i plan.Item) bool {
		return slices.ContainsFunc(confirmed, func(c plan.Plan) bool { return c.Has(i) })
	})
	if len(items) > 0 {
		q.Plan, q.base = plan.New(append(items, q.Plan...)...), base
	}
	return q, nil
}

// Start is for a command that starts agents or the gate: it asks the person where one is
// there, and has not been asked yet; word and base are as for [Question.Require] and [Ask].
// once is the digest of what the word has allowed, for what is done for the agents; "" where nothing
// but the answers did. It fails as these do.
func Start(ctx context.Context, w *project.Project, word, base string) (once string, err error) {
	q, err := Ask(ctx, w, base)
	if err != nil {
		return "", err
	}
	refused := q.Require(word, plan.Settings, plan.Hooks)
	switch {
	case refused == nil && word != "":
		return q.head, nil
	case refused == nil || word != "" || q.State(plan.Settings, plan.Hooks) == Denied || !q.interactive():
		return "", refused
	}
	yes, err := q.confirm()
	if err != nil {
		return "", err
	}
	if !yes {
		return "", q.refusal(Denied, "")
	}
	return "", nil
}

// Check is [Start] where nobody is asked.
func Check(ctx context.Context, w *project.Project, word string, parts ...plan.Part) error {
	q, err := Ask(ctx, w, "HEAD")
	if err != nil {
		return err
	}
	return q.Require(word, parts...)
}

// Flag adds --trust to a command.
func Flag(c *cobra.Command, word *string) {
	c.Flags().StringVar(word, "trust", "", "allow, this once, exactly the plan with this `digest` (orch trust --show); "+Variable+" does the same")
}

// AskFolder makes the question of a folder that is no repository: only a loop can be there.
// It fails as Ask does.
func AskFolder(app *cli.Invocation, dir string) (*Question, error) {
	id, err := identityOf(context.Background(), nil, dir)
	if err != nil {
		return nil, err
	}
	q, err := newQuestion(app, id, dir)
	if err != nil {
		return nil, err
	}
	items, err := LoopItems(dir)
	q.Plan = plan.New(items...)
	return q, err
}

// newQuestion reads the answers about a repository; dirs are its folders, in which answers
// never are.
func newQuestion(app *cli.Invocation, id string, dirs ...string) (*Question, error) {
	home := project.PersonDir(app.Process, "XDG_STATE_HOME", ".local/state", dirs...)
	if home == "" {
		return nil, &cli.Error{Code: "NO_STATE", What: "there is no folder outside of the repository in which orch could keep what you trust", Exit: cli.ExitNotReady,
			Fix: []string{"set HOME, or XDG_STATE_HOME, to a folder of yours outside of it"}}
	}
	sum := sha256.Sum256([]byte(id))
	q := &Question{app: app, store: store{home: home, name: hex.EncodeToString(sum[:16])}, identity: id, where: dirs[0]}
	var err error
	if q.records, err = q.store.all(); err != nil {
		return nil, &cli.Error{Code: "NO_STATE", What: "what you trust cannot be read", Why: err.Error(), Exit: cli.ExitNotReady, Err: err,
			Fix: []string{"ls -ld " + q.store.dir() + " and the folders above: they must be yours, no links, and nobody else may write them"}}
	}
	return q, nil
}

// State is what a person has said of a plan.
type State string

// The states.
const (
	// Trusted plans run.
	Trusted State = "trusted"
	// Untrusted ones nobody was asked of.
	Untrusted State = "untrusted"
	// Denied ones were refused.
	Denied State = "denied"
)

// State is what a person has said of some parts of the plan; of all where none are named.
func (q *Question) State(parts ...plan.Part) State {
	if len(parts) == 0 {
		parts = []plan.Part{plan.Settings, plan.Hooks, plan.Loop}
	}
	switch {
	case q.Plan.Covered(q.confirmed(), parts...):
		return Trusted
	case slices.ContainsFunc(q.records, func(r record) bool { return r.Denied && r.Digest == q.Plan.Digest() }):
		return Denied
	}
	return Untrusted
}

// confirmed are the plans that were trusted.
func (q *Question) confirmed() (plans []plan.Plan) {
	for _, r := range q.records {
		if !r.Denied {
			plans = append(plans, r.Plan)
		}
	}
	return plans
}

// before is the newest answer that was yes; ok is false where there is none.
func (q *Question) before() (last record, ok bool) {
	for _, r := range q.records {
		if !r.Denied {
			last, ok = r, true
		}
	}
	return last, ok
}

// allowed reports whether one of the words, from the command line or the environment, names
// this plan.
func (q *Question) allowed(words ...string) bool {
	return slices.ContainsFunc(append(words, q.app.Getenv(Variable)), func(word string) bool { return plan.Matches(q.Plan.Digest(), word) })
}

// Require lets a command go on that runs these parts of the plan. word is what the command
// line says after --trust. It fails with the error UNTRUSTED where nobody has confirmed them.
func (q *Question) Require(word string, parts ...plan.Part) error {
	state := q.State(parts...)
	if word != "" && !plan.IsDigest(word) {
		return noDigest("--trust is " + word + ", which is no digest")
	}
	if word == "" && state == Trusted || q.allowed(word) {
		return nil
	}
	if v := q.app.Getenv(Variable); v != "" && !plan.IsDigest(v) {
		return noDigest(Variable + " is " + v + ", which is no digest")
	}
	return q.refusal(state, word)
}

// noDigest is the error of a word that names no plan, whatever that is.
func noDigest(what string) error {
	return &cli.Error{Code: "USAGE", What: text.Clause(what, 200), Exit: cli.ExitUsage,
		Why: fmt.Sprintf("a plan is named by %d to %d hexadecimal digits; nothing has run", plan.MinDigits, plan.MaxDigits),
		Fix: []string{"orch trust --show   shows what would run, and its digest"}}
}

// RequireHooks is [Question.Require] for the programs of these hooks.
func (q *Question) RequireHooks(hooks []registry.Hook) error {
	var items []plan.Item
	for _, h := range hooks {
		if h.Enabled {
			items = append(items, HookItems(h)...)
		}
	}
	return q.RequireItems(items)
}

// RequireItems is [Question.Require] for hooks' programs and loops' commands.
func (q *Question) RequireItems(items []plan.Item) error {
	if plan.New(items...).Covered(q.confirmed(), plan.Hooks, plan.Loop) {
		return nil
	}
	there := !slices.ContainsFunc(items, func(i plan.Item) bool { return !q.Plan.Has(i) })
	if there && q.allowed() {
		return nil
	}
	return q.refusal(q.State(), "")
}

// Needed is the document about the trust that a later command needs; refused is what
// [Question.Require] has said.
func (q *Question) Needed(refused error) document.TrustNeeded {
	doc := document.TrustNeeded{Needed: refused != nil, State: string(q.State(plan.Settings)), Digest: q.Plan.Digest()}
	if refused != nil {
		doc.Fix = "orch trust"
		if q.base != "" {
			doc.Fix = "orch trust --base " + q.base
		}
	}
	return doc
}

// refusal is the error UNTRUSTED.
func (q *Question) refusal(state State, word string) error {
	digest, base := q.Plan.Digest(), ""
	if q.base != "" {
		base = " --base " + q.base
	}
	e := &cli.Error{Code: "UNTRUSTED", Exit: cli.ExitNotReady, What: "the repository names programs that nobody has allowed on this machine",
		Why: fmt.Sprintf("%d %s would run, or settle what may run; nothing of it has run", len(q.Plan), cli.Plural(len(q.Plan), "thing", "things")),
		Fix: []string{"orch trust" + base + "   shows them, and asks", "orch trust" + base + " " + plan.Short(digest) + "   allows exactly these"}}
	last, changed := q.before()
	switch {
	case word != "" || q.app.Getenv(Variable) != "":
		e.What = "what would run is not what --trust or " + Variable + " allows"
		e.Why = "its digest is " + digest
	case state == Denied:
		e.What = "you have refused what this repository wants to run"
	case changed:
		changes := q.Plan.Diff(last.Plan)
		e.What = "what the repository wants to run has changed since you allowed it"
		e.Why = fmt.Sprintf("since %s:\n%s", last.At.Local().Format("2 Jan 2006 15:04"), strings.TrimRight(plan.ShowDiff(changes), "\n"))
	}
	return e
}

// Answer keeps what a person has said of the plan. It fails where that cannot be written.
func (q *Question) Answer(yes bool) error {
	version, _ := cli.Version()
	r := record{Digest: q.Plan.Digest(), Denied: !yes, At: q.app.Now().UTC().Truncate(time.Second), By: personName(q.app.Process), Identity: q.store.name, Repository: q.where, Orch: version, Plan: q.Plan.Clean(q.app.Redact.String)}
	if kept := r.Plan.Digest(); kept != r.Digest {
		r.Kept = kept
	}
	if last := len(q.records) - 1; last >= 0 && !r.At.After(q.records[last].At) {
		r.At = q.records[last].At.Add(time.Nanosecond) // the newest answer is the last one
	}
	if !yes { // what it was taken for before is taken back
		settings := q.Plan.Of(plan.Settings)
		if _, err := q.store.forget(func(old record) bool { return !old.Denied && old.Plan.Of(plan.Settings).Equal(settings) }); err != nil {
			return err
		}
	}
	if err := q.store.keep(r); err != nil {
		return err
	}
	var err error
	q.records, err = q.store.all()
	return err
}

// AnswerSettings keeps a yes to the settings alone, where they were shown in another way. It
// fails as Answer does.
func (q *Question) AnswerSettings() error {
	settings := *q
	settings.Plan = q.Plan.Of(plan.Settings)
	return settings.Answer(true)
}

// Revoke forgets all answers about the repository, and says how many. It fails where one can
// not be removed.
func (q *Question) Revoke() (int, error) {
	return q.store.forget(func(record) bool { return true })
}

// personName is who answers, as far as the environment says.
func personName(p cli.Process) string {
	return cmp.Or(p.Getenv("SUDO_USER"), p.Getenv("USER"), p.Getenv("LOGNAME"), "uid "+fmt.Sprint(os.Getuid()))
}

// Text is the question for a person: everything in full, and what has changed.
func (q *Question) Text() string {
	var b strings.Builder
	last, changed := q.before()
	switch {
	case len(q.Plan) == 0:
		return "This repository names nothing that orch would run.\n"
	case changed && q.State() != Trusted:
		changes := q.Plan.Diff(last.Plan)
		fmt.Fprintf(&b, "What this repository wants to run has changed since you allowed it on %s:\n%s\nAll of it now:\n",
			last.At.Local().Format("2 Jan 2006 15:04"), plan.ShowDiff(changes))
	default:
		fmt.Fprintf(&b, "This repository wants orch and your agent client to go by %d %s on your machine:\n", len(q.Plan), cli.Plural(len(q.Plan), "thing", "things"))
	}
	b.WriteString(q.Plan.Show())
	return b.String()
}

// interactive reports whether a person can be asked here.
func (q *Question) interactive() bool { return q.app.CanAsk() && !q.app.JSON }

// confirm shows the plan and asks; an answer is kept. It fails where it cannot be.
func (q *Question) confirm() (yes bool, err error) {
	fmt.Fprintf(q.app.Stdout, "%s\nNothing of it has run. The files that these commands name are yours to look at.\nTrust these? [y/N] ", q.Text())
	answer, err := bufio.NewReader(q.app.Stdin).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(answer))
	yes = err == nil && (word == "y" || word == "yes")
	if err != nil { // the end of the input is no answer, and nothing is remembered
		fmt.Fprintln(q.app.Stdout)
		return false, nil
	}
	return yes, q.Answer(yes)
}
