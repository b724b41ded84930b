package setup

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// checkBaseGate has the gate judge the commit that is checked out, in the sandbox, and where it is red there also outside: what fails
// inside alone is what a person has to open. There is no finding where there is no repository, or no gate.
func checkBaseGate(ctx context.Context, a *cli.Invocation) []finding {
	w, err := workspace.Read(ctx, a)
	if err != nil || w.Project.Broken != nil || len(w.Project.Config.Gate) == 0 {
		return nil
	}
	f := finding{"gate", true, "", ""}
	q, err := trust.Ask(ctx, w.Project, "HEAD")
	switch {
	case err != nil:
		return []finding{{"gate", false, err.Error(), ""}}
	case q.State(plan.Settings) != trust.Trusted:
		f.Says, f.Fix = "it was not tried: nobody has allowed what this repository runs", "orch trust, then orch doctor --sandbox"
		return []finding{f}
	}
	err = inTryout(ctx, w.Project, func(top string, checkout func() (string, error)) error {
		judge := func(bounded bool) (validation.Verdict, error) {
			dir, err := checkout()
			if err != nil {
				return validation.Verdict{}, err
			}
			return w.TryGate(ctx, workspace.GateTrial{Dir: dir, Folder: filepath.Join(top, "orch", "epics", "gate"), Bounded: bounded})
		}
		inside, err := judge(true)
		if err != nil || inside.Passed {
			f.Says = "green in the sandbox, on the commit that is checked out"
			return err
		}
		outside, err := judge(false)
		if err != nil {
			return err
		}
		f.OK, f.Says, f.Fix = compareGates(inside, outside)
		return nil
	})
	if err != nil {
		return []finding{{"gate", false, "it was not tried: " + text.Head(err.Error()), ""}}
	}
	return []finding{f}
}

// compareGates says what fails in the sandbox alone.
func compareGates(inside, outside validation.Verdict) (ok bool, says, fix string) {
	failed := map[string]bool{}
	for _, c := range outside.Checks {
		failed[c.Rule] = !c.Passed
	}
	var only []string
	for _, c := range inside.Checks {
		if !c.Passed && !failed[c.Rule] {
			only = append(only, c.Rule)
		}
	}
	if len(only) == 0 {
		return true, "red on the commit that is checked out, in the sandbox and outside: " + inside.Why(), ""
	}
	hint := validation.BoundsHint(inside.Why() + inside.Feedback())
	if hint == "" {
		hint = "orch sandbox try --as gate -- COMMAND shows it; orch sandbox explain says what it sees"
	}
	return false, "in the sandbox alone these fail: " + strings.Join(only, ", ") + "; " + inside.Why(), hint
}
