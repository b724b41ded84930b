package text_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/text"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"plain", "a tab\tand\nlines, ünï, 日本, 🙂", "a tab\tand\nlines, ünï, 日本, 🙂"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"colour in 8 bits", "\u009b31mred", "red"},
		{"title by OSC and BEL", "a\x1b]0;owned\x07b", "ab"},
		{"title by OSC and ST", "a\x1b]0;owned\x1b\\b", "ab"},
		{"title in 8 bits", "a\u009d0;owned\u009cb", "ab"},
		{"link", "\x1b]8;;https://x.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"clipboard", "\x1b]52;c;AAAA\x07!", "!"},
		{"device string", "\x1bPq#0~\x1b\\x", "x"},
		{"charset", "\x1b(Bx\x1b=y", "xy"},
		{"cut", "x\x1b[31", "x"},
		{"cut escape", "x\x1b", "x"},
		{"string that never ends keeps the next line", "\x1b]0;t\nnext", "\nnext"},
		{"escape within a sequence", "\x1b[3\x1b[31mx", "x"},
		{"carriage returns", "a\r\nb\rc", "a\nb\nc"},
		{"other line ends", "a\u2028b\u2029c\u0085d", "a\nb\nc\nd"},
		{"control", "a\x00b\x07c\x08d\x7fe\u0080f", "abcdef"},
		{"direction", "a\u202eb\u2066c\u200fd", "abcd"},
		{"byte order mark", "\ufeffx", "x"},
		{"no UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
	} {
		require.Equal(t, test.want, text.Clean(test.in), test.name)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;t\x07\x1b[31m\u009bx\r\n")
	f.Add("\x1bP\x1b\x1b\\\u009c\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q: no UTF-8: %q", s, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Fatalf("%q: control character in %q", s, got)
		}
		if again := text.Clean(got); again != got {
			t.Fatalf("%q: %q cleans to %q", s, got, again)
		}
	})
}

func TestClause(t *testing.T) {
	t.Parallel()
	require.Equal(t, "one two three", text.Clause(" one\r\n\ttwo \x1b[1mthree ", 40))
	require.Equal(t, "日本…", text.Clause("日本日本", 3))
	require.Equal(t, "日本日", text.Clause("日本日", 3))
	require.Empty(t, text.Clause("\x00\x1b[0m \n", 3))
	long := text.Clause(strings.Repeat("é", 1<<20), 80)
	require.Equal(t, 80, utf8.RuneCountInString(long))
}

func TestExitWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "exit 0", harness.ExitWords(0))
	require.Equal(t, "exit 127", harness.ExitWords(127))
	require.Equal(t, "ended by SIGKILL", harness.ExitWords(137))
	require.Equal(t, "exit 250", harness.ExitWords(250))
}

func ExampleClean() {
	fmt.Println(text.Clean("\x1b]0;not your title\x07\x1b[32mok\x1b[0m"))
	// Output: ok
}
