package redact

import (
	"slices"
	"strings"
)

// minValue is how long a value has to be, in bytes, to be looked for: shorter ones occur in
// text that is none.
const minValue = 6

// secret is a value with the name that stands in its place.
type secret struct{ name, value string }

// secretsOf gathers the values, longest first, each once.
func secretsOf(opt Options) (out []secret) {
	add := func(name, value string) {
		value = strings.TrimSpace(value)
		if len(value) >= minValue {
			out = append(out, secret{markName(name), value})
		}
	}
	for _, e := range opt.Env {
		name, value, _ := strings.Cut(e, "=")
		named := slices.ContainsFunc(opt.Names, func(want string) bool { return matches(want, name) })
		if named || LooksSecret(name) && !isNoSecret(value, opt.Exists) {
			add(name, value)
		}
		if password := passwordOf(value); password != "" {
			add(name, password)
		}
	}
	for name, value := range opt.Values {
		add(name, value)
	}
	slices.SortFunc(out, func(a, b secret) int {
		if d := len(b.value) - len(a.value); d != 0 {
			return d
		}
		return strings.Compare(a.value+"\x00"+a.name, b.value+"\x00"+b.name)
	})
	return slices.CompactFunc(out, func(a, b secret) bool { return a.value == b.value })
}

func matches(want, name string) bool {
	prefix, open := strings.CutSuffix(want, "*")
	return name == want || open && strings.HasPrefix(name, prefix)
}

// markName makes a name fit for a mark.
func markName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && classes[byte(r)]&(url64|dotted) != 0 {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 64)]
}

// LooksSecret reports whether the name of a variable says that its value is secret: one of its
// words does, and the last one does not say that it is about a file or the like.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "GIT_CONFIG_KEY_") || name == "PWD" || name == "OLDPWD" || name == "ORCH_SECRETS" {
		return false
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) == 0 || slices.Contains(notSecret, words[len(words)-1]) {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(secretWords, w) || slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(w, end) })
	})
}

// secretWords are words of names, and secretEnds what longer ones end with.
var (
	secretWords = []string{"KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASS", "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "PWD", "PW", "AUTH", "AUTHORIZATION",
		"CRED", "CREDS", "CREDENTIAL", "CREDENTIALS", "PAT", "JWT", "BEARER", "COOKIE", "DSN", "SIGNATURE", "SALT", "PEPPER", "PRIVATE", "OTP", "WEBHOOK", "CONNSTR"}
	secretEnds = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "ACCESSKEY", "PRIVATEKEY", "SECRETKEY", "AUTHKEY", "CREDENTIALS", "CREDS"}
	notSecret  = []string{"FILE", "PATH", "DIR", "SOCK", "SOCKET", "HOST", "PORT", "METHOD", "TYPE", "ALG", "ALGORITHM", "PROGRAM", "COMMAND", "TTL", "TIMEOUT", "EXPIRY", "LENGTH", "LIMIT"}
)

// isNoSecret reports whether a value is of a kind that is never secret: a boolean, a number, a path.
func isNoSecret(value string, exists func(string) bool) bool {
	switch strings.ToLower(value) {
	case "true", "false", "enabled", "disabled", "default":
		return true
	}
	if strings.Trim(value, "0123456789.+-") == "" {
		return true
	}
	return exists != nil && strings.Contains(value, "/") && exists(value)
}

// passwordOf is the password of a value that is a URL; "" when it has none.
func passwordOf(value string) string {
	_, rest, found := strings.Cut(value, "://")
	if !found {
		return ""
	}
	if i := strings.IndexAny(rest, "/?# \n"); i >= 0 {
		rest = rest[:i]
	}
	i := strings.LastIndexByte(rest, '@')
	if i < 0 {
		return ""
	}
	_, password, _ := strings.Cut(rest[:i], ":")
	return password
}
