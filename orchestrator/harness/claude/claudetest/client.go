package claudetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Variable names the environment variable with the path of the real client.
const Variable = "ORCH_TEST_CLAUDE"

// Client is a folder with the real client in it, as claude, to put on PATH.
// Without one the test is skipped, and says so; under ORCH_TEST_STRICT it fails.
func Client(t testing.TB) string {
	t.Helper()
	path := os.Getenv(Variable)
	if path == "" && os.Getenv("ORCH_TEST_STRICT") != "" {
		t.Fatalf("%s names no Claude Code client, and nothing may be skipped", Variable)
	}
	if path == "" {
		t.Skipf("SKIPPED: %s names no Claude Code client; the real client is not tried", Variable)
	}
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(path, filepath.Join(dir, "claude")); err != nil {
		t.Fatal(err)
	}
	return dir
}
