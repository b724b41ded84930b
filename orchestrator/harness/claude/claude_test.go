package claude_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/claude"
)

func TestLaunch(t *testing.T) {
	t.Parallel()
	h := claude.New(claude.Options{
		PermissionMode: "acceptEdits", Model: "opus", AllowedTools: []string{"Bash(go *)", "Edit"},
		SettingsJSON: `{"hooks":{}}`, ExtraArgs: []string{"--max-turns", "50"},
	})
	got, err := h.Launch(harness.Spec{Brief: "do it", Session: "0b5e1c9a-5a52-4d7c-9f6b-0d1c2b3a4f5e"})
	require.NoError(t, err)
	require.Equal(t, harness.Launch{
		Argv: []string{
			"claude", "-p", "--output-format", "stream-json", "--verbose",
			"--allowedTools", "Bash(go *)", "Edit", "--permission-mode", "acceptEdits", "--model", "opus",
			"--settings", `{"hooks":{}}`, "--session-id", "0b5e1c9a-5a52-4d7c-9f6b-0d1c2b3a4f5e",
			"--max-turns", "50",
		},
		Stdin: []byte("do it"),
	}, got)

	got, err = claude.New(claude.Options{Binary: "/opt/claude"}).Launch(harness.Spec{Session: "abc", Resume: true})
	require.NoError(t, err)
	require.Equal(t, []string{"/opt/claude", "-p", "--output-format", "stream-json", "--verbose", "--resume", "abc"}, got.Argv)
}

func TestLaunchRefusesWhatWouldBeAnOption(t *testing.T) {
	t.Parallel()
	for _, spec := range []harness.Spec{
		{Session: "--dangerously-skip-permissions"}, {Session: "a b"}, {Session: "-"}, {Resume: true},
	} {
		_, err := claude.New(claude.Options{}).Launch(spec)
		require.ErrorIs(t, err, harness.ErrOption, "%+v", spec)
	}
	for _, options := range []claude.Options{
		{AllowedTools: []string{"Bash", "--dangerously-skip-permissions"}}, {Model: "-x"}, {PermissionMode: "--y"}, {SettingsJSON: "-"},
	} {
		_, err := claude.New(options).Launch(harness.Spec{})
		require.ErrorIs(t, err, harness.ErrOption, "%+v", options)
	}
}

// read gives a reader that has read a recording.
func read(t testing.TB, name string) harness.Reader {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
	require.NoError(t, err)
	return feed(t, claude.Options{}, string(stream))
}

func feed(t testing.TB, o claude.Options, stream string) harness.Reader {
	t.Helper()
	r := claude.New(o).Reader()
	n, err := r.Write([]byte(stream))
	require.NoError(t, err)
	require.Equal(t, len(stream), n)
	return r
}

// recordings is what to make of each recording; the exit codes are those of the recorded runs.
func recordings() map[string]struct {
	exit int
	want harness.Outcome
} {
	type row = struct {
		exit int
		want harness.Outcome
	}
	return map[string]row{
		"success-tools": {0, harness.Outcome{
			Kind: harness.Ended, Text: "All done.", Session: "12866ff8-0766-4bbf-960b-0061fab42d65",
			Usage: harness.Usage{InputTokens: 37703, OutputTokens: 86, CostUSD: 0.152532, Turns: 3},
		}},
		"api-error-401": {1, harness.Outcome{
			Kind: harness.Auth, Detail: "Failed to authenticate. API Error: 401 scripted error",
			Session: "83159ce5-1474-4319-b4f1-50c4a961f86b", Usage: harness.Usage{Turns: 1},
		}},
		"api-error-529": {1, harness.Outcome{
			Kind:    harness.Unavailable,
			Detail:  "API Error: 529 scripted error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:…",
			Session: "9450848e-e9b8-4bfd-9905-5703dfad30a5", Usage: harness.Usage{Turns: 1},
		}},
		"background-subagent-two-results": {0, harness.Outcome{
			Kind: harness.Ended, Text: "main done 3", Session: "c1a80a4e-cb00-4ced-bc84-13c312e87394",
			Usage: harness.Usage{InputTokens: 45752, OutputTokens: 55, CostUSD: 0.184108, Turns: 3},
		}},
		"subagent-foreground": {0, harness.Outcome{
			Kind: harness.Ended, Text: "main done 2", Session: "e04181f0-63da-45c6-b277-46c4f3a90ad7",
			Usage: harness.Usage{InputTokens: 51509, OutputTokens: 87, CostUSD: 0.207776, Turns: 2},
		}},
		"max-turns": {1, harness.Outcome{
			Kind: harness.Ended, Detail: "Reached maximum number of turns (3)", Session: "f086d35f-912c-453b-9ba6-fc029e5f3a61",
			Usage: harness.Usage{InputTokens: 37621, OutputTokens: 55, CostUSD: 0.151584, Turns: 4},
		}},
		"max-budget": {1, harness.Outcome{
			Kind: harness.Ended, Text: "x", Detail: "Reached maximum budget ($0.12)", Session: "d3bc19d1-1923-4f29-b910-98a31378a5e1",
			Usage: harness.Usage{InputTokens: 37713, OutputTokens: 63, CostUSD: 0.152112, Turns: 3},
		}},
		"permission-denials": {0, harness.Outcome{
			Kind: harness.Ended, Text: "All done.", Detail: "2 tool calls were denied: Bash, Write", Session: "f811d81e-2507-4734-9793-6af17db01c56",
			Usage: harness.Usage{InputTokens: 37748, OutputTokens: 81, CostUSD: 0.152612, Turns: 3},
		}},
		"sigint-in-tool": {0, harness.Outcome{
			Kind: harness.Crashed, Text: "running", Detail: "interrupted (aborted_tools)", Session: "d17ed713-42e7-437f-8c85-8a0620041c6d",
			Usage: harness.Usage{InputTokens: 12472, OutputTokens: 38, CostUSD: 0.050648, Turns: 3},
		}},
		"sigterm-in-tool": {143, harness.Outcome{
			Kind: harness.Crashed, Text: "running", Detail: "ended by SIGTERM without a result, last seen thinking", Session: "a5dc3e4c-a6fd-43fd-a33e-2a5c30c95f27",
			Usage: harness.Usage{InputTokens: 12472, OutputTokens: 1, Turns: 1},
		}},
		"sigint-in-stop-hook": {0, harness.Outcome{
			Kind: harness.Ended, Text: "reply", Detail: "the stop hook ended the turn", Session: "16adbb33-4b9a-46a7-8e5d-b830a2660015",
			Usage: harness.Usage{InputTokens: 12472, OutputTokens: 5, CostUSD: 0.049988, Turns: 2},
		}},
		"stop-block-cap-reached": {0, harness.Outcome{
			Kind: harness.Ended, Text: "reply 9", Session: "88b6d595-3c20-49ad-acde-e11d26b2d38b",
			Usage: harness.Usage{InputTokens: 114272, OutputTokens: 45, CostUSD: 0.457988, Turns: 10},
		}},
		"json-schema": {0, harness.Outcome{
			Kind: harness.Ended, Text: `{"done":true,"id":"T-1"}`, Session: "43f9fc40-b2e8-48f9-a217-829acb9b047a",
			Usage: harness.Usage{InputTokens: 12554, OutputTokens: 18, CostUSD: 0.050576, Turns: 2},
		}},
		"multi-turn-stdin-clear": {0, harness.Outcome{
			Kind: harness.Ended, Text: "reply 3", Session: "a0459b05-f890-492d-9697-ccf8fe988cc5",
			Usage: harness.Usage{InputTokens: 24995 + 12589, OutputTokens: 15, CostUSD: 0.10018 + 0.050456, Turns: 3},
		}},
	}
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	for name, row := range recordings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, name).Outcome(row.exit)
			require.InDelta(t, row.want.Usage.CostUSD, got.Usage.CostUSD, 1e-9)
			got.Usage.CostUSD = row.want.Usage.CostUSD
			require.Equal(t, row.want, got)
		})
	}
}

func TestEveryRecordingHasARow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(t, err)
	require.Len(t, files, len(recordings()))
}

func ExampleNew() {
	r := claude.New(claude.Options{}).Reader()
	fmt.Fprintln(r, `{"type":"assistant","message":{"id":"1","content":[{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}]}}`)
	fmt.Println(r.Activity())
	fmt.Fprintln(r, `{"type":"assistant","message":{"id":"2","content":[{"type":"text","text":"The tests pass."}]}}`)
	fmt.Fprintln(r, `{"type":"result","subtype":"success","is_error":false,"result":"The tests pass.","total_cost_usd":0.25}`)
	out := r.Outcome(0)
	fmt.Println(out.Kind, out.Usage.CostUSD, out.Text)
	// Output:
	// Bash: go test ./...
	// ended 0.25 The tests pass.
}
