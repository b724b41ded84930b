package cmd

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/document"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// TestDoctorSandbox: each promise of each level that this machine has is kept, and of the others is said why not. It needs no
// repository.
func TestDoctorSandbox(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bwrap"); err != nil && sandbox.ABI() == 0 {
		if os.Getenv("ORCH_TEST_STRICT") != "" {
			t.Fatal("this machine has no level of the sandbox, and nothing may be skipped")
		}
		t.Skip("SKIPPED: this machine has no level of the sandbox")
	}
	dir, programs := t.TempDir(), bin(t)
	doctor := func(path string) (document.Doctor, int) {
		c := exec.CommandContext(t.Context(), filepath.Join(programs, "orch"), "doctor", "--sandbox", "--json")
		c.Dir, c.Env = dir, []string{"PATH=" + programs + string(os.PathListSeparator) + path, "HOME=" + dir, "TMPDIR=" + os.TempDir()}
		out, err := c.Output()
		if c.ProcessState == nil {
			require.NoError(t, err)
		}
		var doc document.Doctor
		require.NoError(t, json.Unmarshal(out, &doc), string(out))
		return doc, c.ProcessState.ExitCode()
	}
	said := func(doc document.Doctor) (text string) {
		for _, f := range doc.Findings {
			text += f.What + ": " + f.Says + " (" + f.Fix + ")\n"
		}
		return text
	}
	doc, code := doctor(os.Getenv("PATH"))
	require.Zero(t, code, said(doc))
	require.Zero(t, doc.Problems)
	for _, p := range sandbox.Promises() {
		require.True(t, slices.ContainsFunc(doc.Findings, func(f document.Finding) bool { return f.What == string(p.Threat) && f.OK }), p.Threat)
	}

	doc, code = doctor("/no/such/folder")
	require.Contains(t, said(doc), "bubblewrap cannot be had: the program bwrap is not installed (install bubblewrap")
	require.NotContains(t, said(doc), "bubblewrap: stopped")
	if sandbox.ABI() > 0 {
		require.Zero(t, code, said(doc))
	}
}
