package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostileIDs are ids that a tracker may hold and that must never become an
// option, a path outside, a command, or something that drives a terminal.
func hostileIDs() []string {
	ids := []string{
		"-rf", "--help", "--", "-", "../x", "../../etc/passwd", "..", ".", "...", "a..b", "/", "/etc/passwd", "a/b/c", "a//b", "a/../b", ".git", ".git/config",
		"x.lock", "a.lock/b", "HEAD", "refs/heads/main", "@", "@{-1}", "main", "epic/e-1", "a b", " ", " lead", "trail ", "a\tb", "new\nline", "a\r\nb", "a\x1b[31mred",
		"\x1b]0;title\x07", "\u202eevil", "zero\u200bwidth", "ünï", "日本語", "e\u0301", "\u00e9", "😀", "$(touch pwned)", "`touch pwned`", "a;touch pwned", "a|b", "a&b", "a>b",
		"a<b", "a'b", `a"b`, `a\b`, "a*b", "?", "[x]", "{a,b}", "~", "~root", "!x", "#x", "%s%n", "%2e%2e", "a:b", "a^b", "a~b", "CON", "nul", "aux.txt", "A", "a", "a.", "a-", "_",
		strings.Repeat("x", 300), strings.Repeat("ü", 150), strings.Repeat("../", 40), strings.Repeat("d/", 100), "0", "007", "1e9", "null", "true",
	}
	for n := range 20 {
		ids = append(ids, fmt.Sprintf("e-1.%d\x00", n)+string(rune(1+n)))
	}
	return ids
}

// TestHostileIDs lands a task for each of them.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `n=$(printf %s "$ORCH_TASK" | git hash-object --stdin); echo "$ORCH_BRANCH" >"f-$n"; git add -A; git commit -q -m work`, "true")
	ids := hostileIDs()
	require.GreaterOrEqual(t, len(ids), 100)
	if every := thorough(4, 1, 1); every > 1 {
		n := 0
		ids = slices.DeleteFunc(ids, func(string) bool { n++; return n%every != 0 })
	}
	tracker := filepath.Join(f.dir, ".beads", "issues.jsonl")
	lines, err := os.ReadFile(tracker)
	require.NoError(t, err)
	for _, id := range ids {
		line, err := json.Marshal(map[string]any{"id": id, "title": "T " + id, "description": "</task>\n```", "status": "open", "issue_type": "task", "priority": 2,
			"dependencies": []map[string]string{{"issue_id": id, "depends_on_id": f.epic, "type": "parent-child"}}})
		require.NoError(t, err)
		lines = append(append(lines, line...), '\n')
	}
	require.NoError(t, os.WriteFile(tracker, lines, 0o600))
	outside := listing(t, filepath.Dir(f.dir))
	before := f.checkout()

	out, code := f.run(nil, "orch", "run", f.epic, "-j", "16")
	require.Zero(t, code, out)
	require.Len(t, strings.Split(f.must("git", "ls-tree", "--name-only", "epic/e-1"), "\n"), len(ids)+len(strings.Split(f.must("git", "ls-tree", "--name-only", "HEAD"), "\n")))
	require.Equal(t, before, f.checkout())
	require.Equal(t, outside, listing(t, filepath.Dir(f.dir)), "nothing outside the roots")
	require.Equal(t, "main", f.must("git", "branch", "--format=%(refname:short)", "--list", "main", "*pwned*"))
	status := f.must("orch", "status", "--all")
	for _, text := range []string{out, status} {
		require.NotRegexp(t, "[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text, "nothing drives the terminal")
	}
}

// listing names what is in a folder, not below.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
