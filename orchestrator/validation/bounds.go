package validation

import "strings"

// BoundsHint is what to look at where output in a sandbox reads as if something were missing or refused there that is not outside; "" where
// it does not. It is a hint: the same words come up for other reasons.
func BoundsHint(output string) string {
	if hint := RefusalHint(output); hint != "" {
		return hint
	}
	for _, words := range []string{"No such file or directory", "Permission denied", "permission denied", "Read-only file system", "read-only file system",
		"Operation not permitted", "operation not permitted", "not found", "EACCES", "EROFS", "EPERM"} {
		if strings.Contains(output, words) {
			return "in a sandbox, what of the home and of other folders is not named looks absent: orch sandbox try -- COMMAND, orch config explain sandbox.read"
		}
	}
	return ""
}
