package protect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/protect"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// tree is a tree of files by their paths, for both sides of a change.
type tree map[string]string

func (t tree) files(paths []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, p := range paths {
		if text, ok := t[p]; ok {
			out[p] = []byte(text)
		}
	}
	return out, nil
}

func command(text string) []validation.Rule {
	return []validation.Rule{{Name: "gate", Type: validation.Command, Command: text}}
}

// edit changes plain files: what they were, and what they are; "" is nothing.
func touched(t *testing.T, s *protect.Set, old, now tree) []string {
	t.Helper()
	var changes []protect.Change
	mode := func(in tree, p string) string {
		switch text, ok := in[p]; {
		case !ok:
			return "000000"
		case strings.HasPrefix(text, "->"):
			return "120000"
		case strings.HasPrefix(text, "@"):
			return "160000"
		case strings.HasPrefix(text, "#!"):
			return "100755"
		}
		return "100644"
	}
	for p := range old {
		if now[p] != old[p] || mode(now, p) != mode(old, p) {
			changes = append(changes, protect.Change{Path: p, OldMode: mode(old, p), NewMode: mode(now, p), Old: "old:" + p, New: "new:" + p})
		}
	}
	for p := range now {
		if _, was := old[p]; !was {
			changes = append(changes, protect.Change{Path: p, OldMode: "000000", NewMode: mode(now, p), New: "new:" + p})
		}
	}
	slices.SortFunc(changes, func(a, b protect.Change) int { return strings.Compare(a.Path, b.Path) })
	got, err := s.Touched(changes, func(id string) ([]byte, error) {
		side, p, _ := strings.Cut(id, ":")
		text, ok := map[string]tree{"old": old, "new": now}[side][p]
		if !ok {
			return nil, fmt.Errorf("no blob %s", id)
		}
		return []byte(text), nil
	})
	require.NoError(t, err)
	return got
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	s, err := protect.New([]string{"deploy/**", "!.envrc"}, nil, nil, tree{}.files)
	require.NoError(t, err)
	for path, want := range map[string]bool{
		"project.yaml": true, "PROJECT.yaml": true, "project.yaml. ": true, "pro\u200cject.yaml": true, "sub/project.yaml": false,
		".github/workflows/ci.yml": true, ".GitHub/x": true, ".github": true, ".cursor/rules": true, ".cursor": true, ".gitmodules": true,
		"a/b/.gitattributes": true, ".gitattributes": true, "deploy/x": true, "deploy": true, "deployed": false, "main.go": false, "CLAUDE.md": false,
		".envrc": false, "azure-pipelines-1.yml": true, ".vscode/tasks.json": true, "Jenkinsfile": true, "jenkinsfile": true,
	} {
		got := touched(t, s, tree{}, tree{path: "new"})
		require.Equal(t, want, len(got) == 1, path)
		require.Equal(t, want, len(touched(t, s, tree{path: "old"}, tree{})) == 1, "deleted: %s", path)
	}
	_, err = protect.New([]string{"/abs"}, nil, nil, tree{}.files)
	require.Error(t, err)
}

// What commands name is protected where it is a file of the tree, also through what it is
// renamed to, replaced by, or found through.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	base := tree{"gate.sh": "true", "tools/check.py": "", "tools/pkg/__main__.py": "", "lib.sh": "", "main.go": "", "data.txt": "", "js/index.js": "", "conf.toml": "", "x/gate.sh": ""}
	for cmd, want := range map[string][]string{
		"sh ./gate.sh": {"gate.sh"}, "sh gate.sh | cat": {"gate.sh"}, "./gate.sh": {"gate.sh"}, "sh 'gate.sh'": {"gate.sh"}, `sh "gate".sh`: {"gate.sh"}, "sh ga\\te.sh": {"gate.sh"},
		"cd x && ./gate.sh": {"x/gate.sh"}, "(cd x && ./gate.sh); ./gate.sh": {"x/gate.sh", "gate.sh"}, "sh $ROOT/gate.sh": {"gate.sh"}, `sh "$(git rev-parse --show-toplevel)/gate.sh"`: {"gate.sh"},
		"sh < gate.sh": {"gate.sh"}, "sh -c 'sh gate.sh'": {"gate.sh"}, "bash -ec './gate.sh'": {"gate.sh"}, "eval 'sh gate.sh'": {"gate.sh"}, "env A=b timeout 10 sh gate.sh": {"gate.sh"},
		"python3 tools/check.py --x": {"tools/check.py"}, "python -m tools.pkg": {"tools/pkg/__main__.py"}, "python tools/pkg": {"tools/pkg/__main__.py"}, "node js": {"js/index.js"},
		"lint --config=conf.toml .": {"conf.toml"}, "if true; then . ./lib.sh; fi": {"lib.sh"}, "for i in 1; do sh gate.sh; done": {"gate.sh"}, "X=gate.sh; sh $X": {"gate.sh"},
		"test -f data.txt": nil, "! grep -q x main.go": nil, "go vet ./... && go test ./...": nil, "x() { sh gate.sh; }; x": {"gate.sh"}, "sh gate.sh 'unclosed": {"gate.sh"},
		"sh ../gate.sh": nil, "sh /etc/gate.sh": nil, "sh no.sh": nil,
	} {
		s, err := protect.New([]string{}, command(cmd), nil, base.files)
		require.NoError(t, err)
		now := tree{}
		for p, text := range base {
			now[p] = text + "changed"
		}
		slices.Sort(want)
		require.Equal(t, want, touched(t, s, base, now), cmd)
	}
	s, err := protect.New(nil, command("sh tools/deep/gate.sh"), nil, tree{"tools/deep/gate.sh": "true"}.files)
	require.NoError(t, err)
	was := tree{"tools/deep/gate.sh": "true"}
	require.Equal(t, []string{"tools/deep/gate.sh"}, touched(t, s, was, tree{"moved.sh": "true"}), "renamed")
	require.Equal(t, []string{"tools/deep/gate.sh"}, touched(t, s, was, tree{"tools/deep/gate.sh": "->x"}), "a link in its place")
	require.Equal(t, []string{"tools", "tools/deep/gate.sh"}, touched(t, s, was, tree{"tools": "->x"}), "a link in a folder's place")
	require.Equal(t, []string{"tools", "tools/deep/gate.sh"}, touched(t, s, was, tree{"tools": "@x"}), "a submodule in a folder's place")
	require.Equal(t, []string{"tools/deep/Gate.sh"}, touched(t, s, was, tree{"tools/deep/gate.sh": "true", "tools/deep/Gate.sh": "x"}), "in other letters")
	require.Equal(t, []string{"tools/deep/gate.sh"}, touched(t, s, tree{"tools/deep/gate.sh": "#!/bin/sh"}, tree{"tools/deep/gate.sh": "sh"}), "its mode")
}

// A script that a protected script names is protected too.
func TestScriptsNameScripts(t *testing.T) {
	t.Parallel()
	base := tree{"gate.sh": "set -e\n. \"$(dirname \"$0\")/ci/one.sh\"\n", "ci/one.sh": "cd ci && ./two\n", "ci/two": "#!/bin/sh\npython3 three.py\n", "ci/three.py": "", "four.py": ""}
	s, err := protect.New(nil, command("sh gate.sh"), nil, base.files)
	require.NoError(t, err)
	now := tree{}
	for p := range base {
		now[p] = "#!/bin/sh changed"
	}
	require.Equal(t, []string{"ci/one.sh", "ci/three.py", "ci/two", "gate.sh"}, touched(t, s, base, now))
}

const sampleMakefile = `GO ?= go
NAME := app
FLAGS = -x $(EXTRA)
EXTRA = y
.PHONY: test lint build
build: main.go
	$(GO) build -o $(NAME)
test: vet
	$(GO) test $(FLAGS) ./...
	sh ci/check.sh
vet:
	$(GO) vet ./...
lint: ; golint
`

func TestMake(t *testing.T) {
	t.Parallel()
	base := tree{"Makefile": sampleMakefile, "ci/check.sh": ""}
	s, err := protect.New(nil, command("make -s test V=1"), nil, base.files)
	require.NoError(t, err)
	change := func(old, now string) tree {
		require.Contains(t, sampleMakefile, old)
		return tree{"Makefile": strings.Replace(sampleMakefile, old, now, 1), "ci/check.sh": ""}
	}
	for what, now := range map[string]tree{
		"the recipe": change("test $(FLAGS)", "true"), "a prerequisite's": change("$(GO) vet", "true"), "a prerequisite": change("test: vet", "test:"), "a variable": change("GO ?= go", "GO = true"),
		"a variable's variable": change("EXTRA = y", "EXTRA = z"), "the shell": change("NAME := app", "SHELL = /bin/true\nNAME := app"), "another rule": change("lint:", "test: ; true\nlint:"),
		"an include": change("NAME := app", "NAME := app\n-include evil.mk"), "what runs at once": change("NAME := app", "NAME := $(shell true)"), "a pattern": change("lint:", "%: ; true\nlint:"),
		"ignored errors": change("lint:", ".IGNORE:\nlint:"), "a double colon": change("test: vet", "test:: vet"), "a condition": change("test: vet", "ifdef X\ntest: vet"), "an export": change("NAME := app", "export NAME := app"),
		"set in a rule": change("lint:", "test: GO = true\nlint:"), "a define": change("lint:", "define GO\ntrue\nendef\nlint:"),
	} {
		require.Equal(t, []string{"Makefile"}, touched(t, s, base, now), what)
	}
	for what, now := range map[string]tree{
		"another recipe": change("golint", "golint ./..."), "a variable of another": change("NAME := app", "NAME := other"), "a comment": change("GO ?=", "# go\nGO ?="), "a new target": change("lint:", "new: ; true\nlint:"),
	} {
		require.Empty(t, touched(t, s, base, now), what)
	}
	require.Equal(t, []string{"GNUmakefile"}, touched(t, s, base, tree{"Makefile": sampleMakefile, "ci/check.sh": "", "GNUmakefile": "test:"}), "which counts first")
	require.Equal(t, []string{"ci/check.sh"}, touched(t, s, base, tree{"Makefile": sampleMakefile, "ci/check.sh": "x"}), "what the recipe names")
	require.Equal(t, []string{"Makefile"}, touched(t, s, base, tree{"Makefile": "->x", "ci/check.sh": ""}))
	other, err := protect.New(nil, command("make -C sub -f my.mk test"), nil, tree{"sub/my.mk": "test: ; true\n"}.files)
	require.NoError(t, err)
	require.Equal(t, []string{"sub/my.mk"}, touched(t, other, tree{"sub/my.mk": "test: ; true\n"}, tree{"sub/my.mk": "test: ; false\n"}))
	first, err := protect.New(nil, command("make"), nil, base.files)
	require.NoError(t, err)
	require.Equal(t, []string{"Makefile"}, touched(t, first, base, change("build -o", "version")))
	require.Empty(t, touched(t, first, base, change("golint", "x")))
}

func TestJust(t *testing.T) {
	t.Parallel()
	text := "go := \"go\"\n\ntest: vet\n    {{go}} test\n\nvet:\n    go vet\n\nother arg='x':\n    echo\n"
	base := tree{"justfile": text}
	s, err := protect.New(nil, command("just test"), nil, base.files)
	require.NoError(t, err)
	for old, want := range map[string]bool{"{{go}} test": true, "go vet": true, `"go"`: true, "echo": false} {
		got := touched(t, s, base, tree{"justfile": strings.Replace(text, old, "changed", 1)})
		require.Equal(t, want, len(got) == 1, old)
	}
}

func TestScriptsOfAPackage(t *testing.T) {
	t.Parallel()
	text := `{"name":"a","version":"1","scripts":{"test":"node tools/run.js","build":"tsc"},"dependencies":{}}`
	base := tree{"package.json": text, "tools/run.js": ""}
	for _, cmd := range []string{"npm test", "npm run test -- --ci", "pnpm test", "yarn test", "npm --silent t"} {
		s, err := protect.New(nil, command(cmd), nil, base.files)
		require.NoError(t, err)
		require.Equal(t, []string{"package.json"}, touched(t, s, base, tree{"package.json": strings.Replace(text, "node", "true", 1), "tools/run.js": ""}), cmd)
		require.Equal(t, []string{"tools/run.js"}, touched(t, s, base, tree{"package.json": text, "tools/run.js": "x"}), cmd)
		require.Empty(t, touched(t, s, base, tree{"package.json": strings.Replace(text, `"dependencies":{}`, `"dependencies":{"x":"1"}`, 1), "tools/run.js": ""}), cmd)
		require.Equal(t, []string{"package.json"}, touched(t, s, base, tree{"package.json": "{", "tools/run.js": ""}), cmd)
		require.Equal(t, []string{".npmrc"}, touched(t, s, tree{".npmrc": ""}, tree{".npmrc": "script-shell=/bin/true"}), cmd)
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"b/c"}, protect.Allowed([]string{"a", "b/c", "d.yaml"}, []string{"a", "*.yaml"}))
	require.Empty(t, protect.Allowed([]string{"a", "b/c"}, []string{"**"}))
}

func TestTestsThatGo(t *testing.T) {
	t.Parallel()
	note := func(p, old, now string) string {
		c := protect.Change{Path: p, OldMode: "100644", NewMode: "100644", Old: old, New: now}
		if now == "" {
			c.NewMode = "000000"
		}
		return protect.TestNote([]protect.Change{c}, func(id string) ([]byte, error) { return []byte(id), nil })
	}
	two := "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n"
	require.Equal(t, "deletes 2 tests", note("a_test.go", two, ""))
	require.Equal(t, "deletes 1 test, skips 1", note("a_test.go", two, "func TestA(t *testing.T) { t.Skip() }\n"))
	require.Empty(t, note("a_test.go", two, two+"func TestC(t *testing.T) {}\n"))
	require.Empty(t, note("a.go", two, ""))
	require.Equal(t, "skips 1", note("tests/test_a.py", "def test_a():\n", "@pytest.mark.skip\ndef test_a():\n"))
	require.Equal(t, "skips 2", note("src/a.test.ts", "it('a')\nit('b')\n", "it.skip('a')\nit('b')\nit('c')\nxit('d')\n"))
	require.Equal(t, "skips 1", note("src/lib.rs", "#[test]\nfn a() {}", "#[test]\n#[ignore]\nfn a() {}"))
	require.Equal(t, "deletes 1 test", note("src/lib.rs", "#[test]\nfn a() {}", "fn a() {}"))
}

// Whatever a gate says, and whatever a Makefile has in it: an answer.
func FuzzNew(f *testing.F) {
	for _, text := range []string{"make test", "cd x && sh 'a b' | (cd y; z)", "npm run x", "sh -c \"sh -c 'sh x'\"", "`a` $(b) <<E\nE\n", "just"} {
		f.Add(text, sampleMakefile)
	}
	f.Fuzz(func(t *testing.T, text, makefile string) {
		base := tree{"Makefile": makefile, "justfile": makefile, "package.json": makefile, "x": text, "gate.sh": makefile}
		s, err := protect.New(nil, command(text), nil, base.files)
		if err != nil {
			t.Fatal(err)
		}
		touched(t, s, base, tree{"Makefile": makefile + "\nx:\n\ty\n", "justfile": "", "package.json": "{}", "x": ""})
	})
}

// TestByWayOfALink: a script that is named through a link of the tree is protected where it is,
// and the link too.
func TestByWayOfALink(t *testing.T) {
	t.Parallel()
	s, err := protect.New(nil, command("sh ci/check.sh"), map[string]string{"ci": "tools/now", "tools/now": "v2"}, tree{"tools/v2/check.sh": "true"}.files)
	require.NoError(t, err)
	for _, p := range []string{"tools/v2/check.sh", "ci", "ci/check.sh"} {
		touched, err := s.Touched([]protect.Change{{Path: p, OldMode: "100644", NewMode: "100644", Old: "a", New: "b"}}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{p}, touched, p)
	}
	round, err := protect.New(nil, command("sh a/x"), map[string]string{"a": "b", "b": "a"}, tree{}.files)
	require.NoError(t, err)
	require.NotNil(t, round)
}

// TestIncludedLater: a file that a Makefile includes where it is there is protected before it is.
func TestIncludedLater(t *testing.T) {
	t.Parallel()
	s, err := protect.New(nil, command("make test"), nil, tree{"Makefile": "-include local.mk\ntest:\n\ttrue\n"}.files)
	require.NoError(t, err)
	touched, err := s.Touched([]protect.Change{{Path: "local.mk", OldMode: "000000", NewMode: "100644", New: "b"}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"local.mk"}, touched)
}
