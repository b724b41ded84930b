package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Stats is the command orch stats.
func Stats(a *cli.Invocation) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "stats",
		Short: "what each agent needed in all runs here: iterations, time, tokens, and what failed",
		Args:  cli.AtMost(0, "no argument"),
		RunE:  func(c *cobra.Command, _ []string) error { return stats(c.Context(), a, agent) },
	}
	c.Flags().StringVar(&agent, "agent", "", "only this `agent`")
	return c
}

// performance counts what one agent did in all runs of a repository.
type performance struct {
	record  document.Performance
	ended   int         // tasks
	reached map[int]int // attempts that have ended, by iteration
}

// saw counts the outcomes of one validation.
func (p *performance) saw(outcomes []iteration.RuleOutcome) {
	for _, o := range outcomes {
		i := slices.IndexFunc(p.record.Rules, func(r document.RuleRecord) bool { return r.Rule == o.Rule })
		if i < 0 {
			i, p.record.Rules = len(p.record.Rules), append(p.record.Rules, document.RuleRecord{Rule: o.Rule})
		}
		r := &p.record.Rules[i]
		r.Asked++
		switch {
		case o.Passed:
			r.Passed++
		case o.Errored:
			r.Errored++
		}
		r.SuccessRate = float64(r.Passed) / float64(r.Asked)
	}
}

func (p *performance) add(t *epic.Task) {
	p.record.Tasks++
	for _, at := range t.Attempts {
		p.record.Attempts++
		p.record.Iterations += at.Iterations()
		p.record.Worked += at.Worked.Milliseconds()
		p.record.Tokens += at.Tokens
		p.record.Cost += at.CostUSD
		for _, r := range at.Rounds {
			p.saw(r.Rules)
		}
		p.saw(at.Gate)
		if code := at.EndedBy(); code != "" {
			p.record.Failures[string(code)]++
			if code == reason.CircuitBreaker {
				p.record.BreakerTrips++
			}
		}
		for n := 1; n <= at.Iterations() && !at.Open(); n++ {
			p.reached[n]++
		}
	}
	switch t.State {
	case epic.Landed:
		p.record.Landed++
		p.ended++
		p.record.ByIteration[t.Last().Iterations()]++
	case epic.Parked, epic.Skipped:
		p.ended++
	}
	if p.ended > 0 {
		p.record.SuccessRate = float64(p.record.Landed) / float64(p.ended)
	}
	for n, reached := range p.reached {
		p.record.SuccessByIteration[n] = float64(p.record.ByIteration[n]) / float64(reached)
	}
	slices.SortFunc(p.record.Rules, func(a, b document.RuleRecord) int { return strings.Compare(a.Rule, b.Rule) })
}

func stats(ctx context.Context, a *cli.Invocation, only string) error {
	w, err := workspace.Read(ctx, a)
	if err != nil {
		return err
	}
	dirs, err := w.Epics()
	if err != nil {
		return err
	}
	all, unread := performances(w, dirs, only)
	if unread != nil {
		fmt.Fprintf(a.Stderr, "left out: %s\n", text.Head(unread.Error()))
	}
	doc, body := document.Stats{Epics: len(dirs), Agents: []document.Performance{}}, ""
	for _, p := range all {
		doc.Agents, body = append(doc.Agents, p.record), body+p.text()
	}
	if len(all) == 0 {
		body = "no agent has worked here yet\n"
	}
	a.Print(doc, body)
	return nil
}

// performances are those of all agents, or of one, by name, over all epics that can be read;
// unread says of the others why.
func performances(w *workspace.Workspace, dirs []string, only string) (all []*performance, unread error) {
	agents := map[string]*performance{}
	for _, dir := range dirs {
		p, err := w.ViewIn(dir)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		for _, t := range p.State.Tasks {
			name := cmp.Or(t.Agent, epic.DefaultAgent)
			if len(t.Attempts) == 0 || only != "" && name != only {
				continue
			}
			if agents[name] == nil {
				agents[name] = &performance{reached: map[int]int{}, record: document.Performance{Agent: name, ByIteration: map[int]int{}, Failures: map[string]int{}, SuccessByIteration: map[int]float64{}, Rules: []document.RuleRecord{}}}
			}
			agents[name].add(t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		all = append(all, agents[name])
	}
	return all, unread
}

// text is what a person reads of one agent: a line, and what there is to list below it.
func (p *performance) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %d of %d tasks landed, %d %s, %d %s, %s at work, %d tokens, $%.2f\n", p.record.Agent, p.record.Landed, p.record.Tasks, p.record.Attempts, cli.Plural(p.record.Attempts, "attempt", "attempts"),
		p.record.Iterations, cli.Plural(p.record.Iterations, "iteration", "iterations"), cli.FormatDuration(time.Duration(p.record.Worked)*time.Millisecond), p.record.Tokens, p.record.Cost)
	list := func(head string, parts []string) {
		if len(parts) > 0 {
			fmt.Fprintf(&b, "         %s: %s\n", head, strings.Join(parts, ", "))
		}
	}
	var landed, rules, failed []string
	for _, n := range slices.Sorted(maps.Keys(p.record.ByIteration)) {
		landed = append(landed, fmt.Sprintf("%d after %d (%.0f%%)", p.record.ByIteration[n], n, 100*p.record.SuccessByIteration[n]))
	}
	for _, r := range p.record.Rules {
		rules = append(rules, fmt.Sprintf("%s %d of %d", text.Clause(r.Rule, 60), r.Passed, r.Asked))
	}
	for _, code := range slices.Sorted(maps.Keys(p.record.Failures)) {
		failed = append(failed, fmt.Sprintf("%s %d", code, p.record.Failures[code]))
	}
	list("iterations to land", landed)
	list("rules that passed", rules)
	list("attempts that failed", failed)
	return b.String()
}
