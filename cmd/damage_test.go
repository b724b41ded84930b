package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAllRefuseADamagedJournal: whoever is asked of an epic whose journal cannot be believed, or was lost, says so
// with the same code, the same promise and the same way out, and nobody begins it anew.
func TestAllRefuseADamagedJournal(t *testing.T) {
	t.Parallel()
	f := quickFixture(t, `echo x >"$ORCH_TASK" && git add -A && git commit -q -m x`, "true")
	f.task("one")
	f.task("two")
	f.must("orch", "session", "bind", f.epic, "--session", "s-1")
	f.must("orch", "run", f.epic)
	f.task("three")
	c := connect(t, f)
	path := filepath.Join(f.epicDir(), "journal.jsonl")
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(sound, []byte("\n"))
	broken := bytes.Clone(sound)
	copy(broken[len(lines[0])+len(lines[1])+10:], make([]byte, 40))
	changed := bytes.Replace(sound, []byte(`"e-1.1"`), []byte(`"e-1.9"`), 1)
	ordinary := []string{"a torn first record", "zeros in the middle", "gone"}
	for how, text := range map[string][]byte{
		"empty": {}, "a header": lines[0], "a torn header": lines[0][:20], "a torn first record": append(bytes.Clone(lines[0]), lines[1][:len(lines[1])/2]...),
		"zeros in the middle": broken, "another checksum in the middle": changed, "all zeros": make([]byte, 500), "gone": nil,
	} {
		if thorough(0, 1, 1) == 0 && !slices.Contains(ordinary, how) {
			continue
		}
		if text == nil {
			require.NoError(t, os.RemoveAll(path))
		} else {
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}
		f.refused(c, how)
		now, err := os.ReadFile(path)
		require.Equal(t, text == nil, os.IsNotExist(err), how)
		require.Equal(t, string(text), string(now), "%s: nobody has changed it", how)

		kept, _ := f.run(nil, "orch", "doctor", "--fix", "--json")
		require.Contains(t, kept, "journal.damaged-", how)
		f.agree(c, how+", mended", "LOOP_CONTINUE")
		for _, aside := range f.aside() {
			require.NoError(t, os.Remove(aside))
		}
	}
}

func (f *fixture) aside() []string {
	all, err := filepath.Glob(filepath.Join(f.epicDir(), "journal.damaged-*"))
	require.NoError(f.t, err)
	return all
}

// refused requires that everybody refuses the epic for its journal.
func (f *fixture) refused(c tools, how string) {
	f.t.Helper()
	for _, args := range [][]string{{"status"}, {"status", f.epic}, {"status", "e-1.1"}, {"plan", f.epic}, {"watch", f.epic}, {"events", f.epic}, {"next", f.epic}, {"land", "e-1.1"}, {"verify", "e-1.1"},
		{"run", f.epic}, {"logs", "e-1.1"}, {"retry", "e-1.1"}, {"stop", f.epic}, {"iteration", "start", "e-1.1"}, {"iteration", "limit", "e-1.1", "3"}} {
		doc, code := f.document("", args...)
		require.Equal(f.t, "JOURNAL_CORRUPT", doc["code"], "%s: %v: %v", how, args, doc)
		require.Equal(f.t, "LOOP_ERROR", doc["promise"], "%s: %v: %v", how, args, doc)
		require.Equal(f.t, 4, code, "%s: %v", how, args)
		fix, _ := doc["fix"].([]any)
		require.Contains(f.t, strings.Join(strs(fix), "\n"), "orch doctor --fix", "%s: %v", how, args)
	}
	stop, _ := f.document(`{"session_id": "s-1", "hook_event_name": "Stop"}`, "stop-hook", "--explain")
	require.Equal(f.t, "LOOP_ERROR", stop["promise"], "%s: %v", how, stop)
	require.Equal(f.t, "LOOP_ERROR", stop["verdict"], "%s: %v", how, stop)
	require.Equal(f.t, false, stop["block"], how)
	require.Contains(f.t, stop["why"], "JOURNAL_CORRUPT", how)
	for _, tool := range []string{"epic_status", "progress_summary", "epic_next"} {
		_, failed := c.call(tool, map[string]any{"epic": f.epic})
		require.Contains(f.t, failed, "JOURNAL_CORRUPT", "%s: %s", how, tool)
		require.Contains(f.t, failed, "LOOP_ERROR", "%s: %s", how, tool)
	}
	out, code := f.run(nil, "orch", "doctor")
	require.Equal(f.t, 4, code, how)
	require.Contains(f.t, out, "journal", how)
}

func strs(all []any) (out []string) {
	for _, one := range all {
		out = append(out, one.(string))
	}
	return out
}
