package settings_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/settings"
)

func hooks() []settings.Hook {
	return []settings.Hook{{Event: "Stop", Command: "orch stop-hook", Timeout: 30 * time.Second}, {Event: "SessionStart", Command: "orch session-start", Timeout: 30 * time.Second}}
}

func files() map[string]string {
	return map[string]string{
		"empty":               "",
		"space":               "\n",
		"an empty object":     "{}",
		"other settings":      "{\n  \"model\": \"opus\",\n  \"env\": {\"A\": \"1\"}\n}\n",
		"tabs":                "{\n\t\"model\": \"opus\"\n}\n",
		"one line":            `{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}`,
		"other hooks":         "{\n    \"hooks\": {\n        \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\"}]}],\n        \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \"bash .claude/hooks/stop.sh\"}]}\n        ]\n    },\n    \"z\": [1, 2.50,   3]\n}\n",
		"empty hooks":         "{\n  \"hooks\": {}\n}\n",
		"an empty event":      "{\n  \"hooks\": {\"Stop\": [ ]}\n}\n",
		"crlf":                "{\r\n  \"model\": \"opus\"\r\n}\r\n",
		"an old SessionStart": `{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo hi"}]}]}}`,
	}
}

// TestInstall adds what is missing, once, and touches nothing else.
func TestInstall(t *testing.T) {
	t.Parallel()
	for name, text := range files() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := settings.Install([]byte(text), hooks())
			require.NoError(t, err)
			for _, h := range hooks() {
				commands, err := settings.Commands(got, h.Event)
				require.NoError(t, err)
				require.Equal(t, h.Command, commands[len(commands)-1])
			}
			again, err := settings.Install(got, hooks())
			require.NoError(t, err)
			require.Equal(t, string(got), string(again), "once")

			var was, is map[string]any
			if strings.TrimSpace(text) != "" {
				require.NoError(t, json.Unmarshal([]byte(text), &was))
			}
			require.NoError(t, json.Unmarshal(got, &is))
			for key, value := range was {
				if key != "hooks" {
					require.Equal(t, value, is[key])
				}
			}
			rest := string(got)
			for line := range strings.Lines(text) {
				if line = strings.TrimRight(line, "\r\n{}[] "); line != "" && len(strings.Split(text, "\n")) > 2 {
					require.Contains(t, rest, line, "each line is still there")
				}
			}
		})
	}
}

// TestRemove takes out what was put in, and leaves the rest as it is by then.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, text := range files() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := settings.Install([]byte(text), hooks())
			require.NoError(t, err)
			out, err := settings.Remove(in, hooks())
			require.NoError(t, err)
			require.True(t, json.Valid(out), string(out))
			require.NotContains(t, string(out), "orch")
			again, err := settings.Remove(out, hooks())
			require.NoError(t, err)
			require.Equal(t, string(out), string(again))
			var was, is map[string]any
			if strings.TrimSpace(text) == "" {
				text = "{}"
			}
			require.NoError(t, json.Unmarshal([]byte(text), &was))
			require.NoError(t, json.Unmarshal(out, &is))
			if name == "empty hooks" || name == "an empty event" {
				return // what was empty may go too
			}
			require.Equal(t, was, is)
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"[]", "{", "null", `"x"`, `{"hooks": []}`, `{"hooks": {"Stop": {}}}`, `{"hooks": {"Stop": [1]}}`, `{"hooks": "x"}`, "// comment\n{}"} {
		_, err := settings.Install([]byte(bad), hooks())
		require.ErrorIs(t, err, settings.ErrSettings, bad)
	}
}

func FuzzInstall(f *testing.F) {
	for _, text := range files() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := settings.Install(text, hooks())
		if err != nil {
			require.ErrorIs(t, err, settings.ErrSettings)
			return
		}
		require.True(t, json.Valid(got), "%q became %q", text, got)
		out, err := settings.Remove(got, hooks())
		if err == nil {
			require.True(t, json.Valid(out), "%q, without: %q", got, out)
		}
	})
}
