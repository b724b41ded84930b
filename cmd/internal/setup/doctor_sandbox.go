package setup

import (
	"context"
	"fmt"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/probe"
)

// tried is a level with what came of the threats.
type tried struct {
	level   sandbox.Level
	stopped map[sandbox.Threat]bool
}

// checkSandbox tries on this machine what each level of the sandbox promises.
func checkSandbox(ctx context.Context, a *cli.Invocation) []finding {
	run := a.System("").RunGuarded
	var levels []tried
	var findings []finding
	for _, box := range sandbox.Boxes(a.Self, a.LookPath("bwrap")) {
		f := finding{"level", true, "", ""}
		results, err := probe.Run(ctx, run, box, "", a.FilterEnv("PATH", "LANG"))
		if err != nil {
			f.Says, f.Fix = fmt.Sprintf("%s cannot be had: %s", box.Level, err), sandbox.Help(err)
			findings = append(findings, f)
			continue
		}
		t := tried{box.Level, map[sandbox.Threat]bool{}}
		for _, r := range results {
			t.stopped[r.Promise.Threat] = r.Stopped
		}
		levels = append(levels, t)
		f.Says = fmt.Sprintf("%s stands, and stops %d of %d", box.Level, count(t.stopped), len(results))
		findings = append(findings, f)
	}
	if len(levels) == 0 {
		return append([]finding{{"sandbox", false, "no level can be had on this machine", "see each level"}}, findings...)
	}
	taken := fmt.Sprintf("%s is the strongest that can be had; with sandbox.level auto agents and the gate run in it", levels[0].level)
	findings = append([]finding{{"sandbox", true, taken, ""}}, findings...)
	for _, p := range sandbox.Promises() {
		findings = append(findings, checkPromise(p, levels))
	}
	if w, err := workspace.Read(ctx, a); err == nil {
		findings = append(findings, checkOpened(w)...)
	}
	return append(findings, checkBaseGate(ctx, a)...)
}

// checkOpened finds the paths that the settings open to a sandbox, and that are not there. They are no problem: nothing is open by them.
func checkOpened(w *workspace.Workspace) (findings []finding) {
	for _, line := range w.NotThere() {
		findings = append(findings, finding{"sandbox", true, line, "make it, or take it out of the settings"})
	}
	return findings
}

func count(stopped map[sandbox.Threat]bool) (n int) {
	for _, was := range stopped {
		if was {
			n++
		}
	}
	return n
}

// checkPromise compares a row of the table with what came of it.
func checkPromise(p sandbox.Promise, levels []tried) finding {
	f := finding{string(p.Threat), true, "", ""}
	var says []string
	for _, t := range levels {
		word := "stopped"
		switch promised := p.Stopped(t.level, sandbox.ABI()); {
		case !t.stopped[p.Threat] && promised:
			word, f.OK = "NOT stopped, though it is promised", false
			f.Fix = "do not rely on this level here, and report it: SECURITY.md"
		case !t.stopped[p.Threat]:
			word = "not stopped"
		case !promised:
			word = "stopped here, not promised"
		}
		says = append(says, fmt.Sprintf("%s: %s", t.level, word))
	}
	f.Says = p.Says + "; " + strings.Join(says, "; ")
	return f
}
