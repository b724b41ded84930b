package setup

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/document"
)

// TestReportIsShort: a person is shown a path that fits a screen, a program all of it.
func TestReportIsShort(t *testing.T) {
	t.Parallel()
	deep := "/w/" + strings.Repeat("folder/", 2000)
	var out bytes.Buffer
	a := &cli.Invocation{Process: cli.Process{Stdout: &out, Stderr: &out}}
	printReport(a, "e", false, []string{deep, "/w/a"}, []document.KeptPath{{Path: deep, Why: "what is saved nowhere: " + deep}})
	require.Less(t, out.Len(), 2000)
	require.Contains(t, out.String(), "\n/w/a\n")
	require.Contains(t, out.String(), "left as it is: /w/folder/")
	out.Reset()
	a.JSON = true
	printReport(a, "e", false, []string{deep}, nil)
	require.Contains(t, out.String(), deep)
}
