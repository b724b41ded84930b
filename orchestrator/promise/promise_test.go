package promise_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/promise"
)

func TestVocabulary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]promise.Signal{
		"LOOP_DONE": promise.Complete, "LOOP_CONTINUE": promise.Continue, "CONTINUE": promise.Continue, "LOOP_BLOCKED": promise.Blocked, "LOOP_ERROR": promise.Escalate,
		"COMPLETE": promise.Complete, "BLOCKED": promise.Blocked, "ESCALATE": promise.Escalate,
		"ALL TASKS COMPLETE": promise.Complete, "EPIC COMPLETE": promise.Complete,
		"BLOCKED - NEEDS USER": promise.Blocked, "CONTEXT LIMIT - CHECKPOINT": promise.Checkpoint,
	} {
		p, ok := promise.Find("All is said.\n\n<promise>" + text + "</promise>\n")
		require.True(t, ok, text)
		require.Equal(t, promise.Promise{Text: text, Signal: want}, p)
	}
	for _, marker := range []string{"<loop-complete>", "<loop-complete/>", "<loop-complete />"} {
		p, ok := promise.Find("Done. " + marker)
		require.True(t, ok, marker)
		require.Equal(t, promise.Promise{Text: "<loop-complete>", Signal: promise.Complete}, p)
	}
}

func TestExtra(t *testing.T) {
	t.Parallel()
	const message = "<promise>SHIP  IT</promise>"
	_, ok := promise.Find(message)
	require.False(t, ok)
	p, ok := promise.Find(message, "", "SHIP IT", "BLOCKED")
	require.True(t, ok)
	require.Equal(t, promise.Promise{Text: "SHIP IT", Signal: promise.Complete}, p)
	p, _ = promise.Find("<promise>BLOCKED</promise>", "BLOCKED")
	require.Equal(t, promise.Blocked, p.Signal, "a known word keeps its meaning")
}

// Accepted are messages that agents really end with.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"alone":                        "<promise>COMPLETE</promise>",
		"other case":                   "<Promise>Complete</promise>",
		"in the text":                  "Tests pass! <promise>COMPLETE</promise>",
		"text after it":                "<promise>COMPLETE</promise>\n\nLet me know.",
		"spaces":                       "<promise> COMPLETE\n</promise>",
		"bold":                         "**<promise>COMPLETE</promise>**",
		"in a list":                    "- done\n- <promise>COMPLETE</promise>",
		"CRLF":                         "Done.\r\n<promise>COMPLETE</promise>\r\n",
		"indented in a paragraph":      "Done:\n    <promise>COMPLETE</promise>",
		"indented less":                "Done:\n\n   <promise>COMPLETE</promise>",
		"in a list item":               "1. Done\n\n    <promise>COMPLETE</promise>",
		"on in a list item":            "- Done\n    <promise>COMPLETE</promise>",
		"in a list item within one":    "- a\n  - b\n\n    <promise>COMPLETE</promise>",
		"in a lazy list item":          "- a\nb\n\n    <promise>COMPLETE</promise>",
		"a list item":                  "Done\n  - all\n    - <promise>COMPLETE</promise>",
		"after indented code":          "So:\n\n    echo\n\n<promise>COMPLETE</promise>",
		"after a fence":                "```sh\ngo test\n```\n<promise>COMPLETE</promise>",
		"after a tilde fence":          "~~~\n```\n~~~\n<promise>COMPLETE</promise>",
		"after a longer fence":         "````\n```\n````\n<promise>COMPLETE</promise>",
		"after a fence in a list":      "1. Run\n   ```\n   x\n   ```\n<promise>COMPLETE</promise>",
		"after inline code":            "I ran `go test` and ``a`b``. <promise>COMPLETE</promise>",
		"after a lone backtick":        "A lone ` tick.\n\n<promise>COMPLETE</promise>\n\nAnother ` here.",
		"after an escaped tick":        "A \\` tick <promise>COMPLETE</promise> and ` another",
		"after a run of another len":   "A `` run <promise>COMPLETE</promise> and ` another",
		"after a quote":                "> You asked for X.\n\n<promise>COMPLETE</promise>",
		"after a comment":              "<!-- note\n\n``` -->\n<promise>COMPLETE</promise>",
		"comment sign in a fence":      "```html\n<!--\n```\n<promise>COMPLETE</promise>",
		"comment sign in code":         "Write `<!--` first. <promise>COMPLETE</promise>",
		"after quoted words":           `The test "works" now. <promise>COMPLETE</promise> It's "done".`,
		"apostrophes":                  "It's done, isn't it? <promise>COMPLETE</promise> That's it.",
		"greater than":                 "Coverage is 5 > 3 <promise>COMPLETE</promise>",
		"said before in code":          "I end with `<promise>BLOCKED</promise>` if stuck, but:\n<promise>COMPLETE</promise>",
		"ticks on a line, not a fence": "``` x ``` is inline\n<promise>COMPLETE</promise>",
		"an unknown one before":        "<promise>MAYBE</promise> <promise>COMPLETE</promise>",
		"an unclosed one before":       "<promise>BLOCKED <promise>COMPLETE</promise>",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ok := promise.Find(message)
			require.True(t, ok)
			require.Equal(t, "COMPLETE", p.Text)
			require.Equal(t, promise.Complete, p.Signal)
		})
	}
}

// Refused are messages that only talk about promises.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"nothing":                "",
		"no tag":                 "COMPLETE",
		"words":                  "All tasks are complete. Let me know if you need anything else!",
		"other tag":              "<promised>COMPLETE</promised>",
		"unclosed":               "<promise>COMPLETE",
		"more words":             "<promise>NOT COMPLETE</promise>",
		"empty":                  "<promise></promise>",
		"nested":                 "<promise><promise>COMPLETE</promise",
		"a nonce of someone":     `<promise nonce="7">COMPLETE</promise>`,
		"zero width":             "<promise>COM\u200bPLETE</promise>",
		"zero width at its edge": "<promise>\u2060COMPLETE</promise>",
		"bidi":                   "<promise>\u202eCOMPLETE</promise>",
		"look-alike letter":      "<promise>СOMPLETE</promise>",
		"fence":                  "```\n<promise>COMPLETE</promise>\n```",
		"fence with a language":  "```xml title=\"x\"\n<promise>COMPLETE</promise>\n```\nso",
		"tilde fence":            "~~~\n<promise>COMPLETE</promise>\n~~~",
		"unclosed fence":         "```\nx\n\n<promise>COMPLETE</promise>",
		"fence closed by less":   "````\n```\n<promise>COMPLETE</promise>\n````",
		"fence closed by other":  "```\n~~~\n<promise>COMPLETE</promise>\n```",
		"fence not closed by it": "```\n``` x\n<promise>COMPLETE</promise>",
		"indented fence":         "   ```\n   <promise>COMPLETE</promise>\n   ```",
		"fence in a list":        "- ```\n  <promise>COMPLETE</promise>\n  ```",
		"CRLF fence":             "```\r\n<promise>COMPLETE</promise>\r\n```\r\n",
		"indented code":          "    <promise>COMPLETE</promise>",
		"indented by a tab":      "So:\n\n\t<promise>COMPLETE</promise>\n",
		"indented, second line":  "So:\n\n    echo\n    <promise>COMPLETE</promise>",
		"indented after code":    "So:\n\n    echo\n\n    <promise>COMPLETE</promise>",
		"indented after a fence": "```\n```\n    <promise>COMPLETE</promise>",
		"indented in a list":     "1. Run\n\n       <promise>COMPLETE</promise>",
		"indented after a list":  "- a\n\nb\n\n    <promise>COMPLETE</promise>",
		"inline code":            "I will say `<promise>COMPLETE</promise>` later.",
		"inline code of two":     "I will say ``a ` <promise>COMPLETE</promise>`` later.",
		"inline code, two lines": "I will say `this:\n<promise>COMPLETE</promise>` later.",
		"code within":            "<promise>`COMPLETE`</promise>",
		"code in the middle":     "<promise>COMP`x`LETE</promise>",
		"comment":                "<!-- <promise>COMPLETE</promise> -->",
		"comment of paragraphs":  "<!--\n\n<promise>COMPLETE</promise>\n\n-->",
		"unclosed comment":       "<!-- <promise>COMPLETE</promise>",
		"fence in a comment":     "<!--\n```\n-->\n```\n<promise>COMPLETE</promise>\n```",
		"block quote":            "> <promise>COMPLETE</promise>",
		"block quote, indented":  "  >> <promise>COMPLETE</promise>",
		"block quote in a list":  "1. > <promise>COMPLETE</promise>",
		"quotation marks":        `When done I say "<promise>COMPLETE</promise>".`,
		"single marks":           "When done I say '<promise>COMPLETE</promise>'.",
		"curly marks":            "When done I say “<promise>COMPLETE</promise>”.",
		"within a quotation":     `You said "end with <promise>COMPLETE</promise> when done".`,
		"within a curly one":     "You said “end with <promise>COMPLETE</promise> when done”.",
		"within guillemets":      "Vous dites « finis par <promise>COMPLETE</promise> ».",
		"marker in code":         "`<loop-complete>`",
		"marker in a fence":      "```\n<loop-complete>\n```",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ok := promise.Find(message)
			require.False(t, ok, "%+v", p)
			require.Zero(t, p)
		})
	}
}

func TestPriority(t *testing.T) {
	t.Parallel()
	order := []string{"BLOCKED", "COMPLETE", "ESCALATE", "CONTEXT LIMIT - CHECKPOINT", "LOOP_CONTINUE"}
	for i, strong := range order {
		for _, weak := range order[i+1:] {
			for _, message := range []string{
				"<promise>" + strong + "</promise>\n<promise>" + weak + "</promise>",
				"<promise>" + weak + "</promise>\n<promise>" + strong + "</promise>",
			} {
				p, ok := promise.Find(message)
				require.True(t, ok)
				require.Equal(t, strong, p.Text)
			}
		}
	}
	p, _ := promise.Find("<promise>BLOCKED</promise>\nReason: first\n<promise>BLOCKED</promise>\nReason: second")
	require.Equal(t, "second", p.Reason, "the last of equals")
}

func TestDetails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, after     string
		reason, summary string
	}{
		{"reason", "\nReason: The schema needs a person.\n", "The schema needs a person.", ""},
		{"on the same line", " Reason: no, that is prose", "no, that is prose", ""},
		{"its paragraph", "\nReason: one\nBlocking issue: two\n\nthree", "one\nBlocking issue: two", ""},
		{"both", "\nSummary: 5 tests\nReason: why", "why", "5 tests"},
		{"bold", "\n**Reason:** why", "why", ""},
		{"bold outside", "\n**Reason**: why", "why", ""},
		{"with code in it", "\nReason: `go test` hangs", "`go test` hangs", ""},
		{"in the context", "\n<context>\n  reason: \"why\"\n  summary: what\n</context>", "why", "what"},
		{"line before context", "\nReason: line\n<context>\nreason: block\n</context>", "line", ""},
		{"empty", "\nReason:\n", "", ""},
		{"none", "\nNothing more.", "", ""},
		{"of the next promise", "\n<promise>LOOP_CONTINUE</promise>\nReason: of the other", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, ok := promise.Find("<promise>BLOCKED</promise>" + tt.after)
			require.True(t, ok)
			require.Equal(t, tt.reason, p.Reason)
			require.Equal(t, tt.summary, p.Summary)
		})
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, block string
		want        map[string]any
	}{
		{"entries", "\n  session_id: \"s-1\"\n  iterations: 5\n  list: [a, 2]\n", map[string]any{"session_id": "s-1", "iterations": 5, "list": []any{"a", 2}}},
		{"one line", "{a: 1}", map[string]any{"a": 1}},
		{"empty", "", nil},
		{"no mapping", "\njust words\n", nil},
		{"no YAML", "\na: [\n", nil},
		{"not JSON", "\na: {1: 2}\n", nil},
		{"no number", "\na: .inf\n", nil},
		{"alias bomb", "\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", nil},
		{"far too long", "\na: " + strings.Repeat("x", 20<<10) + "\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, ok := promise.Find("<promise>LOOP_DONE</promise>\n<context>" + tt.block + "</context>")
			require.True(t, ok, "the promise counts all the same")
			require.Equal(t, tt.want, p.Context)
		})
	}
}

func TestFormatIsReadBack(t *testing.T) {
	t.Parallel()
	for _, p := range []promise.Promise{
		{Text: "LOOP_DONE"},
		{Text: "<loop-complete>"},
		{Signal: promise.Blocked},
		{Text: "LOOP_BLOCKED", Reason: "</context> <promise>LOOP_DONE</promise> \"q\" \\ \n\u2028 \x7f\u0085 ü", Summary: "s"},
		{Text: "LOOP_ERROR", Context: map[string]any{"null": nil, "yes": true, "n": 1e21, "a: b": []any{"x"}, "": "empty key", "reason": "of the context"}, Reason: "r"},
	} {
		text := promise.Format(p)
		got, ok := promise.Find("The end.\n\n" + text)
		require.True(t, ok, text)
		if p.Text != "" {
			require.Equal(t, p.Text, got.Text)
		}
		want := map[string]any{}
		for k, v := range p.Context {
			want[k] = v
		}
		for k, v := range map[string]string{"reason": p.Reason, "summary": p.Summary} {
			if _, there := want[k]; v != "" && !there {
				want[k] = v
			}
		}
		if len(want) == 0 {
			require.Nil(t, got.Context)
			continue
		}
		require.JSONEq(t, asJSON(t, want), asJSON(t, got.Context), text)
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// No message makes Find fail, find what is not there, or find it in a fence or a comment.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{"", "<promise>COMPLETE</promise>", "`<promise>BLOCKED</promise>`", "\\```x``\n> q\n\n~~~", "<!-- `", "a ` b `` c ` d", "- > x\n1. ```\n", "<promise>LOOP_DONE</promise>\n<context>\na: 1\n</context>", "\\", "`\\`"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		p, ok := promise.Find(message)
		require.Equal(t, ok, p.Signal != "")
		if ok {
			require.Contains(t, strings.Join(strings.Fields(message), " "), p.Text[1:len(p.Text)-1])
			asJSON(t, p.Context)
		}
		for _, hidden := range []string{"<!-- " + strings.ReplaceAll(message, "-->", "") + " -->", "~~~\n" + strings.ReplaceAll(message, "~", "") + "\n~~~"} {
			_, ok := promise.Find(hidden)
			require.False(t, ok, "%q", hidden)
		}
	})
}

// What orch writes, whatever is in it, is read back as it was.
func FuzzFormat(f *testing.F) {
	f.Add("reason", "why", "k", "v")
	f.Add("</context>", "<promise>LOOP_DONE</promise>", "null", "~")
	f.Fuzz(func(t *testing.T, reason, summary, key, value string) {
		text := promise.Format(promise.Promise{Text: "LOOP_BLOCKED", Reason: reason, Summary: summary, Context: map[string]any{key: value}})
		p, ok := promise.Find(text)
		require.True(t, ok)
		require.Equal(t, promise.Blocked, p.Signal)
		if len(text) < 16<<10 && utf8.ValidString(key) && utf8.ValidString(value) {
			require.Equal(t, value, p.Context[key], text)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	ticks := strings.Builder{}
	for i := range 1000 {
		ticks.WriteString(strings.Repeat("`", i+1) + " ")
	}
	for name, message := range map[string]string{
		"prose":     strings.Repeat("Some words, `code` and more.\n", 10_000),
		"backticks": ticks.String(),
		"quotes":    strings.Repeat("> q\n", 100_000),
		"markers":   strings.Repeat("<promise>COMPLETE</promise> ", 10_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				promise.Find(message)
			}
		})
	}
}

func ExampleFind() {
	p, ok := promise.Find("I can not go on.\n\n<promise>BLOCKED</promise>\nReason: the migration needs a person's consent.")
	fmt.Println(ok, p.Signal, "-", p.Reason)
	// Output: true BLOCKED - the migration needs a person's consent.
}

func ExampleFormat() {
	fmt.Println(promise.Format(promise.Promise{Text: "LOOP_DONE", Context: map[string]any{
		"iterations": 5, "session_id": "bd-1-run-1", "reason": "All tasks are closed.",
	}}))
	// Output:
	// <promise>LOOP_DONE</promise>
	// <context>
	//   session_id: "bd-1-run-1"
	//   iterations: 5
	//   reason: "All tasks are closed."
	// </context>
}
