package protect

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds of the look for tests.
const (
	maxTestFiles = 50
	maxTestFile  = 1 << 20 // bytes
)

// TestNote says which tests a change takes away or leaves out from now on, in a clause; ""
// where there are none. It goes by the text of files that look like tests, and by no more
// than a bounded part of them. What cannot be read is not counted.
func TestNote(changes []Change, blob Blob) string {
	deleted, skipped, looked := 0, 0, 0
	for _, c := range changes {
		if looked >= maxTestFiles {
			break
		}
		l := languageOf(c.Path)
		if l == nil || !l.inline && !testFile(c.Path) || isLink(c.OldMode) || isLink(c.NewMode) {
			continue
		}
		looked++
		old, now := fileText(c.OldMode, c.Old, blob), fileText(c.NewMode, c.New, blob)
		deleted += max(0, len(l.test().FindAllString(old, -1))-len(l.test().FindAllString(now, -1)))
		skipped += max(0, len(l.skip().FindAllString(now, -1))-len(l.skip().FindAllString(old, -1)))
		if c.NewMode == nothing && deleted == 0 {
			deleted++ // a file whose tests are not known
		}
	}
	var out []string
	if deleted > 0 {
		out = append(out, fmt.Sprintf("deletes %d %s", deleted, map[bool]string{true: "test", false: "tests"}[deleted == 1]))
	}
	if skipped > 0 {
		out = append(out, fmt.Sprintf("skips %d", skipped))
	}
	return strings.Join(out, ", ")
}

func fileText(mode, id string, blob Blob) string {
	if mode == nothing {
		return ""
	}
	text, err := blob(id)
	if err != nil || len(text) > maxTestFile {
		return ""
	}
	return string(text)
}

// language is how tests look in one.
type language struct {
	ends       []string
	inline     bool // tests are in files of any name
	test, skip func() *regexp.Regexp
}

func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)" + expr) })
}

var languages = sync.OnceValue(func() []language {
	return []language{
		{ends: []string{".go"}, test: lazy(`^func (Test|Fuzz|Benchmark|Example)\w*\(`), skip: lazy(`\b[a-z]+\.(Skip|Skipf|SkipNow)\(|^//go:build ignore`)},
		{ends: []string{".py"}, test: lazy(`^\s*(async )?def test\w*\(`), skip: lazy(`@(pytest\.mark\.(skip|skipif|xfail)|unittest\.(skip|skipIf|skipUnless|expectedFailure))\b|\bpytest\.skip\(|\bself\.skipTest\(`)},
		{ends: []string{".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts"}, test: lazy(`^\s*(it|test)(\.each\([^)]*\))?\(`), skip: lazy(`\b(it|test|describe|suite|context)\.(skip|only|todo|fixme)\b|^\s*(xit|xtest|xdescribe|fit|fdescribe)\(`)},
		{ends: []string{".rs"}, inline: true, test: lazy(`#\[(\w+::)*test\]`), skip: lazy(`#\[ignore\b`)},
		{ends: []string{".java", ".kt", ".groovy", ".scala"}, test: lazy(`@(Test|ParameterizedTest)\b`), skip: lazy(`@(Disabled|Ignore)\b`)},
		{ends: []string{".cs"}, test: lazy(`\[(Test|Fact|Theory|TestMethod)\b`), skip: lazy(`\[Ignore\b|Skip\s*=`)},
		{ends: []string{".rb"}, test: lazy(`^\s*(it|test|specify)\s+['"]|^\s*def test_`), skip: lazy(`^\s*(xit|xdescribe|skip|pending)\b`)},
		{ends: []string{".php"}, test: lazy(`function test\w*\(`), skip: lazy(`markTest(Skipped|Incomplete)\(`)},
		{ends: []string{".ex", ".exs"}, test: lazy(`^\s*test "`), skip: lazy(`@tag :skip`)},
		{ends: []string{".swift"}, test: lazy(`func test\w*\(`), skip: lazy(`XCTSkip`)},
		{ends: []string{".sh", ".bats", ".txtar"}, test: lazy(`^@test `), skip: lazy(`^\s*skip\b`)},
	}
})

func languageOf(p string) *language {
	all := languages()
	if n := slices.IndexFunc(all, func(l language) bool { return slices.Contains(l.ends, strings.ToLower(path.Ext(p))) }); n >= 0 {
		return &all[n]
	}
	return nil
}

// testFile reports whether a file is one of tests, by its name or folder.
func testFile(p string) bool { return testName().MatchString(p) }

var testName = lazy(`(?i)(^|/)(tests?|__tests__|spec|specs|testdata)/|[._-](test|tests|spec)\.[a-z]+$|(^|/)(test_[^/]*|conftest)\.py$|(Tests?|Spec|IT)\.(java|kt|groovy|scala|cs|swift|php)$`)
