package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/worktree"
)

func newStatusCmd(a *app) *cobra.Command {
	var exitStatus, all bool
	c := &cobra.Command{
		Use:   "status [EPIC|TASK]",
		Short: "what needs you and why, what runs, what waits",
		Long: `Status replays the journal, reads the tracker, asks who holds the epic, and says
what needs a person first: the reason, the evidence, and the command to type.
Without an id it shows the epic that orch worked on last.`,
		Args: atMost(1, "at most one epic or task"),
		RunE: func(_ *cobra.Command, args []string) error { return a.status(args, exitStatus, all) },
	}
	c.Flags().BoolVar(&exitStatus, "exit-status", false, "exit 0 when all is done, 3 when tasks need you, 8 when not finished")
	c.Flags().BoolVar(&all, "all", false, "list the finished tasks too")
	return c
}

func atMost(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("%s takes %s: %s", c.CommandPath(), what, c.UseLine())
		}
		return nil
	}
}

// picture is an epic as a command that only looks sees it.
type picture struct {
	*workspace
	dir     string
	state   orchestrator.State
	records []journal.Record
	holder  orchestrator.Holder
	held    bool
	asked   []orchestrator.Event
	read    time.Time // when the tracker was read; zero when it did not answer
	readWhy string
}

func (a *app) status(args []string, exitStatus, all bool) error {
	p, task, err := a.look(args)
	if err != nil {
		return err
	}
	p.refresh()
	now := a.Now()
	sum := orchestrator.Summarize(p.state, now)
	if a.json {
		writeJSON(a.Stdout, p.document(sum))
	} else if task != nil {
		fmt.Fprint(a.Stdout, p.taskText(task.ID, now))
	} else {
		fmt.Fprint(a.Stdout, p.text(now, all))
	}
	if !exitStatus {
		return nil
	}
	switch {
	case sum.Counts.Done == sum.Counts.Total:
		return nil
	case p.held || sum.Counts.NeedsYou == 0:
		return exitWith(exitNotYet)
	}
	return exitWith(exitNeedsYou)
}

// look opens the picture of the epic that is meant: the one named, the one that
// holds the task named, or the one worked on last.
func (a *app) look(args []string) (*picture, *orchestrator.Task, error) {
	w, err := a.open(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	dirs, err := w.epics()
	if err != nil {
		return nil, nil, err
	}
	if len(dirs) == 0 {
		return nil, nil, noRun(args)
	}
	if len(args) == 0 {
		p, err := w.picture(dirs[0])
		return p, nil, err
	}
	id := orchestrator.TaskID(args[0])
	if dir := w.epicDir(id); slices.Contains(dirs, dir) {
		p, err := w.picture(dir)
		return p, nil, err
	}
	for _, dir := range dirs {
		p, err := w.picture(dir)
		if err != nil {
			return nil, nil, err
		}
		if t := p.find(id); t != nil {
			return p, t, nil
		}
	}
	return nil, nil, noRun(args)
}

func noRun(args []string) error {
	if len(args) == 0 {
		return &userError{Code: "NO_RUN", What: "orch has not run here yet", Exit: exitNotFound, Fix: []string{"orch run EPIC", "orch plan EPIC shows what it would do"}}
	}
	return &userError{Code: "NOT_FOUND", What: fmt.Sprintf("orch knows no epic or task %s here", args[0]), Exit: exitNotFound,
		Why: "it knows those of epics that it has run", Fix: []string{"orch status", "orch run " + args[0]}}
}

// find looks a task up by its id, or by an ending of it that only one has.
func (p *picture) find(id orchestrator.TaskID) *orchestrator.Task {
	if t := p.state.Task(id); t != nil && !t.Epic {
		return t
	}
	var found *orchestrator.Task
	for _, t := range p.state.Tasks {
		if strings.HasPrefix(string(id), ".") && strings.HasSuffix(string(t.ID), string(id)) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

func (w *workspace) picture(dir string) (*picture, error) {
	rec, err := journal.Read(dir)
	if err != nil {
		return nil, err
	}
	p := &picture{workspace: w, dir: dir, records: rec.Records}
	if p.state, err = orchestrator.Replay(rec.Records); err != nil {
		return nil, err
	}
	if p.holder, p.held, err = orchestrator.HeldBy(dir); err != nil {
		return nil, err
	}
	p.asked, _, err = orchestrator.Asked(dir)
	return p, err
}

// statusPatience is how long status waits for the tracker before it goes by
// what the journal knows.
const statusPatience = 5 * time.Second

// refresh brings the picture up to what the tracker says now. When it does not
// answer, the picture says so.
func (p *picture) refresh() {
	ctx, cancel := context.WithTimeout(p.ctx, statusPatience)
	defer cancel()
	t, err := p.tracker(ctx)
	var issues []beads.Issue
	if err == nil {
		issues, err = t.Survey(ctx)
	}
	if err != nil {
		p.readWhy = firstLine(err.Error())
		return
	}
	p.read = p.Now()
	p.state = orchestrator.Compare(p.state, issues, p.Now())
}

// text is the whole screen of status.
func (p *picture) text(now time.Time, all bool) string {
	var b strings.Builder
	s := p.state
	c := orchestrator.Count(s, now)
	title := string(s.Epic)
	if t := s.Task(s.Epic); t != nil {
		title += "  " + harness.Clean(t.Title)
	}
	fmt.Fprintf(&b, "%s\n%s %d/%d done%s\n", title, bar(c.Done, c.Total, 40), c.Done, c.Total, p.runText(now))
	p.needsYou(&b, now)
	p.section(&b, "Running", now, func(t *orchestrator.Task) (string, bool) { return p.runningText(t, now) })
	p.section(&b, "Ready", now, func(t *orchestrator.Task) (string, bool) { return "", s.IsReady(t, now) })
	p.section(&b, "Waiting", now, func(t *orchestrator.Task) (string, bool) { return p.waitingText(t, now) })
	if all {
		p.section(&b, "Done", now, func(t *orchestrator.Task) (string, bool) { return doneText(t), t.Done() })
	}
	for _, e := range p.asked {
		fmt.Fprintf(&b, "\nAsked, not yet taken: %s %s\n", e.Kind, e.Task)
	}
	fmt.Fprintf(&b, "\n%s\n", p.foot(c, all))
	return b.String()
}

func (p *picture) runText(now time.Time) string {
	r := p.state.Run
	switch {
	case p.held:
		text := fmt.Sprintf(" · orch %s, process %d, for %s", p.holder.Command, p.holder.PID, span(now.Sub(p.holder.Started)))
		if eta := orchestrator.ETA(p.state, now); eta > 0 {
			text += " · eta " + span(eta)
		}
		return text
	case r.Ended.IsZero():
		return fmt.Sprintf(" · run %d was cut off; orch run %s goes on", r.Number, p.state.Epic)
	}
	return fmt.Sprintf(" · run %d ended %s ago: %s", r.Number, span(now.Sub(r.Ended)), r.Promise)
}

func (p *picture) section(b *strings.Builder, head string, now time.Time, of func(*orchestrator.Task) (string, bool)) {
	var lines []string
	for _, t := range p.state.Tasks {
		if text, ok := of(t); ok && t.Dispatchable() && !t.Deleted {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s %-10s %-32s %s", glyph(p.state, t, now), t.ID, clip(harness.Clean(t.Title), 32), text), " "))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s (%d)\n%s\n", head, len(lines), strings.Join(lines, "\n"))
	}
}

func glyph(s orchestrator.State, t *orchestrator.Task, now time.Time) string {
	switch {
	case t.Done():
		return "✓"
	case t.State == orchestrator.Parked && t.Code == orchestrator.Question:
		return "?"
	case t.State == orchestrator.Parked, t.State == orchestrator.Skipped:
		return "✗"
	case t.State == orchestrator.Running, t.State == orchestrator.Validating:
		return "●"
	case t.State == orchestrator.Queued, s.IsReady(t, now):
		return "○"
	}
	return "·"
}

func (p *picture) runningText(t *orchestrator.Task, now time.Time) (string, bool) {
	a := t.Last()
	switch t.State {
	case orchestrator.Running:
		text := fmt.Sprintf("attempt %d, %s", a.Number, span(now.Sub(a.Started)))
		if !p.held && !a.InSession {
			text += ", cut off"
		}
		return text, true
	case orchestrator.Queued:
		return "waits to land", true
	case orchestrator.Validating:
		return "gate", true
	}
	return "", false
}

func (p *picture) waitingText(t *orchestrator.Task, now time.Time) (string, bool) {
	if t.State != orchestrator.Waiting || p.state.IsReady(t, now) || t.Done() {
		return "", false
	}
	o := orchestrator.ObstacleOf(p.state, t, now)
	if o.Code != "" {
		return fmt.Sprintf("[%s] %s", o.Code, o.Why), true
	}
	return "for " + joinIDs(o.On, 3), true
}

func joinIDs(ids []orchestrator.TaskID, most int) string {
	var words []string
	for i, id := range ids {
		if i == most {
			words = append(words, fmt.Sprintf("%d more", len(ids)-most))
			break
		}
		words = append(words, string(id))
	}
	return strings.Join(words, ", ")
}

func doneText(t *orchestrator.Task) string {
	if t.State == orchestrator.Landed {
		return fmt.Sprintf("landed in %.12s, attempt %d", t.Commit, t.Last().Number)
	}
	return orElse(t.Why, "closed in the tracker")
}

func (p *picture) needsYou(b *strings.Builder, now time.Time) {
	first := true
	for _, t := range p.state.Tasks {
		if t.Done() || t.Deleted || t.State != orchestrator.Parked && t.State != orchestrator.Skipped {
			continue
		}
		if first {
			fmt.Fprintf(b, "\nNeeds you (%d)\n", orchestrator.Count(p.state, now).NeedsYou)
			first = false
		}
		fmt.Fprintf(b, "  %s %-10s %s  (%s ago)\n", glyph(p.state, t, now), t.ID, clip(harness.Clean(t.Title), 44), span(now.Sub(t.Since)))
		fmt.Fprintf(b, "      why   [%s] %s\n", orElse(string(t.Code), "SKIPPED"), harness.Clean(t.Why))
		for _, line := range p.evidence(t) {
			fmt.Fprintf(b, "      %s\n", line)
		}
		for i, n := range nextFor(t) {
			word := "next"
			if i > 0 {
				word = "    "
			}
			fmt.Fprintf(b, "      %s  %-38s %s\n", word, n.Cmd, n.Why)
		}
	}
}

// evidence is where a person can see for themselves.
func (p *picture) evidence(t *orchestrator.Task) (lines []string) {
	a := t.Last()
	if a.Number == 0 {
		return nil
	}
	if a.Head != "" && a.Head != a.Base {
		lines = append(lines, fmt.Sprintf("work  attempt %d, commit %.12s", a.Number, a.Head))
	}
	if log := filepath.Join(orchestrator.AttemptDir(p.dir, t.ID, a.Number), "gate.log"); exists(log) && t.Code == orchestrator.GateFailed {
		lines = append(lines, "log   "+log)
	}
	if store, err := p.store(p.state.Epic); err == nil && store.Exists(string(t.ID), a.Number) {
		lines = append(lines, "dir   "+store.Name(string(t.ID), a.Number).Dir)
	}
	return lines
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// next is a command that a person may type, and what for.
type next struct {
	Cmd string `json:"cmd"`
	Why string `json:"why"`
}

func nextFor(t *orchestrator.Task) []next {
	id := string(t.ID)
	if t.State == orchestrator.Skipped {
		return []next{{"orch retry " + id, "take it up again"}}
	}
	retry := next{"orch retry " + id + ` -m "a hint"`, "try again with advice"}
	skip := next{"orch skip " + id, "go on without it"}
	switch t.Code {
	case orchestrator.Question:
		return []next{{"orch answer " + id + ` "..."`, "answer, and go on"}, {"orch logs " + id, "what it said"}}
	case orchestrator.GateFailed:
		return []next{{"orch logs " + id + " --gate", "the failing output"}, {"orch diff " + id, "what it changed"}, retry, skip}
	case orchestrator.MergeConflict:
		return []next{{"orch diff " + id, "what it changed"}, retry, skip}
	}
	return []next{{"orch logs " + id, "what the agent said"}, retry, skip}
}

func (p *picture) foot(c orchestrator.Counts, all bool) string {
	var words []string
	if c.Done > 0 && !all {
		words = append(words, fmt.Sprintf("%d done (orch status --all).", c.Done))
	}
	if p.read.IsZero() {
		words = append(words, "The tracker did not answer ("+p.readWhy+"); this is from the journal.")
	} else {
		words = append(words, "Checked just now: journal, processes, tracker.")
	}
	if !p.held && c.Done < c.Total && len(p.asked)+c.Ready+c.Running+c.Landing > 0 {
		words = append(words, "Go on: orch run "+string(p.state.Epic))
	}
	return strings.Join(words, " ")
}

// taskText is all that is known of one task.
func (p *picture) taskText(id orchestrator.TaskID, now time.Time) string {
	t := p.state.Task(id)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s  %s\n", glyph(p.state, t, now), t.ID, harness.Clean(t.Title))
	state := string(t.State)
	if p.state.IsReady(t, now) {
		state = string(orchestrator.Ready)
	}
	fmt.Fprintf(&b, "  state   %s for %s; %s in the tracker\n", state, span(now.Sub(t.Since)), t.Status)
	if text, ok := p.waitingText(t, now); ok {
		fmt.Fprintf(&b, "  waits   %s\n", text)
	}
	if t.Code != "" {
		fmt.Fprintf(&b, "  why     [%s] %s\n", t.Code, harness.Clean(t.Why))
	}
	for _, a := range t.Attempts {
		end := orElse(string(a.Failure), "under way")
		if t.State == orchestrator.Landed && a.Number == t.Last().Number {
			end = fmt.Sprintf("landed in %.12s", t.Commit)
		}
		fmt.Fprintf(&b, "  attempt %d: %s", a.Number, end)
		if line := firstLine(a.Feedback); line != "" {
			fmt.Fprintf(&b, ": %s", harness.Clean(line))
		}
		fmt.Fprintln(&b)
	}
	if t.State == orchestrator.Parked {
		for _, n := range nextFor(t) {
			fmt.Fprintf(&b, "  next    %-38s %s\n", n.Cmd, n.Why)
		}
	}
	return b.String()
}

// document is status for a program.
func (p *picture) document(sum orchestrator.Summary) map[string]any {
	doc := statusDocument(p.app, p.state, sum)
	doc["held"] = p.held
	if p.held {
		doc["holder"] = p.holder
	}
	age := int64(-1)
	if !p.read.IsZero() {
		age = p.Now().Sub(p.read).Milliseconds()
	}
	doc["tracker_age_ms"] = age
	doc["asked"] = p.asked
	return doc
}

// statusDocument is an epic for a program.
func statusDocument(a *app, s orchestrator.State, sum orchestrator.Summary) map[string]any {
	now := a.Now()
	type task struct {
		ID       orchestrator.TaskID    `json:"id"`
		Title    string                 `json:"title"`
		State    orchestrator.TaskState `json:"state"`
		Tracker  string                 `json:"tracker_status"`
		Reason   orchestrator.Code      `json:"reason,omitempty"`
		Why      string                 `json:"why,omitempty"`
		Since    time.Time              `json:"since,omitzero"`
		WaitsFor []orchestrator.TaskID  `json:"waits_for,omitempty"`
		Attempts int                    `json:"attempts"`
		Commit   orchestrator.Commit    `json:"commit,omitempty"`
		Next     []next                 `json:"next,omitempty"`
	}
	tasks := []task{}
	for _, t := range s.Tasks {
		if t.Epic || t.Outside || t.Deleted {
			continue
		}
		row := task{ID: t.ID, Title: t.Title, State: t.State, Tracker: t.Status, Reason: t.Code, Why: t.Why, Since: t.Since, Attempts: len(t.Attempts), Commit: t.Commit}
		switch {
		case s.IsReady(t, now):
			row.State = orchestrator.Ready
		case t.State == orchestrator.Waiting:
			o := orchestrator.ObstacleOf(s, t, now)
			row.Reason, row.Why, row.WaitsFor = o.Code, o.Why, o.On
		case t.State == orchestrator.Parked:
			row.Next = nextFor(t)
		}
		tasks = append(tasks, row)
	}
	return map[string]any{
		"schema": "orch.status/1", "epic": s.Epic, "as_of": now.UTC(), "counts": sum.Counts, "tasks": tasks,
		"eta_ms": orchestrator.ETA(s, now).Milliseconds(), "branch": "epic/" + worktree.Slug(string(s.Epic)), "tip": s.Tip,
		"run": map[string]any{"number": s.Run.Number, "promise": orElse(s.Run.Promise, string(sum.Promise)), "code": sum.Code, "reason": sum.Reason,
			"cost_usd": s.Run.CostUSD, "tokens": s.Run.Tokens, "iterations": s.Run.Iterations, "elapsed_ms": sum.Took.Milliseconds()},
	}
}

// summaryText is what a person reads when a run is over.
func summaryText(s orchestrator.State, sum orchestrator.Summary) string {
	var b strings.Builder
	c := sum.Counts
	mark := "✗"
	if sum.Promise == orchestrator.LoopDone {
		mark = "✓"
	}
	fmt.Fprintf(&b, "\n%s %s: %d of %d tasks closed in %s", mark, s.Epic, c.Done, c.Total, span(sum.Took))
	if c.NeedsYou > 0 {
		fmt.Fprintf(&b, ", %d need you", c.NeedsYou)
	}
	fmt.Fprintf(&b, "\n  %s\n", sum.Reason)
	if s.Run.CostUSD > 0 {
		fmt.Fprintf(&b, "  cost   $%.2f\n", s.Run.CostUSD)
	}
	branch := "epic/" + worktree.Slug(string(s.Epic))
	switch {
	case s.Into.Done != "" && s.Into.Done == s.Tip && s.Into.Branch == s.Run.Limits.Into:
		fmt.Fprintf(&b, "  landed on %s\n", s.Run.Limits.Into)
	case sum.Promise == orchestrator.LoopDone && c.Landed > 0:
		fmt.Fprintf(&b, "  next   git merge %s        (or: orch run %s --into BRANCH)\n", branch, s.Epic)
	case sum.Promise == orchestrator.LoopContinue:
		fmt.Fprintf(&b, "  next   orch run %s         goes on where it was\n", s.Epic)
	case sum.Promise != orchestrator.LoopDone:
		fmt.Fprintf(&b, "  next   orch status %s      what needs you, and the command for each\n", s.Epic)
	}
	fmt.Fprintln(&b)
	return b.String()
}
