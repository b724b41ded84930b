package validation

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Refusal is a path that output says was refused.
type Refusal struct {
	// Path is the path, absolute.
	Path string
	// Says are the words that refused it.
	Says string
	// Setting is what may open it in a sandbox.
	Setting string
}

// String says it in a clause.
func (r Refusal) String() string {
	return r.Path + ": " + r.Says + " (" + r.Setting + " opens it, if the sandbox refused it)"
}

// refusing are the words of the system for what it refuses, with the setting that opens what a sandbox has closed.
func refusing() []Refusal {
	const read, write = "sandbox.read or sandbox.write", "sandbox.write"
	return []Refusal{
		{Says: "Read-only file system", Setting: write}, {Says: "EROFS", Setting: write},
		{Says: "Permission denied", Setting: read}, {Says: "EACCES", Setting: read},
		{Says: "Operation not permitted", Setting: write}, {Says: "EPERM", Setting: write},
	}
}

// anyRefusing finds one of these words.
var anyRefusing = sync.OnceValue(func() *regexp.Regexp {
	var words []string
	for _, r := range refusing() {
		words = append(words, strings.ToLower(r.Says))
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b`)
})

// named finds absolute paths, in quotes or without a blank.
var named = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'(/[^'\\]+)'|"(/[^"\\]+)"|(?:^|[\s(=:‘“])(/[^\s:'"\\,;()<>|’”]+)`)
})

// RefusalHint says in a clause which paths output says were refused, and what may open them in a sandbox; "" for none. It is a hint: see
// [Refusals].
func RefusalHint(output string, within ...string) string {
	all := Refusals(output, within...)
	var clauses []string
	for _, r := range all[:min(len(all), maxHinted)] {
		clauses = append(clauses, r.String())
	}
	return strings.Join(clauses, "; ")
}

const (
	maxHinted      = 2
	maxRefusals    = 5
	maxRefusedLine = 4 << 10 // a longer one is no message of a program
)

// Refusals are the paths that output names with words of the system that refuse them, the first few, each once; those in a folder of within
// are left out. The output may be of a client that prints JSON. The same words come up for other reasons than a sandbox.
func Refusals(output string, within ...string) (all []Refusal) {
	for line := range strings.Lines(strings.ReplaceAll(strings.ReplaceAll(output, `\n`, "\n"), `\"`, `"`)) {
		if len(line) > maxRefusedLine {
			continue
		}
		at := anyRefusing().FindStringIndex(line)
		if at == nil {
			continue
		}
		path := pathBeside(line[:at[0]], line[at[1]:])
		if path == "" || slices.ContainsFunc(within, func(dir string) bool { return dir != "" && (path == dir || strings.HasPrefix(path, dir+"/")) }) {
			continue
		}
		if slices.ContainsFunc(all, func(r Refusal) bool { return r.Path == path }) {
			continue
		}
		all = append(all, of(line[at[0]:at[1]], path))
		if len(all) == maxRefusals {
			return all
		}
	}
	return all
}

// of is the refusal of a path by one of the words.
func of(says, path string) Refusal {
	for _, r := range refusing() {
		if strings.EqualFold(r.Says, says) {
			r.Path = path
			if strings.HasSuffix(path, "/docker.sock") {
				r.Setting = "sandbox.docker"
			}
			return r
		}
	}
	return Refusal{Path: path, Says: says}
}

// pathBeside is the path that a message is about: the last before its words, else the first after them; "" for none.
func pathBeside(before, after string) string {
	if all := named().FindAllStringSubmatch(before, -1); len(all) > 0 {
		return group(all[len(all)-1])
	}
	if first := named().FindStringSubmatch(after); first != nil {
		return group(first)
	}
	return ""
}

// group is what one of the parentheses found.
func group(found []string) string {
	for _, g := range found[1:] {
		if g != "" {
			return strings.TrimRight(g, "./")
		}
	}
	return ""
}
