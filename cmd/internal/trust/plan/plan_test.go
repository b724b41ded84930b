package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/trust/plan"
)

func gate(name, command string) plan.Item {
	return plan.Item{Part: plan.Settings, Kind: "gate command", Name: name, Text: command}
}

func hook(task, command string) plan.Item {
	return plan.Item{Part: plan.Hooks, Kind: "hook", Name: task, Text: command}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	a := plan.New(gate("one", "true"), gate("two", "false"), gate("one", "true"))
	require.Len(t, a, 2)
	require.Equal(t, a.Digest(), plan.New(gate("two", "false"), gate("one", "true")).Digest(), "the order does not matter")
	for _, other := range []plan.Plan{plan.New(gate("one", "true")), plan.New(gate("one", "true "), gate("two", "false")),
		plan.New(gate("one", "false"), gate("two", "true")), plan.New(gate("onetrue", ""), gate("two", "false")), nil} {
		require.NotEqual(t, a.Digest(), other.Digest())
	}
	d := a.Digest()
	require.True(t, plan.Matches(d, d))
	require.True(t, plan.Matches(d, plan.Short(d)))
	require.True(t, plan.Matches(d, strings.ToUpper(plan.Short(d))))
	require.False(t, plan.Matches(d, plan.Short(d)[:11]), "too few digits")
	require.False(t, plan.Matches(d, ""))
	require.False(t, plan.Matches(d, d+"0"))
}

func TestCovered(t *testing.T) {
	t.Parallel()
	strict, weak := plan.New(gate("one", "sh gate.sh")), plan.New(gate("one", "true"))
	own := gate("one", "true")
	own.Own = true
	all := []plan.Part{plan.Settings, plan.Hooks, plan.Loop}
	require.True(t, strict.Covered([]plan.Plan{strict}, all...))
	require.False(t, weak.Covered([]plan.Plan{strict}, all...))
	require.False(t, plan.Plan{}.Covered([]plan.Plan{strict}, all...), "a gate that is gone is a change")
	require.True(t, plan.Plan{}.Covered(nil, all...), "nothing is named")
	require.True(t, plan.New(own).Covered(nil, all...), "a person's own choice")
	require.False(t, plan.New(own).Covered([]plan.Plan{strict}, all...))
	require.False(t, plan.New(own, gate("one", "true")).Covered(nil, all...), "the repository names it too")

	hooked := plan.New(gate("one", "sh gate.sh"), hook("t-1", "./decide"))
	require.True(t, hooked.Covered([]plan.Plan{strict}, plan.Settings))
	require.False(t, hooked.Covered([]plan.Plan{strict}, plan.Hooks))
	require.True(t, strict.Covered([]plan.Plan{hooked}, all...), "a hook that is gone needs no trust")
	more := plan.New(hook("t-1", "./decide"), hook("t-2", "./other"))
	require.False(t, more.Covered([]plan.Plan{hooked}, plan.Hooks))
	require.True(t, more.Covered([]plan.Plan{hooked, plan.New(hook("t-2", "./other"))}, plan.Hooks))
}

// TestClean: a plan is kept without secrets, and still tells itself from another.
func TestClean(t *testing.T) {
	t.Parallel()
	clean := func(s string) string {
		return strings.NewReplacer("canary", "[redacted]", "other", "[redacted]").Replace(s)
	}
	now, all := plan.New(gate("one", "a"), gate("two", "push canary"), gate("zwei", "z")), []plan.Part{plan.Settings, plan.Hooks}
	kept := now.Clean(clean)
	require.NotContains(t, kept.Show(), "canary")
	require.Contains(t, now.Show(), "canary", "it stays as it was")
	require.True(t, now.Covered([]plan.Plan{kept}, all...))
	require.Empty(t, now.Diff(kept))
	other := plan.New(gate("one", "a"), gate("two", "push other"), gate("zwei", "z"))
	require.False(t, other.Covered([]plan.Plan{kept}, all...), "another secret is another command")
	require.Len(t, other.Diff(kept), 2)
	require.Equal(t, kept, kept.Clean(clean))
	plain := plan.New(gate("one", "a"))
	require.Equal(t, plain.Digest(), plain.Clean(clean).Digest())
}

func TestDiff(t *testing.T) {
	t.Parallel()
	old, now := plan.New(gate("one", "a"), gate("two", "b")), plan.New(gate("one", "a"), gate("two", "c"), gate("three", "d"))
	changes := now.Diff(old)
	require.Len(t, changes, 3)
	require.Equal(t, "  + gate command three\n  +   d\n  - gate command two\n  -   b\n  + gate command two\n  +   c\n", plan.ShowDiff(changes))
	require.Empty(t, now.Diff(now))
}

// What is shown is all of it, and nothing in it drives the terminal.
func TestShow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500) + "; rm -rf /"
	text := plan.New(gate("a\x1b[2K", "true\x1b]0;t\x07\u202e \u200b\u00ad\ufe0f\xff\r\nsecond"), gate("b", long)).Show()
	require.NotContains(t, strings.ReplaceAll(text, "\n", ""), "\x1b")
	for _, want := range []string{"   1. gate command a<U+001B>[2K", "<U+001B>]0;t<U+0007><U+202E> <U+200B><U+00AD><U+FE0F><0xFF><U+000D>\n", "      second\n", "   2. gate command b"} {
		require.Contains(t, text, want)
	}
	joined := strings.NewReplacer(" \\\n      ", "").Replace(text)
	require.Contains(t, joined, long, "a long line is wrapped, never cut")
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range plan.Visible(s) {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e {
				t.Fatalf("%q has %U", plan.Visible(s), r)
			}
		}
	})
}

// FuzzMatches names a plan by the first digits of its digest, 12 at least, and by nothing else.
func FuzzMatches(f *testing.F) {
	for _, word := range []string{"", "abc", "sha256:", "SHA256:ABCDEF012345", "zzzzzzzzzzzz", " 0123456789ab\n"} {
		f.Add(word, 12)
	}
	digest := plan.New(gate("check", "true")).Digest()
	f.Fuzz(func(t *testing.T, word string, n int) {
		if plan.Matches(digest, word) {
			require.True(t, plan.IsDigest(word))
			require.Contains(t, digest, strings.TrimPrefix(strings.ToLower(strings.TrimSpace(word)), "sha256:"))
		}
		n = plan.MinDigits + max(n, -n, 0)%(plan.MaxDigits-plan.MinDigits+1)
		require.True(t, plan.Matches(digest, strings.ToUpper(strings.TrimPrefix(digest, "sha256:")[:n])))
	})
}
