package git

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzWithoutLogin: whatever the name and the password are, neither is left in an address of the web.
func FuzzWithoutLogin(f *testing.F) {
	f.Add("ann", "secret")
	f.Add("token", "")
	f.Add("a@b", "p:q/r?s#t")
	f.Fuzz(func(t *testing.T, name, password string) {
		u := url.URL{Scheme: "https", User: url.UserPassword(name, password), Host: "example.com", Path: "/r.git"}
		require.Equal(t, "https://example.com/r.git", withoutLogin(u.String()))
		u.Scheme, u.User = "ssh", url.UserPassword("git", password)
		require.Equal(t, "ssh://git@example.com/r.git", withoutLogin(u.String()))
	})
}
