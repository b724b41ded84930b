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

// NetworkHint is what to look at where output of a command that had no network but its own loopback reads as if it had looked for more; "" where
// it does not. It is a hint too.
func NetworkHint(output string) string {
	output = strings.ToLower(output)
	for _, words := range []string{"could not resolve", "couldn't resolve", "name resolution", "no such host", "enotfound", "eai_again", "getaddrinfo", "name or service not known",
		"network is unreachable", "enetunreach", "no route to host", "connection refused", "econnrefused", "failed to establish a new connection", "failed to connect", "couldn't connect", "could not connect", "failed to lookup address", "unable to connect"} {
		if strings.Contains(output, words) {
			return "the gate has no network but a loopback of its own: let workflow.setup fetch what it needs, or say sandbox.network.gate: open (orch config explain sandbox.network.gate)"
		}
	}
	return ""
}
