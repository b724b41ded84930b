package detect_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/detect"
)

func TestRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":          {map[string]string{"README.md": "go test"}, nil},
		"Go":               {map[string]string{"go.mod": "module x"}, []string{"go build ./...", "go test ./...", "go vet ./..."}},
		"Go with a linter": {map[string]string{"go.mod": "", ".golangci.yml": ""}, []string{"go build ./...", "go test ./...", "golangci-lint run"}},
		"Rust":             {map[string]string{"Cargo.toml": ""}, []string{"cargo build --all-targets", "cargo test"}},
		"Rust with clippy": {map[string]string{"Cargo.toml": "[lints.clippy]\n"}, []string{"cargo build --all-targets", "cargo test", "cargo clippy --all-targets -- -D warnings"}},
		"Rust, formatted":  {map[string]string{"Cargo.toml": "", "rustfmt.toml": ""}, []string{"cargo build --all-targets", "cargo test", "cargo fmt --check"}},
		"its pipeline":     {map[string]string{"Cargo.toml": "", ".github/workflows/ci.yml": "run: cargo clippy"}, []string{"cargo build --all-targets", "cargo test", "cargo clippy --all-targets -- -D warnings"}},
		"Maven":            {map[string]string{"pom.xml": "", "mvnw": ""}, []string{"./mvnw -q -B test-compile", "./mvnw -q -B test"}},
		"Gradle":           {map[string]string{"build.gradle.kts": ""}, []string{"gradle testClasses", "gradle test"}},
		"Maven with plugins": {map[string]string{"pom.xml": "<artifactId>jacoco-maven-plugin</artifactId><artifactId>maven-checkstyle-plugin</artifactId>"},
			[]string{"mvn -q -B test-compile", "mvn -q -B test", "mvn -q -B checkstyle:check", "mvn -q -B verify"}},
		"Gradle with plugins": {map[string]string{"build.gradle": "id 'checkstyle'\njacocoTestCoverageVerification {}", "gradlew": ""},
			[]string{"./gradlew testClasses", "./gradlew test", "./gradlew checkstyleMain", "./gradlew jacocoTestCoverageVerification"}},
		"npm":                  {map[string]string{"package.json": `{"scripts":{"test":"jest","lint":"eslint .","build":"tsc"}}`}, []string{"npm run build", "npm run test", "npm run lint"}},
		"coverage":             {map[string]string{"package.json": `{"scripts":{"test":"jest","test:coverage":"jest --coverage"}}`}, []string{"npm run test", "npm run test:coverage"}},
		"npm's own default":    {map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, nil},
		"pnpm":                 {map[string]string{"package.json": `{"scripts":{"test":"vitest","build":"vite build","typecheck":"tsc --noEmit"}}`, "pnpm-lock.yaml": ""}, []string{"pnpm run typecheck", "pnpm run test"}},
		"Python":               {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n"}, []string{"python3 -m mypy .", "python3 -m pytest -q", "python3 -m ruff check ."}},
		"Python, by its needs": {map[string]string{"requirements.txt": "flask\n", "requirements-dev.txt": "pytest==8\n", ".flake8": ""}, []string{"python3 -m pytest -q", "python3 -m flake8"}},
		"Python with uv": {map[string]string{"pyproject.toml": "[dependency-groups]\ndev = ['pytest', 'pytest-cov']\n[tool.coverage.report]\nfail_under = 80\n", "uv.lock": ""},
			[]string{"uv run pytest -q", "uv run pytest -q --cov"}},
		"Python without any": {map[string]string{"pyproject.toml": "[project]\n"}, nil},
		"make":               {map[string]string{"Makefile": "build: x\n\tcc x\ntest:\n\t./t\nlint := no\ncoverage: test\n"}, []string{"make build", "make test", "make coverage"}},
		"Go comes first":     {map[string]string{"go.mod": "", "Makefile": "test:\n", "package.json": `{"scripts":{"test":"x"}}`}, []string{"go build ./...", "go test ./...", "go vet ./..."}},
		"not JSON":           {map[string]string{"package.json": "{"}, nil},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		var got []string
		for _, r := range detect.Rules(root) {
			require.NoError(t, r.Check())
			got = append(got, r.Command)
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing":            {map[string]string{"README.md": "npm ci", "package.json": "{}"}, nil},
		"Go":                 {map[string]string{"go.mod": "module x\nrequire a v1.0.0\n"}, []string{"go mod download"}},
		"Go, alone":          {map[string]string{"go.mod": "module x\n"}, nil},
		"Go, with its own":   {map[string]string{"go.mod": "module x\nrequire a v1.0.0\n", "vendor/modules.txt": ""}, nil},
		"several":            {map[string]string{"Cargo.lock": "", "package-lock.json": "", "uv.lock": "", "Gemfile.lock": ""}, []string{"cargo fetch --locked", "npm ci", "uv sync", "bundle install"}},
		"yarn":               {map[string]string{"yarn.lock": ""}, []string{"yarn install --frozen-lockfile"}},
		"yarn, a later":      {map[string]string{"yarn.lock": "", ".yarnrc.yml": ""}, []string{"yarn install --immutable"}},
		"Maven beside npm":   {map[string]string{"pom.xml": "", "package-lock.json": ""}, nil},
		"two files of a bun": {map[string]string{"bun.lock": "", "bun.lockb": ""}, []string{"bun install --frozen-lockfile"}},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		require.Equal(t, c.want, detect.Setup(root), name)
	}
}

func FuzzRules(f *testing.F) {
	f.Add(`{"scripts":{"test":"x"}}`, "test:\n", "[tool.ruff]")
	f.Fuzz(func(t *testing.T, pkg, makefile, project string) {
		for _, r := range detect.Rules(fstest.MapFS{"package.json": {Data: []byte(pkg)}, "Makefile": {Data: []byte(makefile)}, "pyproject.toml": {Data: []byte(project)}}) {
			require.NoError(t, r.Check())
		}
	})
}
