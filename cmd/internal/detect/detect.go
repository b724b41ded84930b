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

// Setup is the commands that fetch all that the checks of the repository in root need, by its own lock files; none where that is not known of all
// of it.
func Setup(root fs.FS) (commands []string) {
	r := repository{root}
	if r.has("pom.xml", "build.gradle", "build.gradle.kts") {
		return nil // whose tools fetch more while they test
	}
	if strings.Contains(r.text("go.mod"), "require") && !r.has("vendor/modules.txt") {
		commands = append(commands, "go mod download")
	}
	for _, known := range []struct{ file, command string }{
		{"Cargo.lock", "cargo fetch --locked"}, {"package-lock.json", "npm ci"}, {"npm-shrinkwrap.json", "npm ci"}, {"pnpm-lock.yaml", "pnpm install --frozen-lockfile"},
		{"yarn.lock", r.yarn()}, {"bun.lock", "bun install --frozen-lockfile"}, {"bun.lockb", "bun install --frozen-lockfile"},
		{"uv.lock", "uv sync"}, {"poetry.lock", "poetry install"}, {"Pipfile.lock", "pipenv sync --dev"}, {"Gemfile.lock", "bundle install"},
	} {
		if r.has(known.file) && !slices.Contains(commands, known.command) {
			commands = append(commands, known.command)
		}
	}
	return commands
}

// Hosts are those from which what the repository in root is made of comes, by its own files.
func Hosts(root fs.FS) (hosts []string) {
	r := repository{root}
	for _, known := range []struct{ files, hosts []string }{
		{[]string{"go.mod"}, []string{"proxy.golang.org", "sum.golang.org"}},
		{[]string{"package.json"}, []string{"registry.npmjs.org", "registry.yarnpkg.com"}},
		{[]string{"pyproject.toml", "setup.py", "requirements.txt", "Pipfile"}, []string{"pypi.org", "files.pythonhosted.org"}},
		{[]string{"Cargo.toml"}, []string{"index.crates.io", "static.crates.io", "crates.io"}},
		{[]string{"pom.xml", "build.gradle", "build.gradle.kts"}, []string{"repo1.maven.org", "repo.maven.apache.org", "plugins.gradle.org", "services.gradle.org"}},
		{[]string{"Gemfile"}, []string{"rubygems.org", "index.rubygems.org"}},
	} {
		if r.has(known.files...) {
			hosts = append(hosts, known.hosts...)
		}
	}
	return hosts
}

// yarn is how the yarn that the repository uses installs what its lock file has.
func (r repository) yarn() string {
	if r.has(".yarnrc.yml") {
		return "yarn install --immutable"
	}
	return "yarn install --frozen-lockfile"
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

// texts is the content of all files that match one of the patterns, one after the other.
func (r repository) texts(patterns ...string) string {
	var all strings.Builder
	for _, pattern := range patterns {
		names, err := fs.Glob(r, pattern)
		if err != nil {
			continue // the patterns are our own
		}
		for _, name := range names {
			all.WriteString(r.text(name) + "\n")
		}
	}
	return all.String()
}

// pipeline is what the repository has checked elsewhere, after each push.
func (r repository) pipeline() string {
	return r.texts(".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".circleci/config.yml")
}

func (r repository) golang() map[string]string {
	if !r.has("go.mod") {
		return nil
	}
	lint := "go vet ./..."
	if r.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") || strings.Contains(r.pipeline(), "golangci-lint") {
		lint = "golangci-lint run"
	}
	return map[string]string{Compiles: "go build ./...", Tests: "go test ./...", Lint: lint}
}

func (r repository) rust() map[string]string {
	manifest := r.text("Cargo.toml")
	if !r.has("Cargo.toml") {
		return nil
	}
	found := map[string]string{Compiles: "cargo build --all-targets", Tests: "cargo test"}
	switch {
	case r.has("clippy.toml", ".clippy.toml") || strings.Contains(manifest, "lints.clippy]") || strings.Contains(r.pipeline(), "clippy"):
		found[Lint] = "cargo clippy --all-targets -- -D warnings"
	case r.has("rustfmt.toml", ".rustfmt.toml"):
		found[Lint] = "cargo fmt --check"
	}
	return found
}

func (r repository) java() map[string]string {
	switch {
	case r.has("pom.xml"):
		return r.maven()
	case r.has("build.gradle", "build.gradle.kts"):
		return r.gradle()
	}
	return nil
}

func (r repository) maven() map[string]string {
	mvn, pom := "mvn -q -B ", r.text("pom.xml")
	if r.has("mvnw") {
		mvn = "./mvnw -q -B "
	}
	found := map[string]string{Compiles: mvn + "test-compile", Tests: mvn + "test"}
	if strings.Contains(pom, "maven-checkstyle-plugin") {
		found[Lint] = mvn + "checkstyle:check"
	}
	if strings.Contains(pom, "spotless-maven-plugin") {
		found[Lint] = mvn + "spotless:check"
	}
	if strings.Contains(pom, "jacoco-maven-plugin") {
		found[Coverage] = mvn + "verify"
	}
	return found
}

func (r repository) gradle() map[string]string {
	gradle, build := "gradle ", r.texts("build.gradle", "build.gradle.kts")
	if r.has("gradlew") {
		gradle = "./gradlew "
	}
	found := map[string]string{Compiles: gradle + "testClasses", Tests: gradle + "test"}
	for plugin, task := range map[string]string{"checkstyle": "checkstyleMain", "spotless": "spotlessCheck"} {
		if strings.Contains(build, plugin) && (found[Lint] == "" || plugin == "spotless") {
			found[Lint] = gradle + task
		}
	}
	if strings.Contains(build, "jacocoTestCoverageVerification") {
		found[Coverage] = gradle + "jacocoTestCoverageVerification"
	}
	return found
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

// python goes by the settings of each tool, and by what the project says that it needs; who
// runs them, the lock file says.
func (r repository) python() map[string]string {
	project := r.text("pyproject.toml") + r.text("setup.cfg") + r.text("tox.ini")
	needs := project + r.texts("requirements*.txt", "requirements/*.txt", "Pipfile", "setup.py") + r.pipeline()
	if !r.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini", "pytest.ini", "conftest.py", "tests/conftest.py") {
		return nil
	}
	run := "python3 -m "
	switch {
	case r.has("uv.lock"):
		run = "uv run "
	case r.has("poetry.lock"):
		run = "poetry run "
	case r.has("Pipfile.lock"):
		run = "pipenv run "
	}
	found := map[string]string{}
	switch {
	case strings.Contains(needs, "pytest"), r.has("pytest.ini", "conftest.py", "tests/conftest.py"):
		found[Tests] = run + "pytest -q"
	case r.has("tox.ini"):
		found[Tests] = "tox"
	}
	if strings.Contains(project, "[tool.mypy") || strings.Contains(project, "[mypy") || r.has("mypy.ini", ".mypy.ini") {
		found[Compiles] = run + "mypy ."
	}
	switch {
	case strings.Contains(project, "[tool.ruff") || r.has("ruff.toml", ".ruff.toml"):
		found[Lint] = run + "ruff check ."
	case strings.Contains(project, "[flake8]") || r.has(".flake8"):
		found[Lint] = run + "flake8"
	}
	if found[Tests] == run+"pytest -q" && strings.Contains(needs, "pytest-cov") && strings.Contains(project+r.text(".coveragerc"), "fail_under") {
		found[Coverage] = run + "pytest -q --cov"
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
