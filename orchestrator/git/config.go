package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/command"
)

// setting is one line of a person's configuration.
type setting struct {
	section, sub, name string // section and name in lower case
	value              string
}

func (s setting) key() string {
	if s.sub == "" {
		return s.section + "." + s.name
	}
	return s.section + "." + s.sub + "." + s.name
}

// parseConfig reads what git config --null --list prints: "key LF value NUL" records, where a
// key alone is true.
func parseConfig(out string) (all []setting) {
	for entry := range strings.SplitSeq(out, "\x00") {
		key, value, valued := strings.Cut(entry, "\n")
		if !valued {
			value = "true"
		}
		first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
		if first <= 0 || last == len(key)-1 {
			continue
		}
		s := setting{section: strings.ToLower(key[:first]), name: strings.ToLower(key[last+1:]), value: value}
		if last > first {
			s.sub = key[first+1 : last]
		}
		all = append(all, s)
	}
	return all
}

// lastValue is the effective value of a key without a subsection.
func lastValue(all []setting, key string) string {
	value := ""
	for _, s := range all {
		if s.sub == "" && s.key() == key {
			value = s.value
		}
	}
	return value
}

// contentKeys are the settings that decide what is in a file, in a tree or in a commit, and
// how files are written. None of them names a program.
func contentKeys() map[string][]string {
	return map[string][]string{
		"core": {"autocrlf", "eol", "filemode", "symlinks", "ignorecase", "precomposeunicode", "protecthfs", "protectntfs",
			"trustctime", "checkstat", "bigfilethreshold", "compression", "loosecompression", "sharedrepository", "logallrefupdates",
			"createobject", "checkroundtripencoding", "longpaths", "preloadindex", "packedgitlimit", "packedgitwindowsize", "deltabasecachelimit"},
		"user": {"name", "email", "useconfigonly"}, "author": {"name", "email"}, "committer": {"name", "email"},
		"i18n":  {"commitencoding", "logoutputencoding"},
		"merge": {"conflictstyle", "renames", "renamelimit", "directoryrenames", "renormalize", "default"},
		"diff":  {"renames", "renamelimit", "algorithm"},
		"index": {"version", "threads"}, "checkout": {"workers", "thresholdforparallelism"},
	}
}

// driverKeys are the settings of drivers, which have a name of their own in the middle.
func driverKeys() map[string][]string {
	return map[string][]string{
		"filter": {"clean", "smudge", "process", "required"},
		"merge":  {"name", "driver", "recursive"},
		"diff":   {"binary"},
	}
}

// keepsSetting reports whether a setting stays in force. Where there are filters, what filters of
// large files ask git for stays too: where they get a missing file from, and with which login.
func keepsSetting(s setting, filters bool) bool {
	if s.sub == "" && slices.Contains(contentKeys()[s.section], s.name) || s.sub != "" && slices.Contains(driverKeys()[s.section], s.name) {
		return true
	}
	switch s.section {
	case "lfs", "http", "credential":
		return filters
	case "core":
		return filters && s.sub == "" && s.name == "sshcommand"
	case "url":
		return filters && (s.name == "insteadof" || s.name == "pushinsteadof")
	case "remote":
		return s.name == "promisor" || s.name == "partialclonefilter" || filters && slices.Contains([]string{"url", "pushurl", "lfsurl", "lfspushurl"}, s.name)
	}
	return false
}

// Driver is a program that orch's git may run, since the configuration named it when the
// repository was opened.
type Driver struct {
	// Name is the driver's name, as in .gitattributes: "lfs"; empty for a program that no attribute names.
	Name string
	// Key is the setting: "filter.lfs.smudge".
	Key string
	// Command is its value, a command line for a shell.
	Command string
}

// Drivers lists the programs that were kept, in the order of their keys: filters, merge drivers, and
// where there are filters the helpers that those may call. They come from the person's
// configuration and the repository's, as both were when the repository was opened. So what
// is written there later never runs; what was written in an earlier run, and nobody has
// removed, is in this list, and a person has to be asked about it.
func (r *Repo) Drivers() []Driver { return slices.Clone(r.drivers) }

// namesProgram reports whether a setting that is kept names a program.
func namesProgram(s setting) bool {
	switch s.section {
	case "filter":
		return s.name != "required"
	case "merge":
		return s.sub != "" && s.name == "driver"
	case "credential":
		return s.name == "helper"
	case "core":
		return s.name == "sshcommand"
	case "lfs":
		return s.sub != "" && slices.Contains([]string{"path", "clean", "smudge"}, s.name) || s.name == "standalonetransferagent"
	}
	return false
}

func driversOf(kept []setting) (all []Driver) {
	at := map[string]int{}
	for _, s := range kept {
		if !namesProgram(s) || strings.TrimSpace(s.value) == "" {
			continue
		}
		d := Driver{Key: s.key(), Command: s.value}
		if s.section == "filter" || s.section == "merge" {
			d.Name = s.sub
			if i, again := at[d.Key]; again { // the last one counts
				all[i] = d
				continue
			}
		}
		at[d.Key] = len(all)
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Driver) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// formatConfig is the configuration file of a private git directory: what git takes from a file only.
func formatConfig(all []setting, bare bool) string {
	var b strings.Builder
	promisor := false
	extension := map[string]string{}
	for _, s := range all {
		if s.section == "extensions" && s.sub == "" {
			extension[s.name] = s.value
		}
		promisor = promisor || s.section == "remote" && s.name == "promisor"
	}
	version := 0
	var lines string
	for _, name := range []string{"objectformat", "compatobjectformat", "partialclone"} {
		value := extension[name]
		if !word().MatchString(value) || name == "partialclone" && !promisor {
			continue
		}
		version = 1
		lines += fmt.Sprintf("\t%s = %s\n", name, value)
	}
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %d\n\tbare = %t\n", version, bare)
	if lines != "" {
		b.WriteString("[extensions]\n" + lines)
	}
	return b.String()
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_][-0-9A-Za-z_.]*$`) })

var sha256Format = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\s*(\[extensions\]\s*)?objectformat\s*=\s*"?sha256\b`)
})

// formatOf is the format for a repository whose configuration git must not read.
func formatOf(commonDir string) string {
	text, err := readRegular(filepath.Join(commonDir, "config"), maxList)
	if err == nil && sha256Format().Match(text) {
		return formatConfig([]setting{{section: "extensions", name: "objectformat", value: "sha256"}}, false)
	}
	return formatConfig(nil, false)
}

// maxList bounds a file that is a list, of patterns for example, in bytes.
const maxList = 16 << 20

// readConfig reads the configuration that is in force for a git directory, the person's own
// included. It fails as git does.
func (r *Repo) readConfig(ctx context.Context, gitDir string) ([]setting, error) {
	res, err := r.start(ctx, command.Cmd{Dir: r.commonDir, Env: r.openEnv}, "--git-dir="+gitDir, "config", "--null", "--list")
	return parseConfig(string(res.Stdout)), err
}

// freeze makes what every later git of orch runs with out of the configuration as it is now.
func (r *Repo) freeze(all []setting, bare bool) {
	filters := slices.ContainsFunc(all, func(s setting) bool { return s.section == "filter" && s.sub != "" && s.value != "" })
	var kept []setting
	for _, s := range all {
		if keepsSetting(s, filters) {
			kept = append(kept, s)
		}
	}
	r.drivers = driversOf(kept)
	r.partial = slices.ContainsFunc(kept, func(s setting) bool { return s.section == "remote" && s.name == "promisor" && isTrue(s.value) })
	from := source{gitDir: r.commonDir, commonDir: r.commonDir, format: formatConfig(all, bare), lfs: filters, scratch: r.Scratch, base: r.env, files: map[string][]byte{}}
	for _, s := range kept {
		from.pairs = append(from.pairs, [2]string{s.key(), s.value})
	}
	from.pairs = append(from.pairs, fixedSettings()...)
	for name, file := range map[string]string{
		"info/attributes": filepath.Join(r.commonDir, "info", "attributes"),
		"info/exclude":    filepath.Join(r.commonDir, "info", "exclude"),
		globalAttributes:  r.personal(lastValue(all, "core.attributesfile"), "attributes"),
		globalExcludes:    r.personal(lastValue(all, "core.excludesfile"), "ignore"),
	} {
		content, err := readBounded(file, maxList, 0) // a person's, who may keep it elsewhere by a link
		if err != nil {
			content = nil // git goes on without it too
		}
		from.files[name] = content
	}
	if shallow, err := readRegular(filepath.Join(r.commonDir, "shallow"), maxList); err == nil {
		from.files["shallow"] = onlyIDs(shallow)
	}
	r.private = &privateDir{from: from}
}

// onlyIDs are the lines that are ids of objects.
func onlyIDs(text []byte) (ids []byte) {
	for line := range bytes.Lines(text) {
		if objectID().Match(bytes.TrimSuffix(line, []byte("\n"))) {
			ids = append(ids, line...)
		}
	}
	return ids
}

// personal is the file that a setting names, or where the person's own one is without it.
func (r *Repo) personal(value, byDefault string) string {
	home := getenv(r.env, "HOME")
	switch below, inHome := strings.CutPrefix(value, "~/"); {
	case inHome:
		return filepath.Join(home, below)
	case value != "" && !filepath.IsAbs(value):
		return filepath.Join(r.workTree, value)
	case value != "":
		return value
	}
	if xdg := getenv(r.env, "XDG_CONFIG_HOME"); xdg != "" {
		return filepath.Join(xdg, "git/"+byDefault)
	}
	return filepath.Join(home, ".config/git/"+byDefault)
}

func getenv(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// At is the same repository with the HEAD, and with the sparse checkout, of one work tree, as
// they are now. The caller closes it. It fails as git does.
func (r *Repo) At(ctx context.Context, c Checkout) (*Repo, error) {
	from := r.private.from
	from.gitDir = c.GitDir
	patterns, err := readRegular(filepath.Join(c.GitDir, "info", "sparse-checkout"), maxList)
	if err == nil {
		all, err := r.readConfig(ctx, c.GitDir)
		if err != nil {
			return nil, fmt.Errorf("reading the settings of %s: %w", c.Path, err)
		}
		from.files = withFile(from.files, path.Join("info", "sparse-checkout"), patterns)
		from.pairs = slices.Clone(from.pairs)
		for _, key := range []string{"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse"} {
			if value := lastValue(all, key); value != "" {
				from.pairs = append(from.pairs, [2]string{key, value})
			}
		}
	}
	at := *r
	at.private = &privateDir{from: from}
	return &at, nil
}

func withFile(files map[string][]byte, name string, content []byte) map[string][]byte {
	out := map[string][]byte{name: content}
	for n, c := range files {
		out[n] = c
	}
	return out
}

// configure reads the settings that orch itself depends on, and keeps those of the person.
func (r *Repo) configure(ctx context.Context, top string) error {
	all, err := r.readConfig(ctx, r.commonDir)
	if err != nil {
		return err
	}
	if lastValue(all, "extensions.refstorage") == "reftable" {
		return &UnsupportedError{Reason: "this repository keeps its references in a reftable",
			Fix: "git refs migrate --ref-format=files"}
	}
	bare := isTrue(lastValue(all, "core.bare"))
	r.workTree = mainWorkTree(r.commonDir, top, lastValue(all, "core.worktree"), bare)
	r.env = append(r.env, identityEnv(all)...)
	r.settings = all
	r.freeze(all, bare)
	return nil
}

// isTrue reads a boolean as git does.
func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// Person is who commits here, as the settings say; "" where they do not.
func (r *Repo) Person() (name, email string) {
	return lastValue(r.settings, "user.name"), lastValue(r.settings, "user.email")
}

// identityEnv is the environment that fills in the committer's identity where the user has none set.
func identityEnv(all []setting) (env []string) {
	for _, role := range []string{"author", "committer"} {
		for _, what := range []string{"name", "email"} {
			if lastValue(all, "user."+what) != "" || lastValue(all, role+"."+what) != "" {
				continue
			}
			value := map[string]string{"name": "orch", "email": "orch@localhost"}[what]
			env = append(env, "GIT_"+strings.ToUpper(role+"_"+what)+"="+value)
		}
	}
	return env
}

var errNoWorkTree = errors.New("in no work tree of the repository")
