package validation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/validation"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const readOrWrite = "sandbox.read or sandbox.write"
	for output, want := range map[string][]validation.Refusal{
		"touch: cannot touch '/home/ann/a b': Read-only file system\n":                                      {{Path: "/home/ann/a b", Says: "Read-only file system", Setting: "sandbox.write"}},
		"sh: 1: cannot create /home/ann/x: Permission denied":                                               {{Path: "/home/ann/x", Says: "Permission denied", Setting: readOrWrite}},
		"open /data/x: read-only file system":                                                               {{Path: "/data/x", Says: "Read-only file system", Setting: "sandbox.write"}},
		"Error: EACCES: permission denied, open '/home/ann/.npm/x'":                                         {{Path: "/home/ann/.npm/x", Says: "EACCES", Setting: readOrWrite}},
		"PermissionError: [Errno 1] Operation not permitted: '/x/y'":                                        {{Path: "/x/y", Says: "Operation not permitted", Setting: "sandbox.write"}},
		"dial unix /var/run/docker.sock: connect: permission denied":                                        {{Path: "/var/run/docker.sock", Says: "Permission denied", Setting: "sandbox.docker"}},
		`{"type":"user","content":"ls\ncat: /srv/secret: Permission denied\nmore","x":"cd \"/elsewhere\""}`: {{Path: "/srv/secret", Says: "Permission denied", Setting: readOrWrite}},
		"cat: /w/tree/file: Permission denied\ncat: /w/trees: Permission denied":                            {{Path: "/w/trees", Says: "Permission denied", Setting: readOrWrite}},
		"rm: /a: EPERM\nrm: /a: EPERM":                                                                      {{Path: "/a", Says: "EPERM", Setting: "sandbox.write"}},
		"permission denied":                                                                                 nil,
		"--- FAIL: TestPermissionDenied: got /x, want /y":                                                   nil,
		"remote: Permission denied to somebody.\nhttps://example.com/x":                                     nil,
		strings.Repeat("x", 5000) + " /home/x: Permission denied":                                           nil,
		"/a: EPERM\n/b: EPERM\n/c: EPERM\n/d: EPERM\n/e: EPERM\n/f: EPERM\n/g: EPERM\n": {
			{"/a", "EPERM", "sandbox.write"}, {"/b", "EPERM", "sandbox.write"}, {"/c", "EPERM", "sandbox.write"}, {"/d", "EPERM", "sandbox.write"}, {"/e", "EPERM", "sandbox.write"},
		},
	} {
		require.Equal(t, want, validation.Refusals(output, "/w/tree", ""), output)
	}
	require.Equal(t, "/x: EPERM (sandbox.write opens it, if the sandbox refused it)", validation.Refusals("rm /x: EPERM")[0].String())
}

func FuzzRefusals(f *testing.F) {
	f.Add("touch: cannot touch '/home/ann/x': Read-only file system\n")
	f.Add(`{"content":"open \"/a\": EPERM\n\"/b\\"}`)
	f.Fuzz(func(t *testing.T, output string) {
		all := validation.Refusals(output, "/w")
		if len(all) > 5 {
			t.Fatal(len(all))
		}
		for _, r := range all {
			if !strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "/w/") || strings.ContainsAny(r.Path, "\n\\") || r.Says == "" || r.Setting == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}
