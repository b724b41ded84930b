package claude

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The checks that hand-written hooks run: a tool with the verb that makes it a check.
var check = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:[A-Za-z_][A-Za-z0-9_]*=\S+ )*)(?:` +
		`go (?:test|vet|build)|golangci-lint run|staticcheck|` +
		`(?:npm|pnpm|yarn|bun) (?:test|t|run [\w:.-]+|lint|build)|(?:npx|bunx|pnpm exec) \S+|tsc|eslint|vitest|jest|` +
		`(?:python3? -m )?(?:pytest|mypy|ruff|tox|unittest)|(?:uv|poetry|pipenv) run \S+|` +
		`cargo (?:test|clippy|check|build|fmt)|(?:\./)?mvnw? \S+|(?:\./)?gradlew? \S+|` +
		`make(?: [\w.-]+)?|just \S+|rake \S+|bundle exec \S+|mix test|dotnet (?:test|build)|` +
		`(?:\./|bash |sh )\S*(?:test|check|lint|ci)\S*)(?: |$)`)
})

// Checks are the commands by which a hand-written stop hook checks the work, so that they
// can be rules of the gate: orch's own hook goes by the tracker. They are found by what
// begins a command of the script; a script that only asks a tracker has none.
func Checks(script string) (out []string) {
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, command := range splitCommands(line) {
			if check().MatchString(command) && !slices.Contains(out, command) {
				out = append(out, command)
			}
		}
	}
	return out
}

var (
	separator = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\|\||&&|;|\|`) })
	keyword   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?:if|then|else|do|!|exec|time|\w+=\$\(|\()\s*)+`)
	})
	redirect = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*(?:\d?>{1,2}\s*\S+|\d?>&\d|&>\s*\S+|<\s*\S+)`) })
)

// splitCommands splits a line of a shell script into commands, as far as that is needed here.
func splitCommands(line string) (out []string) {
	for _, part := range separator().Split(line, -1) {
		part = keyword().ReplaceAllString(strings.TrimSpace(part), "")
		part = redirect().ReplaceAllString(part, "")
		out = append(out, strings.TrimSpace(strings.TrimRight(part, ") ")))
	}
	return out
}
