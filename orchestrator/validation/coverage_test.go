package validation_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/validation"
)

func TestCoverage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, format, why string
	}{
		{"go.out", "go", "coverage is 62.50%"},      // 5 of 8 statements
		{"lcov.info", "lcov", "coverage is 75.00%"}, // 3 of 4 lines
		{"cobertura.xml", "cobertura", "coverage is 75.00%"},
		{"cobertura-rate.xml", "cobertura", "coverage is 75.00%"},
		{"jacoco.xml", "jacoco", "coverage is 75.00%"},
	}
	for _, tt := range tests {
		for _, format := range []string{"", tt.format} {
			t.Run(tt.file+" as "+format, func(t *testing.T) {
				t.Parallel()
				rule := validation.Rule{Type: validation.Coverage, Path: tt.file, Format: format, Min: 62.5}
				in := validation.Input{Dir: filepath.Join("testdata", "coverage")}
				c := judgeOne(t, rule, in)
				require.Equal(t, passes, resultOf(c), c.Why)
				require.Equal(t, tt.why, c.Why)
				rule.Min = 75.01
				c = judgeOne(t, rule, in)
				require.Equal(t, fails, resultOf(c), c.Why)
				require.Equal(t, tt.why+", less than 75.01%", c.Why)
			})
		}
	}
}

// What is no report has errored: it has neither passed nor failed.
func TestNoCoverage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, format string }{
		"empty":                 {"", ""},
		"prose":                 {"hello", ""},
		"another XML":           {"<html/>", ""},
		"cut short":             {"<report><counter type='LINE' missed='1' covered='1'/>", ""},
		"no statements":         {"mode: set\n", ""},
		"no lines":              {"TN:\nSF:x\nend_of_record\n", ""},
		"not a Go line":         {"mode: set\nfoo bar\n", ""},
		"not a Go count":        {"mode: set\nx.go:1.1,2.2 a b\n", ""},
		"negative":              {"mode: set\nx.go:1.1,2.2 -5 1\n", ""},
		"not an lcov line":      {"SF:x\nDA:3\n", ""},
		"cobertura without":     {"<coverage/>", ""},
		"cobertura over 100 %":  {`<coverage lines-covered="5" lines-valid="4"/>`, ""},
		"cobertura rate":        {`<coverage line-rate="NaN"/>`, ""},
		"jacoco negative":       {`<report><counter type="LINE" missed="-1" covered="5"/></report>`, ""},
		"jacoco without totals": {`<report><package/></report>`, ""},
		"the wrong format":      {"mode: set\nx.go:1.1,2.2 1 1\n", "jacoco"},
		"cobertura for jacoco":  {`<coverage line-rate="1"/>`, "jacoco"},
		"an entity bomb":        {`<!DOCTYPE coverage [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><coverage line-rate="&b;"/>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"report": tt.text})
			c := judgeOne(t, validation.Rule{Type: validation.Coverage, Path: "report", Min: 1, Format: tt.format}, validation.Input{Dir: dir})
			require.Equal(t, errs, resultOf(c), c.Why)
			require.NotEmpty(t, c.Why)
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		c := judgeOne(t, validation.Rule{Type: validation.Coverage, Path: "report", Min: 1}, validation.Input{Dir: t.TempDir()})
		require.Equal(t, errs, resultOf(c))
		require.Contains(t, c.Why, "has to write it")
	})
	t.Run("not a file", func(t *testing.T) {
		t.Parallel()
		c := judgeOne(t, validation.Rule{Type: validation.Coverage, Path: "report", Min: 1}, validation.Input{Dir: tree(t, map[string]string{"report/x": ""})})
		require.Equal(t, errs, resultOf(c))
	})
}

func FuzzCoverage(f *testing.F) {
	files, err := filepath.Glob("testdata/coverage/*")
	require.NoError(f, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(text, "")
	}
	f.Add([]byte("SF:a\nDA:1,1e400\n"), "lcov")
	f.Fuzz(func(t *testing.T, text []byte, format string) {
		rule := validation.Rule{Type: validation.Coverage, Path: "report", Format: format, Min: 100}
		dir := tree(t, map[string]string{"report": string(text)})
		c := judgeOne(t, rule, validation.Input{Dir: dir})
		require.Equal(t, c, judgeOne(t, rule, validation.Input{Dir: dir}), "the same again")
		if !c.Errored {
			require.Regexp(t, `^coverage is (100\.00|[0-9]{1,2}\.[0-9]{2})%`, c.Why)
		}
	})
}

// A glob that is well-formed matches without failing; one without meta characters, itself.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"a/**/b", "a/x/y/b"}, {"[!a-z]*", "B"}, {"?", "é"}, {"a]", "a]"}, {"**", ""}, {"[]", "x"}, {"[^]", "x"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		rule := validation.Rule{Name: "rule", Type: validation.FilesChanged, Path: glob}
		c := judgeOne(t, rule, validation.Input{Files: []string{name, glob}})
		if rule.Check() != nil {
			require.True(t, c.Errored)
			return
		}
		require.False(t, c.Errored, c.Why)
		if !strings.ContainsAny(glob, "*?[") {
			require.True(t, c.Passed)
		}
	})
}
