package show

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/explain"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/refname"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/text"
)

// page is the view of an epic as a person sees it.
type page struct {
	view   *workspace.EpicView
	branch workspace.Standing
}

// text is the whole screen of status.
func (p page) text(now time.Time, all bool) string {
	var b strings.Builder
	s := p.view.State
	c := epic.Count(s, now)
	title := cmp.Or(s.Epic.String(), filepath.Base(p.view.Folder))
	if t := s.Task(s.Epic); t != nil {
		title += "  " + text.Clause(t.Title, 200)
	}
	fmt.Fprintf(&b, "%s\n%s %d/%d done%s\n", title, bar(c.Done, c.Total, 40), c.Done, c.Total, p.runText(now))
	b.WriteString(branchText(p.branch, s, now))
	b.WriteString(sandboxText(s.Run))
	if slices.ContainsFunc(s.Tasks, func(t *epic.Task) bool { return t.Last().InSession && !t.Done() }) {
		b.WriteString("in a session: what its client starts is in no sandbox of orch's\n")
	}
	b.WriteString(p.drainText())
	b.WriteString(TamperedText(p.view.Tampered(), s))
	b.WriteString(p.restoredText())
	p.needsYou(&b, now)
	p.letGoText(&b, now)
	p.section(&b, "Running", now, func(t *epic.Task) (string, bool) { return p.runningText(t, now) })
	p.section(&b, "Ready", now, func(t *epic.Task) (string, bool) { return p.cutOffText(t), s.IsReady(t, now) })
	if why := epic.HeldPlaces(s, now); why != "" && p.view.Held {
		fmt.Fprintf(&b, "  for a place: %s\n", why)
	}
	p.section(&b, "Waiting", now, func(t *epic.Task) (string, bool) { return p.waitingText(t, now) })
	if all {
		p.section(&b, "Done", now, func(t *epic.Task) (string, bool) { return doneText(t), t.Done() })
	}
	b.WriteString(p.keptText())
	p.requestsText(&b)
	fmt.Fprintf(&b, "\n%s\n", p.foot(epic.Summarize(s, now), all))
	return b.String()
}

// sandboxText says what bounds the agents of a run, and how much it lacks.
func sandboxText(r epic.Run) string {
	switch r.Sandbox {
	case "":
		return "" // not known
	case epic.NoSandbox:
		return "no sandbox: agents and the gate do what you may  (orch config explain sandbox.level)\n"
	}
	lacks, all := 0, sandbox.Promises()
	for _, p := range all {
		if !p.Stopped(sandbox.Level(r.Sandbox), sandbox.ABI()) {
			lacks++
		}
	}
	network := networkText(r)
	if r.Settings["sandbox.docker"] == "true" {
		network += "; docker's socket is shared, by which agents can do anything on this machine"
	}
	if lacks == 0 {
		return "sandbox: " + r.Sandbox + network + "\n"
	}
	return fmt.Sprintf("sandbox: %s, which does not stop %d of %d%s  (orch doctor --sandbox)\n", r.Sandbox, lacks, len(all), network)
}

// networkText says what agents of a run have of the network, as a clause to add; "" where that is not known.
func networkText(r epic.Run) string {
	said := r.Settings["sandbox.network.agents"]
	switch {
	case said == "":
		return ""
	case said == config.NetworkListed && sandbox.Level(r.Sandbox).Mounts():
		return "; the network is a list of hosts"
	case said == config.NetworkNone && sandbox.Level(r.Sandbox).Mounts():
		return "; agents have no network"
	case said != config.NetworkOpen:
		return "; the network is open, since this level cannot deny it"
	}
	return "; the network is open"
}

// restoredText says which tasks the tracker has, or had when the newest run began, as they were before they landed.
func (p page) restoredText() string {
	var ids []epic.TaskID
	for _, t := range p.view.State.Restored() {
		ids = append(ids, t.ID)
	}
	is, open := "is closed again by the next run", len(ids) > 0
	for _, e := range p.view.Events {
		if _, ok := e.Fact.(epic.TrackerOutdated); ok && !e.At.Before(p.view.State.Run.Started) && !slices.Contains(ids, e.Task) {
			ids = append(ids, e.Task)
		}
	}
	switch {
	case len(ids) == 0:
		return ""
	case !open:
		is = "was closed again"
	case p.view.Held:
		is = "is closed again"
	}
	return fmt.Sprintf("\nThe tracker was restored\n  · it had %s as of before the landing; what has landed %s\n    to have a task done again, open it in the tracker after that\n", joinIDs(ids, 10), is)
}

// requestsText lists the first of the requests that nobody has taken, and of the files that are none.
func (p page) requestsText(b *strings.Builder) {
	var asked []string
	for _, e := range p.view.Asked {
		if _, refused := e.Fact.(epic.RequestRefused); !refused { // word of an agent's for the journal
			asked = append(asked, strings.TrimSpace(fmt.Sprintf("%s %s", e.Kind(), e.Task)))
		}
	}
	list := func(what string, lines []string) {
		for _, line := range lines[:min(len(lines), maxRequestsShown)] {
			fmt.Fprintf(b, "\n%s: %s\n", what, line)
		}
		if more := len(lines) - maxRequestsShown; more > 0 {
			fmt.Fprintf(b, "\n%s: %d more\n", what, more)
		}
	}
	list("Asked, not yet taken", asked)
	list("Not a request, and not taken", p.view.NoRequests)
}

// drainText is why no more work is taken: a limit, or what only a person can mend.
func (p page) drainText() string {
	o := epic.PromiseOf(p.view.State, p.view.Workspace.Now())
	r, _ := reason.Of(o.Code)
	switch {
	case p.view.State.TrackerLost() != "", o.Code == reason.TrackerDrift:
		return fmt.Sprintf("\nThe tracker needs you\n  ✗ [%s] %s\n      next  %-36s   %s\n", o.Code, text.Clause(o.Reason, 1000), "orch doctor", "what is wrong; then bring the tracker back")
	case p.view.Held && p.view.State.Run.Drain != "":
		return fmt.Sprintf("\nNo new work is taken\n  · [%s] %s\n", p.view.State.Run.Drain, text.Clause(p.view.State.Run.DrainWhy, 1000))
	case !p.view.Held && p.view.State.AtLimit() && o.Code == p.view.State.Run.Drain:
		said := fmt.Sprintf("\nAt a limit\n  · [%s] %s\n", o.Code, text.Clause(o.Reason, 1000))
		if epic.Count(p.view.State, p.view.Workspace.Now()).Ready > 0 {
			said += fmt.Sprintf("      next  %-36s   %s\n", "orch run "+cli.Quote(p.view.State.Epic), "go on")
		}
		return said
	case !p.stopped() && o.Code == reason.RunActive:
		return fmt.Sprintf("\nAnother clone has the epic\n  · [%s] %s\n", o.Code, text.Clause(o.Reason, 1000)) + nextText(strings.Join(explain.Ways(p.view.State, epic.Summary{Code: o.Code}), "\n"))
	case !p.stopped():
		return ""
	}
	said := fmt.Sprintf("\nThe run needs you\n  ✗ [%s] %s\n", p.view.State.Run.Drain, text.Clause(p.view.State.Run.DrainWhy, 1000))
	r, _ = reason.Of(p.view.State.Run.Drain)
	return said + nextText(cmp.Or(strings.Join(explain.Ways(p.view.State, epic.Summary{Code: p.view.State.Run.Drain}), "\n"), r.Do))
}

// nextText lists commands, a line each, below what needs a person.
func nextText(lines string) string {
	return "      next  " + strings.ReplaceAll(lines, "\n", "\n            ") + "\n"
}

// stopped reports whether the newest run ended for something that no task is to blame for, and
// that the next run meets again.
func (p page) stopped() bool {
	switch p.view.State.Run.Drain {
	case reason.BaseRed, reason.Machine, reason.RunActive, reason.AgentAuth, reason.SetupFailed, reason.AgentCrashed:
		return !p.view.Held && epic.Count(p.view.State, p.view.Workspace.Now()).Done < epic.Count(p.view.State, p.view.Workspace.Now()).Total
	}
	return false
}

func (p page) runText(now time.Time) string {
	r := p.view.State.Run
	switch {
	case p.view.Held:
		body := fmt.Sprintf(" · orch %s, process %d, for %s", p.view.Holder.Command, p.view.Holder.PID, cli.FormatDuration(now.Sub(p.view.Holder.Started)))
		if eta := epic.ETA(p.view.State, now); eta > 0 {
			body += " · eta " + cli.FormatDuration(eta)
		}
		if r.Paused {
			body += " · paused; orch continue goes on"
		}
		return body
	case p.view.State.SessionsWork():
		return " · sessions work on it: " + string(epic.PromiseOf(p.view.State, now).Promise)
	case r.Number == 0 && p.view.State.Driven():
		return " · no run so far: " + string(epic.PromiseOf(p.view.State, now).Promise)
	case r.Number == 0:
		return " · no run has begun its work"
	case r.CutOff():
		return fmt.Sprintf(" · run %d was cut off; orch run %s goes on", r.Number, cli.Quote(p.view.State.Epic))
	}
	said := fmt.Sprintf(" · run %d ended %s ago: %s", r.Number, cli.FormatDuration(now.Sub(r.Ended)), r.Promise)
	if needs := epic.PromiseOf(p.view.State, now).Promise; string(needs) != r.Promise {
		said += "; now " + string(needs)
	}
	return said
}

func (p page) section(b *strings.Builder, head string, now time.Time, of func(*epic.Task) (string, bool)) {
	var lines []string
	for _, t := range p.view.State.Tasks {
		if body, ok := of(t); ok && t.Dispatchable() && !t.Deleted {
			lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s %-10s %-32s %s", glyph(p.view.State, t, now), t.ID, text.Cut(text.Clause(t.Title, 200), 32), body), " "))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s (%d)\n%s\n", head, len(lines), strings.Join(lines, "\n"))
	}
}

func glyph(s epic.State, t *epic.Task, now time.Time) string {
	switch {
	case t.Done():
		return "✓"
	case t.State == epic.Parked && t.Code == reason.Question:
		return "?"
	case t.State == epic.Parked, t.State == epic.Skipped:
		return "✗"
	case t.State == epic.Running, t.State == epic.Validating:
		return "●"
	case t.State == epic.Queued, s.IsReady(t, now):
		return "○"
	}
	return "·"
}

func (p page) runningText(t *epic.Task, now time.Time) (string, bool) {
	a := t.Last()
	switch p.view.State.StateOf(t, now) {
	case epic.Running:
		body := fmt.Sprintf("attempt %d%s, %s", a.Number, roundsText(a), cli.FormatDuration(now.Sub(a.Started)))
		switch {
		case a.InSession:
			if why := p.view.Workspace.SessionGone(p.view.State.Epic)(t, a); why != "" {
				return body + fmt.Sprintf(", was in the hands of %s, which is gone: %s; the next run or orch next takes it up", a.Holder, why), true
			}
			body += ", in the hands of " + workspace.HolderName(a.Holder)
			if store, err := p.view.Workspace.Store(p.view.State.Epic); a.Phase == epic.HandedOver && err == nil && !store.Exists(string(t.ID), a.Number) {
				body += "; its worktree is gone: orch next " + cli.Quote(p.view.State.Epic) + " begins it anew"
			}
		case p.view.Activity.Of(t.ID) != "":
			body += ": " + p.view.Activity.Of(t.ID)
		}
		return body, true
	case epic.Queued:
		return "waits to land", true
	case epic.Validating:
		return "gate", true
	}
	return "", false
}

// cutOffText says that an agent was at a task when its run was killed; "" where that is not so.
func (p page) cutOffText(t *epic.Task) string {
	if a := t.Last(); !p.view.Held && a.HasAgent() && !a.InSession {
		return fmt.Sprintf("attempt %d%s was cut off", a.Number, roundsText(a))
	}
	return ""
}

func (p page) waitingText(t *epic.Task, now time.Time) (string, bool) {
	if t.State != epic.Waiting || p.view.State.IsReady(t, now) || t.Done() {
		return "", false
	}
	o := epic.ObstacleOf(p.view.State, t, now)
	if o.Code != "" && len(p.view.Records) > 0 && epic.Check(p.view.State, epic.Event{Fact: epic.TaskRetried{}, Task: t.ID}) == nil {
		return fmt.Sprintf("[%s] %s; orch retry %s opens it", o.Code, o.Why, cli.Quote(t.ID)), true
	}
	if o.Code != "" {
		return fmt.Sprintf("[%s] %s", o.Code, o.Why), true
	}
	return "for " + joinIDs(o.On, 3), true
}

func joinIDs(ids []epic.TaskID, most int) string {
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

func doneText(t *epic.Task) string {
	if t.State == epic.Landed {
		return fmt.Sprintf("landed in %.12s, attempt %d", t.Commit, t.Last().Number)
	}
	return cmp.Or(t.Why, "closed in the tracker")
}

func (p page) needsYou(b *strings.Builder, now time.Time) {
	var stuck []*epic.Task
	for _, t := range p.view.State.Tasks {
		deleted := t.Deleted && (t.State != epic.Parked || t.Last().Phase == epic.Removed) // with nothing left to decide on
		if !t.Done() && !deleted && (t.State == epic.Parked || t.State == epic.Skipped) {
			stuck = append(stuck, t)
		}
	}
	if len(stuck) > 0 {
		fmt.Fprintf(b, "\nNeeds you (%d)\n", len(stuck))
	}
	for _, t := range stuck {
		fmt.Fprintf(b, "  %s %-10s %s  (%s ago)\n", glyph(p.view.State, t, now), t.ID, text.Cut(text.Clause(t.Title, 200), 44), cli.FormatDuration(now.Sub(t.Since)))
		fmt.Fprintf(b, "      why   [%s] %s\n", t.Reason(), text.Clause(t.Why, 1000))
		for _, line := range p.evidence(t) {
			fmt.Fprintf(b, "      %s\n", line)
		}
		for i, n := range p.nextFor(t) {
			word := "next"
			if i > 0 {
				word = "    "
			}
			fmt.Fprintf(b, "      %s  %-36s   %s\n", word, n.Cmd, n.Why)
		}
	}
}

// evidence is where a person can see for themselves.
func (p page) evidence(t *epic.Task) (lines []string) {
	a := t.Last()
	if a.Number == 0 {
		return nil
	}
	if a.Head != "" && a.Head != a.Base {
		lines = append(lines, fmt.Sprintf("work  attempt %d, commit %.12s", a.Number, a.Head))
	}
	if log := epicdir.Gate(epicdir.Attempt(p.view.Folder, t.ID, a.Number)); cli.Exists(log) && t.Code == reason.GateFailed {
		lines = append(lines, "log   "+log)
	}
	if store, err := p.view.Workspace.Store(p.view.State.Epic); err == nil && store.Exists(string(t.ID), a.Number) {
		lines = append(lines, "dir   "+store.Name(string(t.ID), a.Number).Dir)
	}
	return lines
}

// next is a command that a person may type, and what for.
type next struct{ Cmd, Why string }

// nextFor leaves out the logs that are not there any more, and the changes of no attempt.
func (p page) nextFor(t *epic.Task) []next {
	return slices.DeleteFunc(nextFor(p.view.State, t, p.view.Workspace.CloneDir), func(n next) bool {
		if strings.HasPrefix(n.Cmd, "orch diff ") {
			return t.Last().Number == 0
		}
		if !strings.HasPrefix(n.Cmd, "orch logs ") {
			return false
		}
		kind := outputLog
		if strings.HasSuffix(n.Cmd, " --gate") {
			kind = gateLog
		}
		files, err := logFiles(p.view, t.ID, t.Last().Number, kind)
		return err == nil && len(files) == 0
	})
}

// nextFor is what a person may do about a task that waits for one; cloneDir gives the folder of the clone that
// an actor names, and "" where it is not known.
func nextFor(s epic.State, t *epic.Task, cloneDir func(actor string) string) []next {
	id := cli.Quote(t.ID)
	if t.State == epic.Skipped {
		return []next{{"orch retry " + id, "take it up again"}}
	}
	retry := next{"orch retry " + id + ` -m "a hint"`, "try again with advice"}
	skip := next{"orch skip " + id, "go on without it"}
	if t.Deleted {
		return []next{{"orch diff " + id, "what it changed"}, {"orch skip " + id, "give its branch up; the work stays reachable"}}
	}
	switch t.Code {
	case reason.Question:
		return []next{{"orch answer " + id + ` "..."`, "answer, and go on"}, {"orch logs " + id, "what it said"}}
	case reason.GateFailed:
		return []next{{"orch logs " + id + " --gate", "the failing output"}, {"orch diff " + id, "what it changed"}, retry, skip}
	case reason.Protected:
		return []next{{"orch diff " + id, "what it changes of protected paths"}, {"orch land " + id + " --accept-protected", "land it all the same"}, retry, skip}
	case reason.TooLarge:
		return []next{{"orch diff " + id, "what it changed"}, {"orch retry " + id + ` -m "leave the large files out"`, "try again with advice"},
			{"orch retry " + id, "try again, after raising the limit it names in project.yaml"}, skip}
	case reason.WorkRefused:
		return []next{{"orch sandbox explain " + id, "what was refused, and where it is kept"}, {"orch diff " + id, "what its worktree had"}, retry, skip}
	case reason.LandedElsewhere:
		ways := []next{{"orch retry " + id, "do it again here; the tracker has it open then"}, {"orch skip " + id + " --close", "count it as done without its work"}}
		if t.LandedIn == "" {
			return ways
		}
		epicID, why := cli.Quote(s.Epic), "have its work on the epic branch here; then orch run "+cli.Quote(s.Epic)
		of, here := s.LandedBy(t)
		branch := refname.Of(string(of)).ShortBranch()
		if here {
			return append([]next{{fmt.Sprintf("orch epic merge %s %s", epicID, branch), why}}, ways...)
		}
		from := cmp.Or(cloneDir(t.ClosedBy), "CLONE")
		return append([]next{{fmt.Sprintf("git fetch %s %s && orch epic merge %s FETCH_HEAD", cli.Quote(from), branch, epicID), why}}, ways...)
	case reason.MergeConflict:
		return []next{{"orch diff " + id, "what it changed"}, retry, skip}
	}
	return []next{{"orch logs " + id, "what the agent said"}, retry, skip}
}

func (p page) foot(sum epic.Summary, all bool) string {
	var words []string
	c := sum.Counts
	if c.Done > 0 && !all {
		words = append(words, fmt.Sprintf("%d done (orch status --all).", c.Done))
	}
	if p.view.Read.IsZero() && p.view.State.ReadAt().IsZero() {
		words = append(words, fmt.Sprintf("The tracker did not answer (%s), and no run has read it yet.", p.view.ReadWhy))
	} else if p.view.Read.IsZero() {
		words = append(words, fmt.Sprintf("The tracker did not answer (%s); this is what it said %s ago.", p.view.ReadWhy, cli.FormatDuration(p.view.Workspace.Now().Sub(p.view.State.ReadAt()))))
	} else {
		words = append(words, "Checked just now: journal, processes, tracker.")
	}
	if !p.view.Held && sum.Promise == epic.LoopContinue && c.Done < c.Total {
		words = append(words, "Go on: orch run "+cli.Quote(p.view.State.Epic))
	}
	return strings.Join(words, " ")
}

// taskText is all that is known of one task.
func (p page) taskText(id epic.TaskID, now time.Time) string {
	t := p.view.State.Task(id)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s  %s\n", glyph(p.view.State, t, now), t.ID, text.Clause(t.Title, 200))
	state := string(t.State)
	if p.view.State.IsReady(t, now) {
		state = string(epic.Ready)
	}
	fmt.Fprintf(&b, "  state   %s for %s; %s in the tracker\n", state, cli.FormatDuration(now.Sub(t.Since)), t.Status)
	if body, ok := p.waitingText(t, now); ok {
		fmt.Fprintf(&b, "  waits   %s\n", body)
	}
	if code := t.Reason(); code != "" {
		fmt.Fprintf(&b, "  why     [%s] %s\n", code, text.Clause(t.Why, 1000))
	}
	for _, a := range t.Attempts {
		end := cmp.Or(string(a.Failure), "under way")
		if a.Number == t.Last().Number && p.cutOffText(t) != "" {
			end = "cut off"
		}
		if t.State == epic.Landed && a.Number == t.Last().Number {
			end = fmt.Sprintf("landed in %.12s", t.Commit)
		}
		fmt.Fprintf(&b, "  attempt %d: %s%s", a.Number, end, roundsText(a))
		if line := text.Head(a.Feedback); line != "" {
			fmt.Fprintf(&b, ": %s", text.Clean(line))
		}
		fmt.Fprintln(&b)
	}
	if t.State == epic.Parked {
		for _, n := range p.nextFor(t) {
			fmt.Fprintf(&b, "  next    %-36s   %s\n", n.Cmd, n.Why)
		}
	}
	return b.String()
}

// roundsText tells how an attempt has iterated; "" for an agent that ended in its first turn.
func roundsText(a epic.Attempt) string {
	if a.Iterations() < 2 && a.Loop.IsZero() {
		return ""
	}
	body := fmt.Sprintf(", %d %s", a.Iterations(), cli.Plural(a.Iterations(), "iteration", "iterations"))
	for n, r := range a.Rounds {
		if n == 0 {
			body += ", scores"
		}
		body += fmt.Sprintf(" %d", r.ValidationScore)
	}
	if a.Loop.Guard != "" {
		body += ", ended by " + string(a.Loop.Guard)
	}
	return body
}

// Summary is what a person reads when a run is over.
func Summary(s epic.State, sum epic.Summary) string {
	var b strings.Builder
	c := sum.Counts
	mark := "✗"
	if sum.Promise == epic.LoopDone {
		mark = "✓"
	}
	fmt.Fprintf(&b, "\n%s %s: %d of %d tasks closed in %s", mark, s.Epic, c.Done, c.Total, cli.FormatDuration(sum.Took))
	if c.NeedsYou > 0 {
		fmt.Fprintf(&b, ", %d need you", c.NeedsYou)
	}
	fmt.Fprintf(&b, "\n  %s\n", sum.Reason)
	if s.Run.CostUSD > 0 {
		fmt.Fprintf(&b, "  cost   $%.2f\n", s.Run.CostUSD)
	}
	branch := refname.Of(string(s.Epic)).ShortBranch()
	ways := explain.Ways(s, sum)
	for i, way := range ways {
		word := "next"
		if i > 0 {
			word = "    "
		}
		fmt.Fprintf(&b, "  %s   %s\n", word, way)
	}
	switch {
	case len(ways) > 0:
	case s.Into.Done != "" && s.Into.Done == s.Tip && s.Into.Branch == s.Run.Limits.Into:
		fmt.Fprintf(&b, "  landed on %s\n", s.Run.Limits.Into)
	case s.Into.Why != "":
		fmt.Fprintf(&b, "  not on %s: %s\n  next   orch run %s --into %s, when that is mended\n", s.Run.Limits.Into, s.Into.Why, cli.Quote(s.Epic), s.Run.Limits.Into)
	case sum.Promise == epic.LoopDone && s.BranchGone():
	case sum.Promise == epic.LoopDone && c.Landed > 0:
		fmt.Fprintf(&b, "  next   git merge %s        (or: orch run %s --into BRANCH)\n", branch, cli.Quote(s.Epic))
	case sum.Promise == epic.LoopContinue, s.AtLimit() && c.NeedsYou == 0:
		fmt.Fprintf(&b, "  next   orch run %s         goes on where it was\n", cli.Quote(s.Epic))
	case s.AtLimit() && c.Ready > 0:
		fmt.Fprintf(&b, "  next   orch status %s      what needs you, and the command for each\n         orch run %s         goes on where it was\n", cli.Quote(s.Epic), cli.Quote(s.Epic))
	case sum.Promise != epic.LoopDone:
		fmt.Fprintf(&b, "  next   orch status %s      what needs you, and the command for each\n", cli.Quote(s.Epic))
	}
	fmt.Fprintln(&b)
	return b.String()
}
