package text_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

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
		{"tags", "a\U000e0041\U000e007fb", "ab"},
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
	require.Equal(t, "日本…", text.Clause("日本日本", 5))
	require.Equal(t, "日本日", text.Clause("日本日", 6))
	require.Empty(t, text.Clause("\x00\x1b[0m \n", 3))
	long := text.Clause(strings.Repeat("é", 1<<20), 80)
	require.Equal(t, 80, utf8.RuneCountInString(long))
}

func TestCut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "日本", text.Cut("日本", 4))
	require.Equal(t, "日…", text.Cut("日本", 3))
	require.Equal(t, "👩‍👩‍👧…", text.Cut("👩‍👩‍👧👩‍👩‍👧", 3), "a picture of several characters stays whole")
	require.Equal(t, "e\u0301…", text.Cut("e\u0301xy", 2))
	require.Empty(t, text.Cut("abc", 0))
}

func FuzzCut(f *testing.F) {
	f.Add("日本 👩‍👩‍👧 e\u0301", 5)
	f.Fuzz(func(t *testing.T, s string, cells int) {
		cells = max(0, cells%200)
		for name, got := range map[string]string{"clause": text.Clause(s, cells), "cut": text.Cut(text.OneLine(s), cells)} {
			if w := text.Width(got); w > cells {
				t.Fatalf("%s: %q is %d wide, more than %d", name, got, w, cells)
			}
			if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x1b") {
				t.Fatalf("%s: %q", name, got)
			}
		}
		if got := text.CutBytes(s, cells+3); len(got) > cells+3 || !utf8.ValidString(got) {
			t.Fatalf("%q of %d bytes", got, len(got))
		}
		if back, err := strconv.Unquote(text.Quote(s, cells)); err != nil || !strings.HasPrefix(s, strings.TrimSuffix(back, "…")) && utf8.ValidString(s) {
			t.Fatalf("quote of %q: %q, %v", s, back, err)
		}
	})
}

func TestShell(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "plain-1.2", "two words", "it's", "$HOME", "a\nb", "日本", "*", "-x"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+text.Shell(word)).Output()
		require.NoError(t, err)
		if word != "-x" { // an option of printf's own
			require.Equal(t, word, string(out))
		}
	}
	require.Equal(t, "plain-1.2", text.Shell("plain-1.2"))
	require.Equal(t, "a 'b c' ''", text.ShellWords([]string{"a", "b c", ""}))
}

func TestHead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100) + "end"
	require.Equal(t, long, text.Head("\n \x1b[31m\n"+long+"\nmore"))
	require.Empty(t, text.Head(" \n\t\n"))
}

func ExampleClean() {
	fmt.Println(text.Clean("\x1b]0;not your title\x07\x1b[32mok\x1b[0m"))
	// Output: ok
}
