package git

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Twin is what a repository that stands for this one begins with: everyday git works in it as it does here. It names no program but
// filters and merge drivers, and no login.
type Twin struct {
	// Config is its configuration file.
	Config string
	// Attributes and Exclude are the files of those names in its info folder, with what the person has for all repositories.
	Attributes, Exclude []byte
	// Shallow is the list of commits whose parents are not here; nil where there is none.
	Shallow []byte
}

// Twin gives all settings as they were when the repository was opened.
func (r *Repo) Twin() Twin {
	files := r.private.from.files
	t := Twin{
		Attributes: slices.Concat(lines(files[globalAttributes]), lines(files["info/attributes"])),
		Exclude:    slices.Concat(lines(files[globalExcludes]), lines(files["info/exclude"])),
		Shallow:    files["shallow"],
	}
	var b strings.Builder
	b.WriteString(formatConfig(r.settings, false))
	for _, s := range r.settings {
		if twinKeeps(s) {
			writeSetting(&b, s)
		}
	}
	for _, fixed := range [][2]string{{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"core.editor", "true"}} {
		section, name, _ := strings.Cut(fixed[0], ".")
		writeSetting(&b, setting{section: section, name: name, value: fixed[1]})
	}
	t.Config = b.String()
	return t
}

// lines is text that ends with a line.
func lines(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return append(slices.Clone(text), '\n')
	}
	return text
}

// twinKeeps reports whether a setting is one of a twin too.
func twinKeeps(s setting) bool {
	switch s.section {
	case "remote":
		return slices.Contains([]string{"url", "fetch", "pushurl", "promisor", "partialclonefilter"}, s.name)
	case "branch":
		return s.sub != "" && slices.Contains([]string{"remote", "merge"}, s.name)
	case "alias":
		return s.sub == "" && plainAlias(s.value)
	case "pull", "push", "init", "status", "log":
		return s.sub == ""
	}
	return keepsSetting(s, false)
}

// plainAlias reports whether an alias is a command of git's with arguments: no program, no settings, in which there may be one, and no address, in which there
// may be a login.
func plainAlias(value string) bool {
	return value != "" && value[0] >= 'a' && value[0] <= 'z' && !strings.Contains(value, "://")
}

// writeSetting writes one setting as git reads it back.
func writeSetting(b *strings.Builder, s setting) {
	if !word().MatchString(s.name) || !word().MatchString(s.section) || strings.ContainsAny(s.sub, "\n\x00") {
		return
	}
	if s.section == "remote" && strings.HasSuffix(s.name, "url") {
		s.value = withoutLogin(s.value)
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	fmt.Fprintf(b, "[%s", s.section)
	if s.sub != "" {
		fmt.Fprintf(b, ` "%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.sub))
	}
	fmt.Fprintf(b, "]\n\t%s = \"%s\"\n", s.name, escape.Replace(s.value))
}

// withoutLogin is an address without the password, and for the web without the name, which may be a token.
func withoutLogin(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil && strings.Contains(address, "://"):
		return ""
	case err != nil || u.User == nil:
		return address
	case u.Scheme == "http" || u.Scheme == "https":
		u.User = nil
	default:
		u.User = url.User(u.User.Username())
	}
	return u.String()
}
