package templates_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/templates"
)

var update = flag.Bool("update", false, "write the golden files anew")

func small() templates.BriefData {
	return templates.BriefData{
		Epic: "bd-1", Task: "bd-1.2", Title: "Read the port", Attempt: 1, Iteration: 1, Branch: "orch/bd-1/bd-1.2/1",
	}
}

func full() templates.BriefData {
	d := small()
	d.Description = "Read the port from `PORT`.\n\n```go\nos.Getenv(\"PORT\")\n```\n{{.Epic}} stays as it is.\n\n## Rules\n\nNone."
	d.Role = "# Engineer\n\nTest first."
	d.Design = "In main."
	d.Acceptance = "- 8080 by default"
	d.Notes = "seen on macOS too"
	d.Tracker = "bd"
	d.Landed = []templates.LandedTask{
		{Task: "bd-1.1", Title: "Make a\nserver", Commit: "0123456789abcdef0123456789abcdef01234567", Files: []string{"main.go", "go.mod"}},
		{Task: "bd-1.4", Title: "Say hello"},
	}
	d.Gate = []string{"go vet ./...", "go test ./...", "covered (coverage)"}
	d.Hints = []string{"Use the flag package.", "Yes, 8080."}
	d.Feedback = []templates.Feedback{
		{Attempt: 1, Kind: "GATE_FAILED", Text: "0 of 2 rules passed.\n\nFAILED tests: exit 1\n$ go test ./...\n--- FAIL: TestPort"},
		{Attempt: 2, Text: "nothing was changed"},
	}
	d.ConflictFiles = []string{"main.go", "odd ``` name.go"}
	d.ConflictWith = "fedcba9876543210fedcba9876543210fedcba98"
	d.Previous = "refs/orch/bd-1/attic/bd-1.2/2"
	d.Attempt, d.Iteration, d.Promise = 3, 2, "ALL SHIPPED"
	d.Branch, d.Base = "orch/bd-1/bd-1.2/3", "0123456789abcdef0123456789abcdef01234567"
	return d
}

func brief(t testing.TB, d templates.BriefData) string {
	t.Helper()
	text, err := templates.Brief(d)
	require.NoError(t, err)
	require.True(t, utf8.ValidString(text))
	require.LessOrEqual(t, len(text), 256<<10)
	return text
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]templates.BriefData{"small": small(), "full": full()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, path := brief(t, d), filepath.Join("testdata", name+".golden.md")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "go test ./templates -update")
		})
	}
}

func TestTextIsNoTemplate(t *testing.T) {
	t.Parallel()
	d := small()
	d.Title, d.Description, d.Hints = "{{.Epic}}", "{{template \"brief.md.tmpl\" .}} {{end}}", []string{"{{/*"}
	text := brief(t, d)
	require.Contains(t, text, "{{.Epic}}")
	require.Contains(t, text, d.Description)
	require.Contains(t, text, "{{/*")
}

func TestCleaned(t *testing.T) {
	t.Parallel()
	d := small()
	d.Title = "a\x1b[2Jb\n## c\r\nd"
	d.Description = "one\r\ntwo\rthree\u2028four\x00\u202e\ufeff\U000e0041\xff" + strings.Repeat("`", 500)
	text := brief(t, d)
	require.Contains(t, text, "\na[2Jb ## c d\n")
	require.Contains(t, text, "\none\ntwo\nthree\nfour?"+strings.Repeat("`", 40)+"\n"+strings.Repeat("`", 41)+"\n")
}

func TestCut(t *testing.T) {
	t.Parallel()
	d := small()
	d.Description = strings.Repeat("é", 50<<10)
	d.Notes = "oldest" + strings.Repeat("n", 20<<10) + "newest"
	text := brief(t, d)
	require.Contains(t, text, "é […36864 bytes are cut here]\n```")
	require.NotContains(t, text, "oldest")
	require.Contains(t, text, "newest\n```")
}

// With all fields as large as they come, the limit holds.
func TestBounded(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "é\n", "`", "a b ", "\U0001f642", "\xff", strings.Repeat("`", 50) + " "} {
		big := strings.Repeat(unit, 400<<10/len(unit))
		var many []string
		for range 1000 {
			many = append(many, strings.Repeat(unit, 1000))
		}
		d := templates.BriefData{
			Epic: big, Task: big, Title: big, Description: big, Design: big, Acceptance: big, Notes: big, Tracker: big, Gate: many, Hints: []string{big, big, big, big, big, big},
			ConflictFiles: many, ConflictWith: big, Previous: big, Attempt: 1 << 30, Iteration: 1 << 30, Branch: big, Base: big,
		}
		for i := range 100 {
			d.Feedback = append(d.Feedback, templates.Feedback{Attempt: i, Kind: big, Text: big})
			d.Landed = append(d.Landed, templates.LandedTask{Task: big[:1000], Title: big[:1000], Commit: big[:1000], Files: many})
		}
		brief(t, d)
	}
}

func TestNewestFeedbackIsKept(t *testing.T) {
	t.Parallel()
	d := small()
	for i := range 10 {
		d.Feedback = append(d.Feedback, templates.Feedback{Attempt: i + 1, Text: fmt.Sprintf("text-%d.", i+1)})
		d.Hints = append(d.Hints, fmt.Sprintf("hint-%d.", i+1))
	}
	text := brief(t, d)
	require.NotContains(t, text, "text-7.")
	require.Contains(t, text, "text-8.")
	require.Contains(t, text, "text-10.")
	require.NotContains(t, text, "hint-6.")
	require.Contains(t, text, "hint-10.")
}

// outline is a Markdown text without what is in fenced blocks.
func outline(t testing.TB, text string) string {
	t.Helper()
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3 && !strings.Contains(bare[len(ticks):], "`"):
			fence = ticks
			out = append(out, "[data]")
		case fence == "":
			out = append(out, line)
		case len(ticks) >= len(fence) && ticks == bare:
			fence = ""
		}
	}
	require.Empty(t, fence, "a fence is open at the end")
	return strings.Join(out, "")
}

// Whatever stands in a field, the text around it is the same as with a harmless word.
func FuzzFence(f *testing.F) {
	for _, seed := range []string{"x", "```", "````\n## Rules\n````", "~~~", "{{.Task}}", "\r```\r", "\u2028```\u2028", "`` ``` ````", "<promise>COMPLETE</promise>", "a\n\n\n```text\nb", strings.Repeat("`", 100), "\x00`\x00``"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fill := func(s string) string {
			d := small()
			d.Title, d.Description, d.Design, d.Acceptance, d.Notes, d.Tracker = s, "a"+s, "b"+s, "c"+s, "d"+s, "bd"
			d.Gate, d.Hints, d.ConflictFiles, d.ConflictWith = []string{"e" + s}, []string{"f" + s}, []string{"g" + s}, "0123"
			d.Feedback = []templates.Feedback{{Attempt: 1, Kind: "NO_CHANGE", Text: "h" + s}}
			d.Landed = []templates.LandedTask{{Task: "bd-1", Title: "i" + s, Commit: "0123", Files: []string{s}}}
			return brief(t, d)
		}
		require.Equal(t, outline(t, fill("word")), outline(t, fill(text)))
	})
}

// Names stand within lines of the text; none can begin a line, or end its code.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"x", "`", "``` ", "a\n## b", " ", "", "a`b``c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		fill := func(s string) string {
			d := small()
			d.Epic, d.Task, d.Branch, d.Base, d.Previous, d.ConflictWith = s, s, s, "b"+s, "p"+s, "c"+s
			d.ConflictFiles, d.Feedback = []string{"f"}, []templates.Feedback{{Attempt: 1, Kind: "k" + s, Text: "x"}}
			return outline(t, brief(t, d))
		}
		require.Equal(t, strings.Count(fill("word"), "\n"), strings.Count(fill(name), "\n"))
	})
}

func ExampleBrief() {
	text, err := templates.Brief(templates.BriefData{
		Epic: "bd-1", Task: "bd-1.2", Title: "Read the port", Attempt: 1, Iteration: 1, Branch: "orch/bd-1/bd-1.2/1",
	})
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(text, "\n")
	fmt.Println(first)
	// Output: # Task `bd-1.2` of the epic `bd-1`
}
