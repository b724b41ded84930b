// Package standin answers command lines of bd for an agent that is not to reach the tracker itself: what reads, from a reading
// that somebody else has; comments, notes and new issues of the agent's own task are handed on as changes; all else is refused,
// with the reason.
//
// It fails as bd does: with exit status 1, and what is wrong on standard error, an object with the fields error, code and
// hint where --json was asked for. It starts nothing, and opens no file: a file that a command line names is to be -, which
// is standard input.
package standin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Tracker is what answers are made of.
type Tracker interface {
	// Issues are all that there are, as they were read last.
	Issues(ctx context.Context) ([]tracker.Issue, error)
	// Comments are those on an issue, oldest first.
	Comments(ctx context.Context, id string) ([]tracker.CommentRecord, error)
	// Apply makes changes, with an outcome for each.
	Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error)
}

// Session is who asks.
type Session struct {
	// Tracker is asked.
	Tracker Tracker
	// Task is the agent's own, Epic what it is a part of.
	Task, Epic string
	// Actor is the agent's name in the tracker.
	Actor string
	// Now is the clock.
	Now func() time.Time
}

// Answer is what bd would have printed, and its exit status.
type Answer struct {
	Stdout, Stderr string
	Exit           int
}

// maxArgs and maxArgBytes bound a command line.
const (
	maxArgs     = 1000
	maxArgBytes = 256 << 10
)

// Do answers a command line without the program's name.
func (s Session) Do(ctx context.Context, args []string, stdin []byte) Answer {
	l := &line{Session: s, ctx: ctx, stdin: string(stdin)}
	err := l.run(args)
	if err != nil {
		return l.failed(err)
	}
	return Answer{Stdout: l.out.String(), Stderr: l.err.String()}
}

// Files are the flags of bd whose value is a file: who asks from where its files are sends what is in them as standard input.
func Files() []string { return []string{"body-file", "file", "design-file", "reason-file"} }

// ReadsInput reports whether a command line reads standard input.
func ReadsInput(args []string) bool {
	for n, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--stdin" || arg == "-" && n > 0 || strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "=-") {
			return true
		}
	}
	return false
}

// refusal is why a command line is not done.
type refusal struct {
	code, what string
	hint       []string
}

func (r *refusal) Error() string { return r.what }

// The codes of refusals.
const (
	notTheAgents = "NOT_A_PERSON" // it is for a person, or for orch
	badUsage     = "USAGE"
	notFound     = "NOT_FOUND"
)

func usage(format string, args ...any) error {
	return &refusal{code: badUsage, what: fmt.Sprintf(format, args...), hint: []string{"bd help says what can be asked here"}}
}

// line is one command line that is being answered.
type line struct {
	Session
	ctx      context.Context
	stdin    string
	json     bool
	help     bool
	out, err strings.Builder
}

// failed is the answer for an error.
func (l *line) failed(err error) Answer {
	r := &refusal{}
	if !errors.As(err, &r) {
		r = &refusal{code: "TRACKER_DOWN", what: text.Clause(err.Error(), 300)}
	}
	var b strings.Builder
	b.WriteString(l.err.String())
	if l.json {
		object, _ := json.MarshalIndent(struct {
			Code   string   `json:"code"`
			Error  string   `json:"error"`
			Hint   []string `json:"hint,omitempty"`
			Schema int      `json:"schema_version"`
		}{r.code, r.what, r.hint, 1}, "", "  ")
		fmt.Fprintf(&b, "%s\n", object)
	} else {
		fmt.Fprintf(&b, "Error: %s  [%s]\n", r.what, r.code)
		for _, h := range r.hint {
			fmt.Fprintf(&b, "  %s\n", h)
		}
	}
	return Answer{Stdout: l.out.String(), Stderr: b.String(), Exit: 1}
}

// verb is one of bd's that is answered.
type verb struct {
	names []string
	about string
	// flags adds those of the verb, and gives what answers once they are set.
	flags func(l *line, f *pflag.FlagSet) func(args []string) error
}

func verbs() []verb {
	return []verb{
		{[]string{"list"}, "issues that are not closed", listVerb}, {[]string{"ready"}, "issues that nothing blocks", readyVerb},
		{[]string{"show", "view"}, "all of an issue", showVerb}, {[]string{"blocked"}, "what is blocked, by what", blockedVerb},
		{[]string{"children"}, "what is right below an issue", childrenVerb}, {[]string{"dep"}, "dep list ID, dep tree ID, dep cycles", depVerb},
		{[]string{"search"}, "issues with TEXT in their titles: search TEXT --status all", searchVerb}, {[]string{"count"}, "how many there are: count --by-status", countVerb},
		{[]string{"status", "stats"}, "the same at a glance", statusVerb}, {[]string{"comments"}, "those on an issue; comments add ID TEXT", commentsVerb},
		{[]string{"comment"}, "comment on your task: comment ID TEXT, or --stdin", commentVerb},
		{[]string{"update"}, "add to the notes of your task: update ID --append-notes TEXT", updateVerb},
		{[]string{"note"}, "the same: note ID TEXT", noteVerb},
		{[]string{"create", "new"}, "file what you found beside your task: create TITLE --deps discovered-from:ID", createVerb},
		{[]string{"version"}, "what answers", versionVerb}, {[]string{"help", "prime", "onboard", "quickstart"}, "this", helpVerb},
	}
}

// run finds the verb, reads its flags and answers.
func (l *line) run(args []string) error {
	l.json = slices.Contains(args, "--json")
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	if len(args) > maxArgs || size > maxArgBytes {
		return usage("the command line is too long")
	}
	first := l.flagSet()
	first.SetInterspersed(false)
	version := first.BoolP("version", "V", false, "")
	if err := l.parse(first, args); err != nil {
		return err
	}
	switch {
	case l.help:
		return l.helpAll()
	case *version:
		return l.version()
	case first.NArg() == 0:
		return l.helpAll()
	}
	name, rest := first.Arg(0), first.Args()[1:]
	for _, v := range verbs() {
		if slices.Contains(v.names, name) {
			f := l.flagSet()
			do := v.flags(l, f)
			if err := l.parse(f, rest); err != nil {
				return err
			}
			if l.help {
				return l.helpAll()
			}
			return do(f.Args())
		}
	}
	return l.refuse(name)
}

// flagSet has the flags of all verbs.
func (l *line) flagSet() *pflag.FlagSet {
	f := pflag.NewFlagSet("bd", pflag.ContinueOnError)
	f.SetOutput(&strings.Builder{})
	f.Usage = func() {}
	f.BoolVar(&l.json, "json", l.json, "")
	f.String("actor", "", "")
	f.BoolP("quiet", "q", false, "")
	f.BoolP("verbose", "v", false, "")
	f.Bool("readonly", false, "")
	f.Bool("sandbox", false, "")
	f.Bool("no-pager", false, "")
	f.BoolVarP(&l.help, "help", "h", l.help, "")
	return f
}

func (l *line) parse(f *pflag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err != nil {
		return usage("%s", text.Clause(err.Error(), 200))
	}
	return nil
}

// refuse says why a verb of bd's is not done, and what to do instead.
func (l *line) refuse(name string) error {
	name = text.Clause(name, 40)
	r := &refusal{code: notTheAgents, what: fmt.Sprintf("bd %s is not done from inside the attempt at %s", name, text.Clause(l.Task, 80))}
	switch name {
	case "close", "done", "reopen":
		r.hint = []string{"orch closes the task when its work has landed: commit, and end your last message with <promise>COMPLETE</promise>"}
	case "claim", "assign", "defer", "undefer", "set-state", "label", "edit", "delete", "rename", "batch", "q":
		r.hint = []string{"say what you want changed in a comment: bd comment " + l.Task + " TEXT"}
	default:
		r.hint = []string{"bd help says what can be asked here"}
	}
	return r
}

// own fails where an id is not that of the agent's task.
func (l *line) own(what, id string) error {
	if id == l.Task {
		return nil
	}
	return &refusal{code: notTheAgents, what: fmt.Sprintf("%s is for your own task, %s, and not for %s", what, text.Clause(l.Task, 80), text.Clause(id, 80)),
		hint: []string{"say it in a comment on your task: bd comment " + l.Task + " TEXT", "or file it: bd create TITLE --deps discovered-from:" + l.Task}}
}

// index relates the issues as they were read last.
func (l *line) index() (*tracker.Index, []tracker.Issue, error) {
	issues, err := l.Tracker.Issues(l.ctx)
	if err != nil {
		return nil, nil, err
	}
	return tracker.NewIndex(issues), issues, nil
}

// change makes one, and gives the id of what it is about.
func (l *line) change(c tracker.Change) (string, error) {
	out, err := l.Tracker.Apply(l.ctx, l.Actor, []tracker.Change{c})
	if err == nil && len(out) == 1 {
		err = out[0].Err
	}
	switch {
	case errors.Is(err, tracker.ErrNotFound):
		return "", &refusal{code: notFound, what: text.Clause(err.Error(), 300)}
	case errors.Is(err, tracker.ErrRefused):
		return "", &refusal{code: "REFUSED", what: text.Clause(err.Error(), 300)}
	case err != nil:
		return "", err
	}
	return cmp.Or(out[0].ID, c.ID), nil
}

// print prints a value where JSON was asked for, else the text.
func (l *line) print(v any, said string) error {
	if !l.json {
		l.out.WriteString(said)
		return nil
	}
	enc := json.NewEncoder(&l.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func versionVerb(l *line, _ *pflag.FlagSet) func([]string) error {
	return func([]string) error { return l.version() }
}

func (l *line) version() error {
	return l.print(map[string]any{"version": "1.0.5", "build": "orch", "schema_version": 1}, "bd version 1.0.5 (orch answers for it)\n")
}

func helpVerb(l *line, _ *pflag.FlagSet) func([]string) error {
	return func([]string) error { return l.helpAll() }
}

func (l *line) helpAll() error {
	var b strings.Builder
	fmt.Fprintf(&b, "orch answers for bd here: you work on %s of %s. It reads, each with --json:\n\n", text.Clause(l.Task, 80), text.Clause(l.Epic, 80))
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  bd %-9s %s\n", v.names[0], v.about)
	}
	b.WriteString("\nAll else is orch's: it claims, closes and lands. Statuses and other tasks are not yours to change.\n")
	l.out.WriteString(b.String())
	return nil
}
