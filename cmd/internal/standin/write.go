package standin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// maxText bounds a text that is written, in bytes.
const maxText = 64 << 10

// words are a text that was given as one of: standard input, a file, which is to be -, or itself.
func (l *line) words(said string, stdin bool, file string) (string, error) {
	switch {
	case file != "" && file != "-":
		return "", usage("a file is read where it is: --file - with the text on standard input")
	case stdin || file == "-":
		said = l.stdin
	}
	said = strings.ReplaceAll(strings.ToValidUTF8(said, "\ufffd"), "\x00", "")
	if len(said) > maxText {
		return "", usage("the text has %d bytes, over %d", len(said), maxText)
	}
	return said, nil
}

func commentVerb(l *line, f *pflag.FlagSet) func([]string) error {
	stdin := f.Bool("stdin", false, "")
	file := f.StringP("file", "f", "", "")
	f.String("author", "", "")
	return func(args []string) error {
		if len(args) == 0 {
			return usage("bd comment ID TEXT")
		}
		return l.comment(args[0], strings.Join(args[1:], " "), *stdin, *file)
	}
}

func (l *line) comment(id, said string, stdin bool, file string) error {
	if err := l.own("a comment", id); err != nil {
		return err
	}
	said, err := l.words(said, stdin, file)
	if err != nil {
		return err
	}
	if strings.TrimSpace(said) == "" {
		return usage("the comment is empty")
	}
	if _, err := l.change(tracker.Change{ID: id, Kind: tracker.Comment, Note: said}); err != nil {
		return err
	}
	return l.print(map[string]any{"issue_id": id, "author": l.Actor, "text": said, "created_at": l.Now().UTC(), "schema_version": 1}, "Comment added to "+text.Clause(id, 80)+"\n")
}

func updateVerb(l *line, f *pflag.FlagSet) func([]string) error {
	notes, more := f.String("notes", "", ""), f.String("append-notes", "", "")
	for _, name := range []string{"title", "design", "acceptance", "parent", "metadata", "defer", "due", "external-ref", "body-file", "design-file", "estimate", "spec-id"} {
		f.String(name, "", "")
	}
	for name, short := range map[string]string{"status": "s", "priority": "p", "type": "t", "assignee": "a", "description": "d"} {
		f.StringP(name, short, "", "")
	}
	for _, name := range []string{"add-label", "remove-label", "set-labels", "set-metadata", "unset-metadata"} {
		f.StringArray(name, nil, "")
	}
	f.Bool("claim", false, "")
	f.Bool("stdin", false, "")
	return func(args []string) error {
		var other []string
		f.Visit(func(flag *pflag.Flag) {
			if !slices.Contains([]string{"notes", "append-notes", "json", "actor", "quiet", "verbose", "readonly", "sandbox"}, flag.Name) {
				other = append(other, "--"+flag.Name)
			}
		})
		if len(other) > 0 {
			return l.refuseUpdate(other)
		}
		if len(args) != 1 {
			return usage("bd update takes the id of your task, %s", l.Task)
		}
		if *notes != "" { // which bd replaces: what orch and others have noted there would be lost
			fmt.Fprintln(&l.err, "the notes are added to those that are there")
		}
		return l.note(args[0], strings.TrimSpace(*notes+"\n"+*more))
	}
}

func (l *line) refuseUpdate(flags []string) error {
	r := &refusal{code: notTheAgents, what: fmt.Sprintf("bd update %s is not done from inside the attempt at %s", strings.Join(flags, " "), text.Clause(l.Task, 80)),
		hint: []string{"orch sets the status of tasks, and closes yours when its work has landed", "what somebody should know: bd update " + l.Task + " --append-notes TEXT"}}
	return r
}

func noteVerb(l *line, f *pflag.FlagSet) func([]string) error {
	stdin := f.Bool("stdin", false, "")
	file := f.StringP("file", "f", "", "")
	return func(args []string) error {
		if len(args) == 0 {
			return usage("bd note ID TEXT")
		}
		said, err := l.words(strings.Join(args[1:], " "), *stdin, *file)
		if err != nil {
			return err
		}
		return l.note(args[0], said)
	}
}

// maxNote is what one call of bd takes.
const maxNote = 8 << 10

func (l *line) note(id, said string) error {
	if err := l.own("a note", id); err != nil {
		return err
	}
	said, err := l.words(said, false, "")
	if err != nil {
		return err
	}
	if strings.TrimSpace(said) == "" {
		l.out.WriteString("No updates specified\n")
		return nil
	}
	if len(said) > maxNote {
		return usage("the note has %d bytes, over %d; a comment may be longer", len(said), maxNote)
	}
	if _, err := l.change(tracker.Change{ID: id, Kind: tracker.AddNote, Note: said}); err != nil {
		return err
	}
	return l.changed(id, "Updated issue: "+text.Clause(id, 80)+"\n")
}

// changed prints an issue as it is after a change.
func (l *line) changed(id, said string) error {
	i, err := l.bare(id)
	if err != nil {
		return err
	}
	return l.print([]tracker.Issue{i}, said)
}

// bare is an issue without its relations.
func (l *line) bare(id string) (tracker.Issue, error) {
	x, _, err := l.index()
	if err != nil {
		return tracker.Issue{}, err
	}
	i, ok := x.Issue(id)
	if !ok {
		return i, &refusal{code: notFound, what: fmt.Sprintf("no issue found matching %q", text.Clause(id, 80))}
	}
	i.Dependencies = nil
	return i.Without("comments", "_type", "parent", "dependency_count", "dependent_count", "comment_count"), nil
}

func createVerb(l *line, f *pflag.FlagSet) func([]string) error {
	title := f.String("title", "", "")
	about := f.StringP("description", "d", "", "")
	kind := f.StringP("type", "t", tracker.TypeTask, "")
	priority := f.StringP("priority", "p", "2", "")
	labels := f.StringSliceP("labels", "l", nil, "")
	parent := f.String("parent", "", "")
	deps := f.StringSlice("deps", nil, "")
	design, acceptance := f.String("design", "", ""), f.String("acceptance", "", "")
	body := f.String("body-file", "", "")
	stdin, silent := f.Bool("stdin", false, ""), f.Bool("silent", false, "")
	return func(args []string) error {
		if len(args) > 1 || len(args) == 1 && *title != "" || len(args) == 0 && *title == "" {
			return usage("bd create takes one title")
		}
		i := tracker.Issue{Title: *title + strings.Join(args, ""), Type: *kind, Design: *design, AcceptanceCriteria: *acceptance, Labels: *labels}
		n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(*priority), "P"))
		if err != nil || n < 0 || n > 4 {
			return usage("priority %s is not one of 0 to 4", text.Clause(*priority, 20))
		}
		i.Priority = n
		if i.Description, err = l.words(*about, *stdin, *body); err != nil {
			return err
		}
		if len(i.Title) > 500 || strings.TrimSpace(i.Title) == "" || len(i.Design)+len(i.AcceptanceCriteria) > maxText || len(i.Labels) > 50 {
			return usage("a title has 1 to 500 characters, design and acceptance together at most %d bytes, and there are at most 50 labels", maxText)
		}
		if !slices.Contains([]string{tracker.TypeTask, "bug", "feature", "chore"}, i.Type) {
			return &refusal{code: notTheAgents, what: fmt.Sprintf("an agent files a task, bug, feature or chore, and no %s", text.Clause(i.Type, 40))}
		}
		if i.Dependencies, err = l.edges(*parent, *deps); err != nil {
			return err
		}
		id, err := l.change(tracker.Change{Kind: tracker.Create, Anew: true, Issue: &i})
		if err != nil {
			return err
		}
		if *silent {
			l.out.WriteString(id + "\n")
			return nil
		}
		made, err := l.bare(id)
		if err != nil {
			return err
		}
		made.Keep("schema_version", 1)
		return l.print(made, "Created issue: "+text.Clause(id, 80)+"\n")
	}
}

// edges are those of an issue that was found in the work at the agent's task: to that, and to the epic of it where that is asked for.
func (l *line) edges(parent string, deps []string) (edges []tracker.Dependency, err error) {
	edges = []tracker.Dependency{{DependsOnID: l.Task, Type: tracker.DepDiscovered}}
	for _, d := range deps {
		if d != tracker.DepDiscovered+":"+l.Task {
			return nil, &refusal{code: notTheAgents, what: fmt.Sprintf("what an agent files is %s:%s, and not %s", tracker.DepDiscovered, text.Clause(l.Task, 80), text.Clause(d, 80)),
				hint: []string{"say in its description what it waits for, or what waits for it: a person decides that"}}
		}
	}
	switch parent {
	case "":
	case l.Epic:
		edges = append(edges, tracker.Dependency{DependsOnID: parent, Type: tracker.DepParent})
	default:
		return nil, &refusal{code: notTheAgents, what: fmt.Sprintf("what an agent files is in no epic, or in its own, %s, and not in %s", text.Clause(l.Epic, 80), text.Clause(parent, 80))}
	}
	return edges, nil
}
