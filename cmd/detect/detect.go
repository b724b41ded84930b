// Package detect finds the checks that a repository has: its test, build, lint and coverage commands,
// by the files that say so. It runs nothing and guesses nothing: a command is found when
// the repository's own files call for it.
package detect

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/validation"
)

// The names of the rules.
const (
	Tests    = "tests_pass"
	Compiles = "compiles"
	Lint     = "lint_clean"
	Coverage = "coverage_holds"
)

// Rules are the checks of the repository in root, of each name the first that is found, in
// the order build, tests, lint, coverage.
func Rules(root fs.FS) []validation.Rule {
	r := repository{root}
	found := map[string]string{}
	for _, look := range []func() map[string]string{r.golang, r.rust, r.java, r.node, r.python, r.makefile} {
		for name, command := range look() {
			if found[name] == "" {
				found[name] = command
			}
		}
	}
	var rules []validation.Rule
	for _, name := range []string{Compiles, Tests, Lint, Coverage} {
		if command := found[name]; command != "" {
			rules = append(rules, validation.Rule{Name: name, Type: validation.Command, Command: command})
		}
	}
	return rules
}

type repository struct{ fs.FS }

// maxFile bounds a file that is read, in bytes.
const maxFile = 1 << 20

// has reports whether one of the files is there.
func (r repository) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, err := fs.Stat(r, name); return err == nil })
}

// text is a file's content; "" where there is none, or one that is too large.
func (r repository) text(name string) string {
	if info, err := fs.Stat(r, name); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	b, err := fs.ReadFile(r, name)
	if err != nil {
		return ""
	}
	return string(b)
}

func (r repository) golang() map[string]string {
	if !r.has("go.mod") {
		return nil
	}
	lint := "go vet ./..."
	if r.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
		lint = "golangci-lint run"
	}
	return map[string]string{Compiles: "go build ./...", Tests: "go test ./...", Lint: lint}
}

func (r repository) rust() map[string]string {
	if !r.has("Cargo.toml") {
		return nil
	}
	return map[string]string{Compiles: "cargo build --all-targets", Tests: "cargo test", Lint: "cargo clippy --all-targets -- -D warnings"}
}

func (r repository) java() map[string]string {
	maven, gradle := "mvn", "gradle"
	if r.has("mvnw") {
		maven = "./mvnw"
	}
	if r.has("gradlew") {
		gradle = "./gradlew"
	}
	switch {
	case r.has("pom.xml"):
		return map[string]string{Compiles: maven + " -q -B test-compile", Tests: maven + " -q -B test"}
	case r.has("build.gradle", "build.gradle.kts"):
		return map[string]string{Compiles: gradle + " testClasses", Tests: gradle + " test"}
	}
	return nil
}

// node goes by the scripts of package.json, and by the lock file for who runs them.
func (r repository) node() map[string]string {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(r.text("package.json")), &pkg) != nil {
		return nil
	}
	run := "npm run "
	switch {
	case r.has("pnpm-lock.yaml"):
		run = "pnpm run "
	case r.has("yarn.lock"):
		run = "yarn run "
	case r.has("bun.lock", "bun.lockb"):
		run = "bun run "
	}
	found := map[string]string{}
	for name, scripts := range map[string][]string{Tests: {"test"}, Compiles: {"typecheck", "type-check", "build"}, Lint: {"lint"}, Coverage: {"coverage", "test:coverage"}} {
		for _, script := range scripts {
			text := pkg.Scripts[script]
			if text != "" && found[name] == "" && !strings.Contains(text, "no test specified") {
				found[name] = run + script
			}
		}
	}
	return found
}

func (r repository) python() map[string]string {
	project := r.text("pyproject.toml")
	found := map[string]string{}
	if strings.Contains(project, "[tool.pytest") || r.has("pytest.ini", "tests/conftest.py", "conftest.py") || strings.Contains(r.text("setup.cfg"), "[tool:pytest]") {
		found[Tests] = "python -m pytest -q"
	} else if r.has("tox.ini") {
		found[Tests] = "tox"
	}
	if strings.Contains(project, "[tool.mypy") || r.has("mypy.ini", ".mypy.ini") {
		found[Compiles] = "python -m mypy ."
	}
	if strings.Contains(project, "[tool.ruff") || r.has("ruff.toml", ".ruff.toml") {
		found[Lint] = "ruff check ."
	} else if r.has(".flake8") {
		found[Lint] = "flake8"
	}
	return found
}

// makefile goes by the targets.
func (r repository) makefile() map[string]string {
	text := r.text("Makefile")
	found := map[string]string{}
	for name, target := range map[string]string{Tests: "test", Compiles: "build", Lint: "lint", Coverage: "coverage"} {
		if regexp.MustCompile(`(?m)^` + target + `\s*:([^=]|$)`).MatchString(text) {
			found[name] = "make " + target
		}
	}
	return found
}
