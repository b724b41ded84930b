package explain_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/explain"
)

// TestReaderGone: a closed pipe on standard output is no failure; on another file it is one.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	for _, path := range []string{os.Stdout.Name(), "/another"} {
		var out, errs bytes.Buffer
		a := &cli.Invocation{Process: cli.Process{Stdout: &out, Stderr: &errs}}
		code := explain.Report(a, fmt.Errorf("writing: %w", &fs.PathError{Op: "write", Path: path, Err: syscall.EPIPE}))
		require.Equal(t, path == os.Stdout.Name(), code == 141, path)
		require.Equal(t, path == os.Stdout.Name(), errs.Len() == 0, errs.String())
		require.Empty(t, out.String())
	}
}
