package templates

import (
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Agent is one of the definitions that orch ships: who does a task, and how it iterates.
type Agent struct {
	// Name is what a task's label agent:NAME says.
	Name string
	// Title is what it is.
	Title string
	// Use says when to choose it.
	Use string
	// Role is what it cares for.
	Role string
	// Step says more of what a step is; "" for nothing.
	Step string
	// MaxIterations is how often it may go on in one attempt.
	MaxIterations int
	// Rules are the names of those that judge each of its turns.
	Rules []string
}

// At is the agent in a repository whose gate has rules of these names: it keeps its own of
// them, and takes all where it has none of them.
func (a Agent) At(gate []string) Agent {
	a.Rules = slices.DeleteFunc(slices.Clone(a.Rules), func(rule string) bool { return !slices.Contains(gate, rule) })
	if len(a.Rules) == 0 {
		a.Rules = gate
	}
	return a
}

// Agents are those that orch ships, with the limits that they have in its settings.
func Agents() []Agent {
	return []Agent{
		{"me", "Engineer", "Implements and refactors code, test first. The default for tasks without a label.",
			"You implement one task, test first: a test that fails for the right reason, the least code\nthat makes it pass, then the cleaning up.", ": a failing test, or the code that makes one pass", 15, []string{"compiles", "tests_pass", "lint_clean"}},
		{"qa", "Tester", "Writes tests and raises coverage. For tasks labelled agent:qa.",
			"You make the tests worth trusting. You cover what can go wrong and what is not covered yet,\nand mend tests that pass or fail by chance. You change production code only where it cannot be\ntested otherwise.", ": one behaviour that no test holds yet", 10, []string{"tests_pass", "coverage_holds"}},
		{"sec", "Security engineer", "Finds and mends vulnerabilities. For tasks labelled agent:sec.",
			"You close one weakness at a time, at its cause, with a test that shows the attack fail. You\nnever print or commit a secret.", ": one weakness, with the test that shows it", 10, []string{"tests_pass", "lint_clean"}},
		{"doc", "Writer", "Writes and mends documentation. For tasks labelled agent:doc.",
			"You write what a reader needs in order to act, and nothing else. Every command and every\nexample in it you have run yourself.", ": one page or section", 6, []string{"compiles", "lint_clean"}},
		{"do", "Operations engineer", "Builds, pipelines, configuration and infrastructure. For tasks labelled agent:do.",
			"You change builds, pipelines and configuration in small steps that can be taken back. You try\nwhat can be tried here, and say what cannot. You never deploy.", ": one change that can be checked by itself", 8, []string{"compiles", "tests_pass"}},
	}
}

// AgentFile is the definition as a file that agent clients read, Markdown with a YAML head.
func AgentFile(a Agent) (string, error) {
	t, err := template.ParseFS(files, "agent.md.tmpl")
	if err != nil {
		return "", fmt.Errorf("reading the agents: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, a); err != nil {
		return "", fmt.Errorf("writing the agent %s: %w", a.Name, err)
	}
	return b.String(), nil
}
