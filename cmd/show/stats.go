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

	"github.com/beadsorch/orch/cmd/cli"
	"github.com/beadsorch/orch/cmd/workspace"
	"github.com/beadsorch/orch/orchestrator/core"
)

// Stats is the command orch stats.
func Stats(a *cli.App) *cobra.Command {
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

// performance is what one agent did in all runs of a repository.
type performance struct {
	Agent       string         `json:"agent"`
	Tasks       int            `json:"tasks"`       // that it was given
	Landed      int            `json:"landed"`      // of them
	Attempts    int            `json:"attempts"`    // in all
	Iterations  int            `json:"iterations"`  // in all
	SuccessRate float64        `json:"successRate"` // landed of those that have ended, 0 to 1
	ByIteration map[int]int    `json:"byIteration"` // landed tasks by the iterations of the attempt that landed
	Failures    map[string]int `json:"failures"`    // attempts by the code that ended them
	WorkedMS    int64          `json:"worked_ms"`
	Tokens      int64          `json:"tokens"`
	CostUSD     float64        `json:"cost_usd"`
	Rules       map[string]int `json:"rules"` // how often a rule came first of those that did not pass

	ended int
}

func (p *performance) add(t *core.Task) {
	p.Tasks++
	for _, at := range t.Attempts {
		p.Attempts++
		p.Iterations += at.Iteration
		p.WorkedMS += at.Worked.Milliseconds()
		p.Tokens += at.Tokens
		p.CostUSD += at.CostUSD
		for _, r := range at.Rounds {
			p.Rules[r.FirstUnmet]++
		}
		if at.Failure != "" {
			p.Failures[string(at.Failure)]++
		}
	}
	switch t.State {
	case core.Landed:
		p.Landed++
		p.ended++
		p.ByIteration[t.Last().Iteration]++
	case core.Parked, core.Skipped:
		p.ended++
	}
	if p.ended > 0 {
		p.SuccessRate = float64(p.Landed) / float64(p.ended)
	}
}

func stats(ctx context.Context, a *cli.App, only string) error {
	w, err := workspace.Open(ctx, a)
	if err != nil {
		return err
	}
	dirs, err := w.Epics()
	if err != nil {
		return err
	}
	agents := map[string]*performance{}
	var unread []error
	for _, dir := range dirs {
		p, err := w.Picture(dir)
		if err != nil {
			unread = append(unread, err)
			continue
		}
		for _, t := range p.State.Tasks {
			name := cmp.Or(t.Agent, core.DefaultAgent)
			if len(t.Attempts) == 0 || only != "" && name != only {
				continue
			}
			if agents[name] == nil {
				agents[name] = &performance{Agent: name, ByIteration: map[int]int{}, Failures: map[string]int{}, Rules: map[string]int{}}
			}
			agents[name].add(t)
		}
	}
	all := []*performance{}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		all = append(all, agents[name])
	}
	if err := errors.Join(unread...); err != nil {
		fmt.Fprintf(a.Stderr, "left out: %s\n", cli.FirstLine(err.Error()))
	}
	if a.JSON {
		cli.WriteJSON(a.Stdout, map[string]any{"schema": "orch.stats/1", "epics": len(dirs), "agents": all})
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintln(a.Stdout, "no agent has worked here yet")
	}
	for _, p := range all {
		fmt.Fprintf(a.Stdout, "%-8s %d of %d tasks landed, %d %s, %d %s, %s at work, %d tokens, $%.2f\n", p.Agent, p.Landed, p.Tasks, p.Attempts, cli.Plural(p.Attempts, "attempt", "attempts"),
			p.Iterations, cli.Plural(p.Iterations, "iteration", "iterations"), cli.Span(time.Duration(p.WorkedMS)*time.Millisecond), p.Tokens, p.CostUSD)
		var parts []string
		for _, n := range slices.Sorted(maps.Keys(p.ByIteration)) {
			parts = append(parts, fmt.Sprintf("%d after %d", p.ByIteration[n], n))
		}
		if len(parts) > 0 {
			fmt.Fprintf(a.Stdout, "         iterations to land: %s\n", strings.Join(parts, ", "))
		}
		parts = nil
		for _, rule := range slices.Sorted(maps.Keys(p.Rules)) {
			parts = append(parts, fmt.Sprintf("%s %d", rule, p.Rules[rule]))
		}
		if len(parts) > 0 {
			fmt.Fprintf(a.Stdout, "         turns that were red: %s\n", strings.Join(parts, ", "))
		}
		parts = nil
		for _, code := range slices.Sorted(maps.Keys(p.Failures)) {
			parts = append(parts, fmt.Sprintf("%s %d", code, p.Failures[code]))
		}
		if len(parts) > 0 {
			fmt.Fprintf(a.Stdout, "         attempts that failed: %s\n", strings.Join(parts, ", "))
		}
	}
	return nil
}
