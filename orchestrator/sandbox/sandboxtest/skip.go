// Package sandboxtest is for tests that need a level of the sandbox.
package sandboxtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Skip ends a test that needs what this machine does not have or forbids, and says so: name is a level, or "somebody" for a user
// who owns nothing. Under ORCH_TEST_STRICT it fails, unless ORCH_TEST_SKIP has the name.
func Skip(t testing.TB, name, why string) {
	t.Helper()
	if os.Getenv("ORCH_TEST_STRICT") != "" && !slices.Contains(strings.Fields(os.Getenv("ORCH_TEST_SKIP")), name) {
		t.Fatalf("%s is not tried: %s; nothing may be skipped but what ORCH_TEST_SKIP names", name, why)
	}
	t.Skipf("SKIPPED: %s is not tried: %s", name, why)
}

// Few skips the level bubblewrap in an ordinary run, where namespaces make the same mounts, and these too in a short one; a strict run tries each.
func Few(t testing.TB, level string) {
	t.Helper()
	if testing.Short() && level != "landlock" || level == "bubblewrap" && os.Getenv("ORCH_TEST_STRICT") == "" {
		t.Skip("strict runs try it")
	}
}
