package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/command"
)

func TestLaunch(t *testing.T) {
	t.Parallel()
	argv := []string{"my-agent", "--flag"}
	h := command.New(argv)
	argv[0] = "other"
	got, err := h.Launch(harness.Spec{Brief: "do it", BriefPath: "/b/brief.md", Dir: "/w", Session: "s", Resume: true})
	require.NoError(t, err)
	require.Equal(t, harness.Launch{
		Argv: []string{"my-agent", "--flag"}, Env: []string{"ORCH_BRIEF=/b/brief.md"}, Stdin: []byte("do it"),
	}, got)
	_, err = command.New(nil).Launch(harness.Spec{})
	require.ErrorIs(t, err, command.ErrNoCommand)
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, output string
		exit         int
		want         harness.Outcome
	}{
		{"ended", "done\n<promise>COMPLETE</promise>\n", 0, harness.Outcome{Kind: harness.Ended, Text: "done\n<promise>COMPLETE</promise>\n"}},
		{"silent", "", 0, harness.Outcome{Kind: harness.Ended}},
		{"rate limited", "wait\nretry-after: 30\n", 75, harness.Outcome{Kind: harness.RateLimited, Text: "wait\nretry-after: 30\n", Detail: "exit 75: retry-after: 30", RetryAfter: 30 * time.Second}},
		{"the last counts", "Retry-After: 5\r\nretry-after:7\nbye", 75, harness.Outcome{Kind: harness.RateLimited, Text: "Retry-After: 5\r\nretry-after:7\nbye", Detail: "exit 75: bye", RetryAfter: 7 * time.Second}},
		{"no time", "retry-after: soon", 75, harness.Outcome{Kind: harness.RateLimited, Text: "retry-after: soon", Detail: "exit 75: retry-after: soon"}},
		{"for ever", "retry-after: 99999999999999999999", 75, harness.Outcome{Kind: harness.RateLimited, Text: "retry-after: 99999999999999999999", Detail: "exit 75: retry-after: 99999999999999999999", RetryAfter: 30 * 24 * time.Hour}},
		{"a time is nothing when it ended", "retry-after: 30", 0, harness.Outcome{Kind: harness.Ended, Text: "retry-after: 30"}},
		{"crash", "trying\n\x1b[31mpanic: no\x1b[0m\n\n", 2, harness.Outcome{Kind: harness.Crashed, Text: "trying\n\x1b[31mpanic: no\x1b[0m\n\n", Detail: "exit 2: panic: no"}},
		{"killed", "", 137, harness.Outcome{Kind: harness.Crashed, Detail: "ended by SIGKILL"}},
		{"no UTF-8", "a\xff", 0, harness.Outcome{Kind: harness.Ended, Text: "a\ufffd"}},
	} {
		r := command.New([]string{"x"}).Reader()
		for _, b := range []byte(test.output) { // cut anywhere
			n, err := r.Write([]byte{b})
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}
		require.Equal(t, test.want, r.Outcome(test.exit), test.name)
	}
}

func TestTextIsTheEnd(t *testing.T) {
	t.Parallel()
	r := command.New([]string{"x"}).Reader()
	all := strings.Repeat("日本語 ", 100_000)
	for rest := all; rest != ""; {
		n := min(len(rest), 7777)
		_, err := r.Write([]byte(rest[:n]))
		require.NoError(t, err)
		rest = rest[n:]
	}
	text := r.Outcome(0).Text
	require.True(t, strings.HasSuffix(all, text))
	require.Greater(t, len(text), 64<<10-4)
	require.LessOrEqual(t, len(text), 64<<10)
}

func TestActivity(t *testing.T) {
	t.Parallel()
	r := command.New([]string{"x"}).Reader()
	require.Empty(t, r.Activity())
	fmt.Fprint(r, "first\n  run the \x1b[1mtests\x1b[0m \n\n")
	require.Equal(t, "run the tests", r.Activity())
	fmt.Fprint(r, "10%\r20%\r")
	require.Equal(t, "20%", r.Activity())
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("retry-after: 10\nbye\xff"), 75)
	f.Add([]byte("\r\n\x1b]"), 1)
	f.Fuzz(func(t *testing.T, output []byte, exit int) {
		r := command.New([]string{"x"}).Reader()
		if n, err := r.Write(output); n != len(output) || err != nil {
			t.Fatal(n, err)
		}
		out := r.Outcome(exit)
		if !utf8.ValidString(out.Text) || out.Kind == "" || out.RetryAfter < 0 || strings.ContainsAny(out.Detail, "\n\x1b") {
			t.Fatalf("%+v", out)
		}
	})
}

func ExampleNew() {
	h := command.New([]string{"my-agent"})
	r := h.Reader()
	fmt.Fprintln(r, "The server is busy.")
	fmt.Fprintln(r, "retry-after: 90")
	out := r.Outcome(75)
	fmt.Println(out.Kind, out.RetryAfter)
	// Output: rate_limited 1m30s
}
