package cmd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness/modeltest"
)

// tokens is an endpoint that gives a new token for each refresh, and refuses one that was used.
type tokens struct {
	url string

	mu    sync.Mutex
	given int
}

func newTokens(t *testing.T) *tokens {
	k := &tokens{}
	s := httptest.NewServer(k)
	t.Cleanup(s.Close)
	k.url = s.URL + "/oauth/token"
	return k
}

// ServeHTTP refreshes a token.
func (k *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var asked struct {
		Token string `json:"refresh_token"`
	}
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err != nil || asked.Token != fmt.Sprintf("refresh-%d", k.given) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error": {"code": "refresh_token_reused", "message": "it was used"}}`)
		return
	}
	k.given++
	access := accessToken(time.Now().Add(time.Hour))
	fmt.Fprintf(w, `{"id_token": %q, "access_token": %q, "refresh_token": "refresh-%d"}`, access, access, k.given)
}

// accessToken is one that says when it ends, signed by nobody.
func accessToken(until time.Time) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg": "none"}`) + "." + part(fmt.Sprintf(`{"exp": %d, "email": "t@localhost", "https://api.openai.com/auth": {"chatgpt_account_id": "a", "chatgpt_plan_type": "pro", "chatgpt_user_id": "u"}}`, until.Unix())) + ".c2ln"
}

// TestLoginsBounded: agents of the real Codex over the end of a token, several at once: all go on, the person's login is the newest, whole
// and with its mode, and nothing else of the home has changed.
func TestLoginsBounded(t *testing.T) {
	t.Parallel()
	tasks := numerals()[:thorough(3, 10, 10)]
	for _, l := range fewLevels(levelsHere(t)) {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			model := testsAndCommits("true")
			f, _ := clientFixture(t, "codex", unattended()["codex"], func(r modeltest.Request) modeltest.Reply { return model(r) })
			endpoint := newTokens(t)
			f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l), "CODEX_REFRESH_TOKEN_URL_OVERRIDE="+endpoint.url)
			f.without("OPENAI_API_KEY")
			f.settings("", "  run: {max_parallel: 10, attempts: 1}\n")
			config := filepath.Join(f.home(), ".codex/config.toml")
			text, err := os.ReadFile(config)
			require.NoError(t, err)
			// Nothing but the model and the endpoint is asked.
			f.write(config, "chatgpt_base_url = \"http://127.0.0.1:1\"\ncli_auth_credentials_store = \"file\"\n"+strings.Replace(string(text), `env_key = "OPENAI_API_KEY"`, "requires_openai_auth = true", 1))
			ended := accessToken(time.Now().Add(-time.Minute))
			login := filepath.Join(f.home(), ".codex/auth.json")
			f.write(login, fmt.Sprintf(`{"OPENAI_API_KEY": null, "auth_mode": "chatgpt", "tokens": {"id_token": %q, "access_token": %q, "refresh_token": "refresh-0", "account_id": "a"}, "last_refresh": "2026-01-01T00:00:00Z"}`, ended, ended))
			for _, path := range []string{".codex/rules/one", ".codex/skills/one", ".codex/sessions/of-the-person", ".codex/AGENTS.md", "notes"} {
				f.write(filepath.Join(f.home(), path), "the person's")
			}
			before := filesOf(t, f.home())
			for _, task := range tasks {
				f.task("task " + task)
			}
			out, code := f.run(nil, "orch", "run", f.epic)
			logs, _ := f.run(nil, "orch", "logs", "e-1.1")
			require.Zero(t, code, "%s\n%s", out, logs)
			require.Equal(t, 1, endpoint.given, logs) // the client asks more than once itself, and then reads what another of it got
			var kept struct {
				Tokens struct {
					Refresh string `json:"refresh_token"`
				} `json:"tokens"`
			}
			text, err = os.ReadFile(login)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &kept), string(text))
			require.Equal(t, "refresh-1", kept.Tokens.Refresh)
			info, err := os.Stat(login)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			for _, task := range tasks {
				require.Equal(t, "right", f.must("git", "show", "epic/e-1:"+task+".txt"), logs)
			}
			after := filesOf(t, f.home())
			delete(before, ".codex/auth.json")
			for path, content := range before {
				require.Equal(t, content, after[path], path)
			}
			if l.Mounts() {
				for path := range after { // what it keeps beside its login for that
					own := strings.HasPrefix(path, ".codex/auth") || strings.HasPrefix(path, ".codex/mcp-oauth-locks/") || path == ".codex/installation_id" || path == ".codex/.sandbox_migration"
					require.True(t, before[path] != "" || own, path)
				}
			}
			f.nothingBounded()
		})
	}
}

// filesOf gives the content of all plain files below a folder, by their paths below it.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+"/")] = string(content)
		return err
	}))
	return found
}

// TestClaudeLoginBounded: the real Claude Code with a login in its folder, and no key in the environment: it is logged in, goes on with its conversation
// after a red gate, and what it runs and obeys, its conversations and the login are the person's as they were.
func TestClaudeLoginBounded(t *testing.T) {
	t.Parallel()
	l := levelsHere(t)[0]
	f, model := clientFixture(t, "claude", unattended()["claude"], wrongThenRight)
	f.env = append(f.env, "ORCH_SANDBOX_LEVEL="+string(l))
	f.without("ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR")
	f.write(filepath.Join(f.home(), ".claude/.credentials.json"), fmt.Sprintf(`{"claudeAiOauth": {"accessToken": "scripted", "refreshToken": "refresh", "expiresAt": %d, "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}`, time.Now().Add(12*time.Hour).UnixMilli()))
	for _, path := range []string{"CLAUDE.md", "agents/one.md", "commands/one.md", "skills/one/SKILL.md", "plugins/one", "projects/one/memory/of-the-person", "todos/one.json"} {
		f.write(filepath.Join(f.home(), ".claude", path), "the person's")
	}
	f.write(filepath.Join(f.home(), ".claude/settings.json"), "{}")
	f.write(filepath.Join(f.home(), ".claude.json"), `{"hasCompletedOnboarding": true}`)
	before := filesOf(t, f.home())
	f.task("task one")
	f.task("task two")
	out, code := f.run(nil, "orch", "run", f.epic)
	logs, _ := f.run(nil, "orch", "logs", "e-1.1")
	require.Zero(t, code, "%s\n%s", out, logs)
	requireResumed(t, model)
	after := filesOf(t, f.home())
	for path, content := range before {
		require.Equal(t, content, after[path], path)
	}
	for path := range after {
		require.True(t, before[path] != "" || !l.Mounts(), path)
	}
	require.NotContains(t, out+f.must("orch", "events", f.epic), "moved aside")
	f.nothingBounded()
}
