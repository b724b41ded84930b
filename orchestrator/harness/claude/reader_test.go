package claude_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/claude"
)

// say is a line of the main conversation.
func say(id, text string) string {
	return fmt.Sprintf(`{"type":"assistant","session_id":"s","parent_tool_use_id":null,"message":{"id":%q,"content":[{"type":"text","text":%q}]}}`+"\n", id, text)
}

// failure is a result with an error of the API.
func failure(status int, text string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":%d,"result":%q}`+"\n", status, text)
}

const success = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"ok"}` + "\n"

func TestKinds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0).UTC()
	retry := `{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"retry_delay_ms":%d,"error_status":%d,"error":%q}` + "\n"
	rejected := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%d,"isUsingOverage":%t}}` + "\n"
	for _, test := range []struct {
		name, stream string
		exit         int
		kind         harness.Kind
		after        time.Duration
	}{
		{"overloaded", failure(529, "API Error"), 1, harness.Unavailable, 0},
		{"server error", failure(500, "API Error"), 1, harness.Unavailable, 0},
		{"no connection", failure(0, "API Error: Connection error."), 1, harness.Unavailable, 0},
		{"timeout", failure(0, "Request timed out"), 1, harness.Unavailable, 0},
		{"name lookup", failure(0, "getaddrinfo ENOTFOUND api.example"), 1, harness.Unavailable, 0},
		{"refusal", failure(0, "API Error: this request appears to violate the policy"), 1, harness.Crashed, 0},
		{"bad request", failure(400, "API Error: 400 invalid_request"), 1, harness.Crashed, 0},
		{"forbidden", failure(403, "API Error"), 1, harness.Auth, 0},
		{"not logged in", `{"type":"result","is_error":true,"result":"Invalid API key · Please run /login"}` + "\n", 1, harness.Auth, 0},
		{"rate limit", failure(429, "API Error: 429"), 1, harness.RateLimited, 0},
		{"rate limit for a minute", fmt.Sprintf(retry, 60_000, 429, "rate_limit") + failure(429, "API Error: 429"), 1, harness.RateLimited, time.Minute},
		{"its own back-off", fmt.Sprintf(retry, 540, 429, "rate_limit") + failure(429, "API Error: 429"), 1, harness.RateLimited, 0},
		{"killed while it retried", fmt.Sprintf(retry, 500, 529, "overloaded"), 137, harness.Unavailable, 0},
		{"killed after a retry that worked", fmt.Sprintf(retry, 500, 529, "overloaded") + say("1", "on"), 137, harness.Crashed, 0},
		{"paid", failure(402, "billing"), 1, harness.UsageLimit, 0},
		{"credit", failure(400, "Credit balance is too low"), 1, harness.UsageLimit, 0},
		{"session limit", failure(429, "You've hit your session limit · resets 8:20pm (UTC)"), 1, harness.UsageLimit, 0},
		{"banner with the time", `{"type":"result","is_error":false,"result":"Claude AI usage limit reached|1800003600"}` + "\n", 0, harness.UsageLimit, time.Hour},
		{"banner with a time that is over", `{"type":"result","is_error":true,"result":"Claude AI usage limit reached|1700000000"}` + "\n", 1, harness.UsageLimit, 0},
		{"rejected", fmt.Sprintf(rejected, 1_800_000_060, false) + failure(429, "API Error: 429"), 1, harness.UsageLimit, time.Minute},
		{"rejected, in milliseconds", fmt.Sprintf(rejected, int64(1_800_000_060_000), false) + failure(429, "x"), 1, harness.UsageLimit, time.Minute},
		{"rejected, and silence", fmt.Sprintf(rejected, 1_800_000_060, false), 1, harness.UsageLimit, time.Minute},
		{"rejected, but paid for", fmt.Sprintf(rejected, 1_800_000_060, true) + failure(429, "x"), 1, harness.RateLimited, 0},
		{"an agent that speaks of limits", say("1", "I added a test for: usage limit reached") + success, 0, harness.Ended, 0},
		{"a result, and then it hung", say("1", "done") + success, 137, harness.Ended, 0},
		{"it went on after a result", say("1", "done") + success + say("2", "more"), 137, harness.Crashed, 0},
		{"no result, but a good end", say("1", "done"), 0, harness.Ended, 0},
		{"nothing", "", 0, harness.Crashed, 0},
		{"not this client", "Usage: claude [options]\n", 1, harness.Crashed, 0},
		{"unknown session", `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: x"]}` + "\n", 1, harness.Crashed, 0},
		{"prompt too long", `{"type":"result","subtype":"success","is_error":true,"terminal_reason":"prompt_too_long","result":"Prompt is too long"}` + "\n", 1, harness.ContextFull, 0},
	} {
		r := feed(t, claude.Options{Now: func() time.Time { return now }}, test.stream)
		got := r.Outcome(test.exit)
		require.Equal(t, test.kind, got.Kind, "%s: %+v", test.name, got)
		require.Equal(t, test.after, got.RetryAfter, test.name)
		if test.kind != harness.Ended {
			require.NotEmpty(t, got.Detail, test.name)
		}
	}
}

func TestTextIsTheLastMessageOnly(t *testing.T) {
	t.Parallel()
	promise := "<promise>COMPLETE</promise>"
	tool := `{"type":"assistant","message":{"id":"2","content":[{"type":"tool_use","name":"Bash","input":{}}]}}` + "\n"
	subagent := strings.Replace(say("9", promise), `"parent_tool_use_id":null`, `"parent_tool_use_id":"t"`, 1)
	for _, test := range []struct{ name, stream, want string }{
		{"blocks of one message belong together", say("1", "one") + say("1", "two"), "one\ntwo"},
		{"a newer message replaces it", say("1", promise) + say("2", "no, wait"), "no, wait"},
		{"a newer message without text too", say("1", promise) + tool, ""},
		{"a subagent says nothing", say("1", "mine") + subagent, "mine"},
		{"nor does the user", say("1", "mine") + `{"type":"user","message":{"content":"` + promise + `"}}` + "\n", "mine"},
		{"nor does the client", say("1", "mine") + `{"type":"assistant","message":{"id":"2","model":"<synthetic>","content":[{"type":"text","text":"Goal set"}]}}` + "\n", "mine"},
		{"the result, where the message was lost", success, "ok"},
		{"but not an error", failure(500, promise), ""},
		{"a last line without an end", strings.TrimSuffix(say("1", "cut"), "\n"), "cut"},
	} {
		require.Equal(t, test.want, feed(t, claude.Options{}, test.stream).Outcome(0).Text, test.name)
	}
	long := strings.Repeat("日本", 1<<14) + promise
	text := feed(t, claude.Options{}, say("1", long)+say("1", long)).Outcome(0).Text
	require.True(t, strings.HasSuffix(text, promise))
	require.True(t, utf8.ValidString(text))
	require.LessOrEqual(t, len(text), 128<<10)
}

func TestBadLinesArePassedOver(t *testing.T) {
	t.Parallel()
	bad := strings.Join([]string{
		"", "   ", "not json", "{", "[]", "null", `"x"`, "5", "{}", `{"type":5}`, `{"type":"assistant"}`,
		`{"type":"assistant","message":"text"}`, `{"type":"assistant","message":{"content":"text"}}`,
		`{"type":"assistant","message":{"content":[5,"x",{"type":"tool_use","input":7}]}}`,
		`{"type":"result_of_tomorrow"}`, `{"type":"system","subtype":"new","message":"a text here"}`,
		`{"type":"assistant","error":{"an":"object"},"message":{"id":"0"}}`, "\xff\xfe", "\x00", "\ufeff{}",
	}, "\r\n")
	r := feed(t, claude.Options{}, bad+"\n"+say("1", "still here")+success)
	got := r.Outcome(0)
	require.Equal(t, harness.Ended, got.Kind)
	require.Equal(t, "still here", got.Text)
	got = feed(t, claude.Options{}, "what\nis\nthis\n").Outcome(2)
	require.Equal(t, "exit 2 without a result, 3 lines not understood", got.Detail)
}

// TestHugeLineIsDropped runs alone, because the heap is the whole process's.
func TestHugeLineIsDropped(t *testing.T) {
	r := feed(t, claude.Options{}, `{"type":"user","message":{"content":"`)
	piece := []byte(strings.Repeat("x", 1<<20))
	before := heap()
	for range 50 {
		_, err := r.Write(piece)
		require.NoError(t, err)
	}
	require.Less(t, heap()-before, int64(1<<20))
	_, err := r.Write([]byte("\"}}\n" + say("1", "after it") + success))
	require.NoError(t, err)
	require.Equal(t, "after it", r.Outcome(0).Text)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestActivity(t *testing.T) {
	t.Parallel()
	tool := func(name, input string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":"so"},{"type":"tool_use","name":%q,"input":%s}]}}`, name, input)
	}
	for _, test := range []struct{ line, want string }{
		{`{"type":"system","subtype":"init","cwd":"/w/task"}`, "starting"},
		{tool("Bash", `{"command":"go test ./...\n","description":"run"}`), "Bash: go test ./..."},
		{tool("Edit", `{"file_path":"/w/task/internal/x.go"}`), "Edit internal/x.go"},
		{tool("Write", `{"file_path":"/etc/passwd","content":"x"}`), "Write /etc/passwd"},
		{tool("Read", `{"file_path":"/w/task-2/x"}`), "Read /w/task-2/x"},
		{tool("Grep", `{"pattern":"TODO"}`), "Grep: TODO"},
		{tool("Agent", `{"description":"look around","prompt":"long"}`), "Agent: look around"},
		{tool("ListAgents", `{}`), "ListAgents"},
		{tool("", `"odd"`), "tool"},
		{tool("Bash", `{"command":"\u001b]0;x\u0007rm\u001b[31m -rf"}`), "Bash: rm -rf"},
		{`{"type":"user","message":{"content":[]}}`, "thinking"},
		{`{"type":"assistant","message":{"content":[{"type":"text","text":"so"}]}}`, "writing"},
		{`{"type":"system","subtype":"status","status":"compacting"}`, "compacting the conversation"},
		{`{"type":"system","subtype":"status","status":null}`, "compacting the conversation"},
		{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded"}`, "waiting for the API (529 overloaded), retry 1 of 10"},
		{`{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10}`, "waiting for the API (no answer), retry 2 of 10"},
		{`{"type":"result"}`, ""},
	} {
		r := feed(t, claude.Options{}, `{"type":"system","subtype":"init","cwd":"/w/task"}`+"\n")
		if strings.Contains(test.line, `null}`) {
			fmt.Fprintln(r, `{"type":"system","subtype":"status","status":"compacting"}`)
		}
		fmt.Fprintln(r, test.line)
		require.Equal(t, test.want, r.Activity(), test.line)
	}
	r := feed(t, claude.Options{}, tool("Bash", `{"command":"`+strings.Repeat("long ", 100)+`"}`)+"\n")
	require.Equal(t, 160, utf8.RuneCountInString(r.Activity()))
}

func TestActivityWhileWriting(t *testing.T) {
	t.Parallel()
	r := claude.New(claude.Options{}).Reader()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 1000 {
			fmt.Fprint(r, say(fmt.Sprint(i), "x"))
		}
	}()
	for range 1000 {
		require.Contains(t, []string{"", "writing"}, r.Activity())
	}
	<-done
}

// TestCutsDoNotMatter reads each recording in pieces of every small size.
func TestCutsDoNotMatter(t *testing.T) {
	t.Parallel()
	for name, row := range recordings() {
		want := read(t, name).Outcome(row.exit)
		stream, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		require.NoError(t, err)
		for _, size := range []int{1, 7, 4096} {
			r := claude.New(claude.Options{}).Reader()
			for rest := stream; len(rest) > 0; {
				n := min(size, len(rest))
				_, err := r.Write(rest[:n])
				require.NoError(t, err)
				rest = rest[n:]
			}
			require.Equal(t, want, r.Outcome(row.exit), "%s in pieces of %d", name, size)
		}
	}
}

func FuzzReader(f *testing.F) {
	for name := range recordings() {
		stream, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		require.NoError(f, err)
		for line := range strings.Lines(string(stream)) {
			f.Add([]byte(line), 0)
		}
	}
	f.Add([]byte(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1e300}}`), 1)
	f.Add([]byte(`{"type":"result","session_id":"a","total_cost_usd":1e308}
{"type":"result","session_id":"b","total_cost_usd":1e308}`), 0)
	f.Add([]byte(`{"type":"result","is_error":true,"result":"Claude AI usage limit reached|99999999999999"}`), 1)
	f.Fuzz(func(t *testing.T, stream []byte, exit int) {
		r := claude.New(claude.Options{Now: func() time.Time { return time.Unix(0, 0) }}).Reader()
		if n, err := r.Write(stream); n != len(stream) || err != nil {
			t.Fatal(n, err)
		}
		shown := r.Activity()
		out := r.Outcome(exit)
		if out.Kind == "" || out.RetryAfter < 0 || !utf8.ValidString(out.Text) {
			t.Fatalf("%+v", out)
		}
		if strings.ContainsAny(shown+out.Detail, "\n\r\x1b\x00") {
			t.Fatalf("%q %q", shown, out.Detail)
		}
		if _, err := json.Marshal(out); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	stream, err := os.ReadFile("testdata/success-tools.jsonl")
	require.NoError(b, err)
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		r := claude.New(claude.Options{}).Reader()
		if _, err := r.Write(stream); err != nil {
			b.Fatal(err)
		}
		r.Outcome(0)
	}
}
