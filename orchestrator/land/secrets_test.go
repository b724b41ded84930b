package land

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/redact"
)

const canary = "hunter2-canary"

func knowing() *redact.Redactor {
	return redact.New(redact.Options{Env: []string{"MY_SECRET=" + canary}})
}

func TestAddedSecrets(t *testing.T) {
	patch := `diff --git a/keys.txt b/keys.txt
index 1..2 100644
--- a/keys.txt
+++ b/keys.txt
@@ -1,2 +1,3 @@
-old hunter2-canary
-and
+++ b/not-a-file
+the hunter2-canary
+last
\ No newline at end of file
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-hunter2-canary
diff --git "a/\303\244 b" "b/\303\244 b"
--- /dev/null
+++ "b/\303\244 b"
@@ -0,0 +1,2 @@
+hunter2-canary
+ghp_0123456789012345678901234567890123456789
`
	require.Equal(t, []string{"keys.txt (MY_SECRET)", "ä b (MY_SECRET)", "ä b (GitHub token)"}, addedSecrets(knowing(), patch))
	require.Empty(t, addedSecrets(knowing(), ""))
}

// FuzzAddedSecrets holds that no patch makes it fail, and that it tells no secret.
func FuzzAddedSecrets(f *testing.F) {
	f.Add("diff --git a/x b/x\n+++ b/x\n@@ -1 +1,9 @@\n+hunter2-canary\n")
	f.Add("@@ \n+++ \"\n@@ -0,0 +1,-5 @@ @@\n")
	r := knowing()
	f.Fuzz(func(t *testing.T, patch string) {
		for _, found := range addedSecrets(r, patch) {
			require.NotContains(t, found, canary)
		}
	})
}
