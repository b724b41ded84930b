package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// canary is a value with all that is escaped somewhere.
const canary = `hunter2-'can"ary\ <é>&%$x`

const block = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt\nZWQyNTUxOQAAACDYkYYkYYkYYkYYkYYkYYkYYkYYkYYkYYkYYkYYkYYkYQ==\n-----END OPENSSH PRIVATE KEY-----"

func known() *Redactor {
	return New(Options{
		Env: []string{"MY_SECRET=" + canary, "DB_PASSWORD=hunter2-canary", "PLAIN=visible-value", "DEBUG_TOKEN=true", "SHORT_KEY=abc", "HOME_KEY=/etc/passwd",
			"LINES_TOKEN=first line of it\nsecond line of it\nthird", "DATABASE_URL=postgres://me:s3cret-pw@db.example/x", "NAMED=named-by-settings", "GIT_CONFIG_KEY_0=gc.auto"},
		Names:  []string{"NAMED", "NONE"},
		Values: map[string]string{"the client": "value-of-no-variable"},
		Exists: func(path string) bool { return path == "/etc/passwd" },
	})
}

func TestValuesInAllForms(t *testing.T) {
	r := known()
	asJSON, err := json.Marshal(canary)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"plain": canary, "json": string(asJSON), "json in json": string(twice), "go": strconv.Quote(canary), "go ascii": strconv.QuoteToASCII(canary),
		"shell": "'" + strings.ReplaceAll(canary, "'", `'\''`) + "'", "shell escaped": `hunter2-\'can\"ary\\\ \<é\>\&%\$x`,
		"query": url.QueryEscape(canary), "path": url.PathEscape(canary), "query low": strings.ToLower(url.QueryEscape("hunter2-'can\"ary\\ <é>&%$x")),
		"hex": hex.EncodeToString([]byte(canary)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(canary))),
	}
	for i := range 6 {
		before, after := strings.Repeat("q", i), strings.Repeat("Z", 5-i)
		texts[fmt.Sprint("base64 ", i)] = base64.StdEncoding.EncodeToString([]byte(before + canary + after))
		texts[fmt.Sprint("base64 url ", i)] = base64.URLEncoding.EncodeToString([]byte(before + canary + after))
	}
	for form, text := range texts {
		got := r.String("before " + text + " after")
		if !strings.Contains(got, "[redacted MY_SECRET]") || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", form, text, got)
		}
	}
}

func TestWhatIsSecret(t *testing.T) {
	r := known()
	for _, c := range []struct{ in, want string }{
		{"x hunter2-canary y", "x [redacted DB_PASSWORD] y"},
		{"hunter2-canaryhunter2-canary", "[redacted DB_PASSWORD][redacted DB_PASSWORD]"},
		{"visible-value true abc /etc/passwd gc.auto", "visible-value true abc /etc/passwd gc.auto"},
		{"first line of it\n    second line of it\r\n\tthird.", "[redacted LINES_TOKEN]."},
		{`"first line of it\nsecond line of it\nthird"`, `"[redacted LINES_TOKEN]"`},
		{`first line of it\\nsecond line of it\\nthird`, `[redacted LINES_TOKEN]`},
		{"first line of another", "first line of another"},
		{"s3cret-pw", "[redacted DATABASE_URL]"},
		{"named-by-settings", "[redacted NAMED]"},
		{"value-of-no-variable", "[redacted the_client]"},
		{"cut: hunter2-can...", "cut: [redacted DB_PASSWORD]..."},
		{"cut: hunter2-can… and on", "cut: [redacted DB_PASSWORD]… and on"},
		{"cut: hunter2-can", "cut: [redacted DB_PASSWORD]"},
		{"not: hunter2 and hunter2-cannery", "not: hunter2 and hunter2-cannery"},
		{"curl https://me:pw@host/x", "curl https://[redacted URL credentials]@host/x"},
		{"https://host:80/a@b git@host:x http://me@host", "https://host:80/a@b git@host:x http://me@host"},
		{"Authorization: Bearer abcdefghij1234567890", "Authorization: Bearer [redacted HTTP authorization]"},
		{"task-abcdefghijabcdefghijabcdefghijabcdefghij", "task-abcdefghijabcdefghijabcdefghijabcdefghij"},
		{`{"text":"a\nsk-ant-REDACTED_abc"}`, `{"text":"a\n[redacted Anthropic key]"}`},
		{"\x1b[31mhf_abcdefghijabcdefghijabcdefghijabcd\x1b[0m", "\x1b[31m[redacted Hugging Face token]\x1b[0m"},
		{"ghp_tooShort", "ghp_tooShort"},
		{"a\x00\xff" + "hunter2-canary\xfe", "a\x00\xff[redacted DB_PASSWORD]\xfe"},
		{"<" + block + ">", "<[redacted private key]>"},
		{`"` + strings.ReplaceAll(block, "\n", `\n`) + `"`, `"[redacted private key]"`},
		{block[:120], "[redacted private key]"},
		{"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P, eyJ.a.b", "[redacted JSON web token], eyJ.a.b"},
		{"[redacted DB_PASSWORD] [redacted hunter2-canary]", "[redacted DB_PASSWORD] [redacted [redacted DB_PASSWORD]]"},
		{"", ""},
	} {
		c.in = strings.ReplaceAll(c.in, "-REDACTED_abc", "-api03-"+strings.Repeat("Aa1_", 20))
		if got := r.String(c.in); got != c.want {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

// Each shape is found in the middle of a text, named, and has a source.
func TestShapes(t *testing.T) {
	r := New(Options{})
	for _, s := range shapes() {
		if s.source == "" || s.name == "" {
			t.Errorf("%s: no name or no source", s.prefix)
		}
		if s.rest != nil {
			continue
		}
		run := exampleOf(s)
		text := `{"said":"it is ` + s.prefix + run + `"}`
		want := `{"said":"it is ` + s.kept() + markOf(s.name) + `"}`
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if short := "it is " + s.prefix + run[:s.least-1]; s.prefix != "sk-" && r.String(short) != short && !strings.HasPrefix(s.prefix, "xoxe.") {
			t.Errorf("%q is too short, and became %q", short, r.String(short))
		}
	}
	if n := len(shapes()); n < 50 {
		t.Errorf("%d shapes", n)
	}
}

func exampleOf(s shape) string {
	var b strings.Builder
	for _, c := range []byte("0123456789abcdefABCDEFGHIJKLMNOPQRSTUVWXYZghijklmnopqrstuvwxyz") {
		if classes[c]&s.class != 0 {
			b.WriteByte(c)
		}
	}
	return strings.Repeat(b.String(), s.least/b.Len()+1)[:s.least]
}

func TestTokenIsCoveredToItsEnd(t *testing.T) {
	r := New(Options{})
	long := "ghp_" + strings.Repeat("a1", 50_000)
	if got := r.String("<" + long + ">"); got != "<[redacted GitHub token]>" {
		t.Errorf("%.80q", got)
	}
	w := &bytes.Buffer{}
	s := r.Writer(w)
	for i := range len(long) {
		if _, err := s.Write([]byte{long[i]}); err != nil || s.Held() > 64 {
			t.Fatalf("%v, %d bytes held", err, s.Held())
		}
	}
	if err := s.Close(); err != nil || w.String() != "[redacted GitHub token]" {
		t.Errorf("%v %.80q", err, w.String())
	}
}

// What a stream becomes does not depend on where it is split: at each byte.
func TestSplitAtEachByte(t *testing.T) {
	r := known()
	text := "a " + canary + " b hunter2-canary c first line of it \n second line of it\nthird d " + block + " https://u:p@h [redacted DB_PASSWORD] hunter2-can… ghp_" + strings.Repeat("x", 40)
	want := r.String(text)
	for i := range len(text) + 1 {
		if got := streamed(t, r, text[:i], text[i:]); got != want {
			t.Fatalf("split at %d: %q, want %q", i, got, want)
		}
	}
	if got := streamed(t, r, strings.Split(text, "")...); got != want {
		t.Fatalf("byte by byte: %q, want %q", got, want)
	}
}

func streamed(t *testing.T, r *Redactor, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := r.Writer(&b)
	for _, p := range parts {
		if n, err := w.Write([]byte(p)); err != nil || n != len(p) {
			t.Fatal(n, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNilKnowsNothing(t *testing.T) {
	var r *Redactor
	if got := r.String("ghp_x"); got != "ghp_x" || streamed(t, r, "a", "b") != "ab" || r.Names([]byte("x")) != nil {
		t.Error(got)
	}
}

func TestNames(t *testing.T) {
	got := known().Names([]byte("hunter2-canary hunter2-canary ghp_" + strings.Repeat("x", 40)))
	if fmt.Sprint(got) != "[DB_PASSWORD GitHub token]" {
		t.Error(got)
	}
}

func TestLooksSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"API_KEY": true, "PGPASSWORD": true, "GITHUB_TOKEN": true, "github_pat": true, "OPENAI_APIKEY": true, "MYSQL_PWD": true, "AWS_SECRET_ACCESS_KEY": true, "X-AUTH": true,
		"PWD": false, "OLDPWD": false, "PATH": false, "AUTHOR": false, "MONKEY": false, "TOKENIZERS_PARALLELISM": false, "SSH_AUTH_SOCK": false, "KEY_FILE": false, "": false, "GIT_CONFIG_KEY_0": false,
	} {
		if got := LooksSecret(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// FuzzRedact holds that a stream becomes the same however it is split, that no known value is
// left, and that a second time changes nothing.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{canary, "hunter2-canary", block, "://a:b@", "ghp_" + strings.Repeat("x", 40), "[redacted DB_PASSWORD]", "[redacted ", "first line of it\nsecond line of it\nthird",
		"hunter2-hunter2-canary", "Authorization: Bearer " + strings.Repeat("z", 30), "sk-" + strings.Repeat("y", 40), "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3j", "\\n", "…", "..."} {
		f.Add(s, s, uint64(1))
	}
	r := known()
	f.Fuzz(func(t *testing.T, a, b string, seed uint64) {
		text := a + "hunter2-canary" + b + canary + a
		want := r.String(text)
		if strings.Contains(want, "hunter2-canary") || strings.Contains(want, canary) {
			t.Fatalf("%q became %q", text, want)
		}
		if again := r.String(want); again != want {
			t.Fatalf("%q became %q, and then %q", text, want, again)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		var parts []string
		for rest := text; rest != ""; {
			n := 1 + random.IntN(min(len(rest), 12))
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := streamed(t, r, parts...); got != want {
			t.Fatalf("in parts %q became %q, not %q", parts, got, want)
		}
	})
}

// logs are 32 KiB of what builds and agents print.
func logs() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 32<<10; i++ {
		fmt.Fprintf(&b, "%s INFO  [worker-%d] github.com/example/project/pkg%d: compiled internal/module_%d.go in %dms, skipped tests\n", "2026-01-02T03:04:05Z", i%7, i%13, i, i%900)
		fmt.Fprintf(&b, `{"type":"assistant","message":{"id":"msg_%08x","content":[{"type":"text","text":"I will look at the file, then run the tests.\nSee https://example.com/docs/%d"}]}}`+"\n", i*2654435761, i)
		fmt.Fprintf(&b, "ok  \tgithub.com/example/project/pkg%d\t0.%03ds\tcoverage: %d.%d%% of statements\n--- PASS: TestThing/%d (0.00s)\n", i%31, i%997, i%100, i%10, i)
	}
	return b.Bytes()[:32<<10]
}

func benchRedactor() *Redactor {
	var env []string
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		raw := make([]byte, 24)
		for k := range raw {
			raw[k] = byte(random.UintN(256))
		}
		env = append(env, fmt.Sprintf("SERVICE_%d_TOKEN=%s", i, base64.StdEncoding.EncodeToString(raw)))
	}
	return New(Options{Env: env})
}

type sink struct{ n int }

func (s *sink) Write(p []byte) (int, error) { s.n += len(p); return len(p), nil }

// BenchmarkWriter tells the speed by the processor time that was used, which does not depend on
// what else the machine does, and how many times as long it takes as copying the same.
func BenchmarkWriter(b *testing.B) {
	block, r := logs(), benchRedactor()
	to, w := make([]byte, len(block)), r.Writer(&sink{})
	b.SetBytes(int64(len(block)))
	began, n := used(b), 0
	for b.Loop() {
		if _, err := w.Write(block); err != nil {
			b.Fatal(err)
		}
		n++
	}
	took := used(b) - began
	began = used(b)
	for range n {
		copy(to, block)
	}
	b.ReportMetric(float64(n*len(block))/took.Seconds()/1e6, "cpu-MB/s")
	b.ReportMetric(float64(took)/float64(max(used(b)-began, 1)), "x-copy")
}

// used is the processor time of this process.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		benchRedactor()
	}
}

// TestMoreForms: a value as web pages, ASCII-only JSON, dumps of bytes and lenient URLs print it.
// TestFormsOfTheWeb has what libraries for HTML and for URLs make of a value.
func TestFormsOfTheWeb(t *testing.T) {
	t.Parallel()
	r := New(Options{Env: []string{"MY_SECRET=" + `ca&na<r'y"/9=é`}})
	for _, text := range []string{
		html.EscapeString(`ca&na<r'y"/9=é`), `ca&amp;na&lt;r'y"/9=é`, `ca&amp;na&lt;r'y&quot;/9=é`, `ca&amp;na&lt;r&#x27;y&quot;/9=é`, `ca&amp;na&lt;r&#039;y&quot;/9=é`,
		`ca&amp;na&lt;r&apos;y&quot;/9=é`, `ca&amp;na&lt;r&#39;y&quot;&#x2F;9&#x3D;é`, `ca&amp;na&lt;r&#x27;y&quot;&#x2f;9=é`,
		"%63%61%26%6e%61%3c%72%27%79%22%2f%39%3d%c3%a9", "%63%61%26%6E%61%3C%72%27%79%22%2F%39%3D%C3%A9",
		"&#99;&#97;&#38;&#110;&#97;&#60;&#114;&#39;&#121;&#34;&#47;&#57;&#61;&#233;", "&#x63;&#x61;&#x26;&#x6e;&#x61;&#x3c;&#x72;&#x27;&#x79;&#x22;&#x2f;&#x39;&#x3d;&#xe9;",
		`\x63\x61\x26\x6e\x61\x3c\x72\x27\x79\x22\x2f\x39\x3d\xc3\xa9`, `\143\141\046\156\141\074\162\047\171\042\057\071\075\303\251`, "MNQSM3TBHRZCO6JCF44T3Q5J",
	} {
		if got := r.String("a " + text + " b"); got != "a [redacted MY_SECRET] b" {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestMoreForms(t *testing.T) {
	t.Parallel()
	const value = "p<l>u/m é&pit 日 stone"
	r := New(Options{Env: []string{"MY_SECRET=" + value}})
	for _, text := range []string{
		"p&lt;l&gt;u/m é&amp;pit 日 stone",
		`p<l>u/m \u00e9&pit \u65e5 stone`,
		"p%3Cl%3Eu/m%20%C3%A9%26pit%20%E6%97%A5%20stone",
		"70 3c 6c 3e 75 2f 6d 20 c3 a9 26 70 69 74 20 e6\n 97 a5 20 73 74 6f 6e 65",
	} {
		if got := r.String("x " + text + " y"); !strings.Contains(got, "[redacted MY_SECRET]") {
			t.Errorf("%q: %q", text, got)
		}
	}
}
