package protect_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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

func (t tree) tree() protect.Tree {
	return protect.Tree{Paths: slices.Sorted(maps.Keys(t)), Files: t.files}
}

func linked(t tree, links map[string]string) protect.Tree {
	out := t.tree()
	out.Links = links
	return out
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
	s, err := protect.New([]string{"deploy/**", "!.envrc"}, nil, tree{}.tree())
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
	_, err = protect.New([]string{"/abs"}, nil, tree{}.tree())
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
		s, err := protect.New([]string{}, command(cmd), base.tree())
		require.NoError(t, err)
		now := tree{}
		for p, text := range base {
			now[p] = text + "changed"
		}
		slices.Sort(want)
		require.Equal(t, want, touched(t, s, base, now), cmd)
	}
	s, err := protect.New(nil, command("sh tools/deep/gate.sh"), tree{"tools/deep/gate.sh": "true"}.tree())
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
	s, err := protect.New(nil, command("sh gate.sh"), base.tree())
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
	s, err := protect.New(nil, command("make -s test V=1"), base.tree())
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
	other, err := protect.New(nil, command("make -C sub -f my.mk test"), tree{"sub/my.mk": "test: ; true\n"}.tree())
	require.NoError(t, err)
	require.Equal(t, []string{"sub/my.mk"}, touched(t, other, tree{"sub/my.mk": "test: ; true\n"}, tree{"sub/my.mk": "test: ; false\n"}))
	first, err := protect.New(nil, command("make"), base.tree())
	require.NoError(t, err)
	require.Equal(t, []string{"Makefile"}, touched(t, first, base, change("build -o", "version")))
	require.Empty(t, touched(t, first, base, change("golint", "x")))
}

func TestJust(t *testing.T) {
	t.Parallel()
	text := "go := \"go\"\n\ntest: vet\n    {{go}} test\n\nvet:\n    go vet\n\nother arg='x':\n    echo\n"
	base := tree{"justfile": text}
	s, err := protect.New(nil, command("just test"), base.tree())
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
		s, err := protect.New(nil, command(cmd), base.tree())
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
		s, err := protect.New(nil, command(text), base.tree())
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
	s, err := protect.New(nil, command("sh ci/check.sh"), linked(tree{"tools/v2/check.sh": "true"}, map[string]string{"ci": "tools/now", "tools/now": "v2"}))
	require.NoError(t, err)
	for _, p := range []string{"tools/v2/check.sh", "ci", "ci/check.sh"} {
		touched, err := s.Touched([]protect.Change{{Path: p, OldMode: "100644", NewMode: "100644", Old: "a", New: "b"}}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{p}, touched, p)
	}
	round, err := protect.New(nil, command("sh a/x"), linked(tree{}, map[string]string{"a": "b", "b": "a"}))
	require.NoError(t, err)
	require.NotNil(t, round)
}

// TestIncludedLater: a file that a Makefile includes where it is there is protected before it is.
func TestIncludedLater(t *testing.T) {
	t.Parallel()
	s, err := protect.New(nil, command("make test"), tree{"Makefile": "-include local.mk\ntest:\n\ttrue\n"}.tree())
	require.NoError(t, err)
	touched, err := s.Touched([]protect.Change{{Path: "local.mk", OldMode: "000000", NewMode: "100644", New: "b"}}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"local.mk"}, touched)
}

// TestWhatIsRun: whatever way a command goes to the file that it runs, the file is protected, and so is one that comes
// to where it looks; what it only looks at is not.
func TestWhatIsRun(t *testing.T) {
	t.Parallel()
	base := tree{
		"gate.sh": "true", "ci/gate.sh": "true", "ci/a.sh": "true", "ci/one": "sh ci/two", "ci/two": "true", "list": "ci/a.sh\n", "data.txt": "", "src/main.go": "", "check.py": "", "tests/test_a.py": "",
		"check": "#!/usr/bin/env -S sh run.sh", "run.sh": "sh ci/two", "mk": "#!/usr/bin/make -f\nall:\n\tsh gate.sh\n",
	}
	for cmd, want := range map[string][]string{
		"cat ci/gate.sh | sh": {"ci/gate.sh"}, "cat ci/gate.sh | tee x | sh -s": {"ci/gate.sh"}, "echo gate.sh | xargs sh": {"gate.sh"}, "printf '%s\\n' gate.sh | xargs -I {} sh {}": {"gate.sh"},
		"echo 'sh gate.sh' | sh": {"gate.sh"}, "sh -c \"$(cat ci/gate.sh)\"": {"ci/gate.sh"}, ". <(cat ci/gate.sh)": {"ci/gate.sh"}, "eval \"$(cat gate.sh)\"": {"gate.sh"}, "x=$(cat gate.sh); eval \"$x\"": {"gate.sh"}, "$(cat list)": {"ci/a.sh", "list"},
		"cat list | xargs sh": {"ci/a.sh", "list"}, "xargs sh <list": {"ci/a.sh", "list"}, "while read f; do sh $f; done <list": {"ci/a.sh", "list"}, "cat list | while read f; do sh \"$f\"; done": {"ci/a.sh", "list"},
		"sh <<E\nsh gate.sh\nE": {"gate.sh"}, "cat gate.sh | sh -c sh": {"gate.sh"}, "env -C ci sh gate.sh": {"ci/gate.sh"}, "env -S 'sh gate.sh'": {"gate.sh"}, "timeout -s KILL 5 sh -c 'sh gate.sh'": {"gate.sh"},
		"sh ./gat?.sh": {"gate.sh"}, "sh ci/*.sh": {"ci/a.sh", "ci/gate.sh", "ci/new.sh"}, "for f in ci/*.sh; do sh $f || exit; done": {"ci/a.sh", "ci/gate.sh", "ci/new.sh"}, "for f in one; do sh ci/$f; done": {"ci/one", "ci/two"},
		"D=ci; sh $D/gate.sh": {"ci/gate.sh"}, "bash ci/{a,gate}.sh": {"ci/a.sh", "ci/gate.sh"}, "ls ci/*.sh | xargs -n 1 sh": {"ci/a.sh", "ci/gate.sh", "ci/new.sh"}, "find ci -name '*.sh' -exec sh {} ';'": {"ci/a.sh", "ci/gate.sh", "ci/new.sh"},
		"find ci -name '*.sh' | xargs sh": {"ci/a.sh", "ci/gate.sh", "ci/new.sh"}, "run-parts ci": {"ci/a.sh", "ci/gate.sh", "ci/new.sh", "ci/one", "ci/two"}, "r() { sh \"$1\"; }; r ci/a*.sh": {"ci/a.sh"}, "./ga*.sh": {"gate.sh"},
		"./check": {"check", "ci/two", "run.sh"}, "./mk": {"gate.sh", "mk"}, "sh ci/one": {"ci/one", "ci/two"}, "bash -o pipefail ci/one": {"ci/one", "ci/two"},
		"cat data.txt | wc -l": nil, "cat data.txt | python3 check.py": {"check.py"}, "git ls-files 'src/*.go' | xargs gofmt -l": nil, "gofmt -l src/*.go": nil, "node --test tests/*.py": nil, "python3 -m pytest tests/*.py": nil,
		"! grep -q TODO src/main.go | sort": nil, "test -f data.txt && sh gate.sh": {"gate.sh"}, "for f in src/*.go; do gofmt -l $f; done": nil,
	} {
		s, err := protect.New([]string{}, command(cmd), base.tree())
		require.NoError(t, err)
		now := tree{"ci/new.sh": "new", "src/new.go": "new"}
		for p, text := range base {
			now[p] = text + " changed"
		}
		assert.Equal(t, want, touched(t, s, base, now), cmd)
	}
}

// TestTargetsInTheWay: a file, or a folder, of the name of a target that is no file keeps make from making it.
func TestTargetsInTheWay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"test: vet\n\tgo test\nvet:\n\tgo vet\n":                  {"test/f", "vet"},
		".PHONY: test\ntest: vet\n\tgo test\nvet:\n\tgo vet\n":    {"vet"},
		"P = test vet\n.PHONY: $(P)\ntest: vet\nvet:\n\tgo vet\n": nil,
		"test: FORCE\n\tgo test\nFORCE:\n.PHONY: FORCE\n":         nil,
		"te%:\n\tgo test\n":                                          {"test/f"},
		"test: main.go\n\tgo test\nother:\n\ttrue\n":                 {"test/f"},
		"t: test\n\ttrue\n.PHONY: vet other\ntest:\n\tgo test ./...": {"test/f"},
	} {
		base := tree{"Makefile": text}
		s, err := protect.New(nil, command("make test"), base.tree())
		require.NoError(t, err)
		require.Equal(t, want, touched(t, s, base, tree{"Makefile": text, "test/f": "x", "vet": "x", "other": "x", "main.go": "x", "tested": "x"}), text)
	}
	was := tree{"Makefile": "test:\n\tgo test\n", "test/a": ""}
	s, err := protect.New(nil, command("make test"), was.tree())
	require.NoError(t, err)
	require.Empty(t, touched(t, s, was, tree{"Makefile": was["Makefile"], "test/a": "", "test/b": "x"}), "it is in the way already")
	phony := tree{"Makefile": ".PHONY: test\ntest:\n\tgo test\n"}
	s, err = protect.New(nil, command("make test"), phony.tree())
	require.NoError(t, err)
	require.Equal(t, []string{"Makefile"}, touched(t, s, phony, tree{"Makefile": "test:\n\tgo test\n", "test/a": ""}), "it is no longer said to be no file")
}

// TestIncluded: what a Makefile includes, by whatever name, is protected with what it runs and depends on.
func TestIncluded(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"include mk/*.mk", "include $(wildcard mk/*.mk)", "D = mk\ninclude $(D)/a.mk mk/new.mk", "-include $(TOP)/mk/a.mk mk/new.mk # all"} {
		text := line + "\n.PHONY: check lint other\nlint:\n\tgo vet\nother:\n\ttrue\n"
		base := tree{"Makefile": text, "mk/a.mk": "check: lint\n\tsh tools/x.sh\n", "tools/x.sh": "", "mk/readme": ""}
		s, err := protect.New(nil, command("make check"), base.tree())
		require.NoError(t, err)
		now := tree{"Makefile": text, "mk/a.mk": "check:\n", "tools/x.sh": "x", "mk/readme": "x", "mk/new.mk": "x"}
		require.Equal(t, []string{"mk/a.mk", "mk/new.mk", "tools/x.sh"}, touched(t, s, base, now), line)
		now["Makefile"] = strings.Replace(text, "go vet", "true", 1)
		require.Contains(t, touched(t, s, base, now), "Makefile", line)
	}
}
