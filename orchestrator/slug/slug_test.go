package slug_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/slug"
)

func ExampleOf() {
	fmt.Println(slug.Of("bd-a3f8.1"))
	fmt.Println(slug.Of("../Fix the login"))
	// Output:
	// bd-a3f8.1
	// fix-the-login-61a57038f76a
}

// hostileIDs are ids that have broken, or could break, a path or a reference name.
func hostileIDs() []string {
	ids := []string{
		"", " ", "-", "--", "-rf", "--help", ".", "..", "...", "../x", "../../etc/passwd", "/etc", "a/../b", "a..b", "a/b", "a//b", "/", "a/", "/a", `a\b`, `..\x`,
		"x.lock", "x.LOCK", ".lock", "x.lock.lock", "x.", ".x", ".git", ".GIT", "git~1", "HEAD", "head", "FETCH_HEAD", "@", "@{", "@{0}", "a@{b", "a~1", "a^", "a:b",
		"a?b", "a*b", "a[b", "[", "a b", "a\tb", "a\nb", "a\r\nb", "a\x00b", "\x00", "\x7f", "\x1b[31m", "a\"b", "a'b", "`id`", "$(id)", "${HOME}", "a;b", "a|b", "a&b", "a>b", "a<b",
		"%2e%2e", "a%b", "a#b", "a=b", "a,b", "a+b", "a!b", "~", "~root", "*", "**", "a{b}", "a(b)", "main", "master", "verify", "orch", "epic", "attic", "lease", "refs/heads/main",
		"é", "e\u0301", "ÀÉ", "日本語", "🎉", "a\u202eb", "\ufeffa", "a\u00a0b", "ﬁ", "ı", "K", "\xff\xfe", "a\xffb", "con", "NUL", "aux.txt", "bd-a3f8", "BD-A3F8", "bd-a3f8.1",
		"0", "1", "00", "deadbeef", strings.Repeat("f", 40), strings.Repeat("0", 40), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 300), strings.Repeat("é", 300),
		strings.Repeat("../", 100), strings.Repeat("a.", 40), "a.b.c", "a_b", "_a", "a-", "a--b", "x-0123456789ab", "id-000000000000", "<script>", "DROP TABLE", "\u2028",
	}
	for _, id := range ids { // what looks like the slug of another id
		ids = append(ids, slug.Of(id))
	}
	return ids
}

func TestSlugsAreDistinctAndHarmless(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(hostileIDs()), 200)
	from := map[string]string{}
	for _, id := range hostileIDs() {
		slug := slug.Of(id)
		if other, taken := from[slug]; taken {
			require.Equal(t, other, id, "both are %s", slug)
		}
		from[slug] = id
		requireHarmless(t, slug)
	}
	for slug := range from {
		require.NoError(t, exec.Command("git", "check-ref-format", "refs/heads/orch/"+slug+"/"+slug+"/1").Run(), slug)
		require.NoError(t, exec.Command("git", "check-ref-format", "refs/heads/epic/"+slug).Run(), slug)
	}
	for _, id := range []string{"bd-a3f8", "bd-a3f8.1", "PROJ-12", "a_b", "HEAD", strings.Repeat("a", 64)} {
		require.Equal(t, id, slug.Of(id))
	}
}

func requireHarmless(t *testing.T, slug string) {
	t.Helper()
	require.Regexp(t, `^[A-Za-z0-9][A-Za-z0-9._-]*$`, slug)
	require.LessOrEqual(t, len(slug), 64)
	require.NotContains(t, slug, "..")
	require.NotRegexp(t, `(?i)(\.lock|\.)$`, slug)
	require.Equal(t, slug, filepath.Base(filepath.Join("/root", slug)))
}

func FuzzSlug(f *testing.F) {
	for _, id := range hostileIDs() {
		f.Add(id, id+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		requireHarmless(t, slug.Of(a))
		require.Equal(t, a == b, slug.Of(a) == slug.Of(b))
	})
}
