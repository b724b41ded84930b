package validation

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	errGlobPath  = errors.New("is not a relative path without . and .. in it")
	errGlobClass = errors.New("has a [ without its ]")
)

// CompileGlob makes a matcher of whole slash-separated paths, as the globs of rules are. It
// fails for a glob that can match nothing.
func CompileGlob(glob string) (*regexp.Regexp, error) { return compileGlob(glob) }

// compileGlob makes a matcher of whole slash-separated paths. It fails for a glob that can
// match nothing.
func compileGlob(glob string) (*regexp.Regexp, error) {
	if !fs.ValidPath(glob) || glob == "." {
		return nil, errGlobPath
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := glob; rest != ""; {
		piece, n := globPiece(rest)
		if n == 0 {
			return nil, errGlobClass
		}
		b.WriteString(piece)
		rest = rest[n:]
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, errors.New("is no glob: " + err.Error())
	}
	return re, nil
}

// globPiece translates the first n bytes of glob; n is 0 when they make no sense.
func globPiece(glob string) (regex string, n int) {
	switch {
	case strings.HasPrefix(glob, "**/"):
		return `(?:[^/]+/)*`, 3
	case strings.HasPrefix(glob, "**"):
		return `.*`, 2
	case glob[0] == '*':
		return `[^/]*`, 1
	case glob[0] == '?':
		return `[^/]`, 1
	case glob[0] == '[':
		return globClass(glob)
	}
	n = strings.IndexAny(glob, "*?[")
	if n < 0 {
		n = len(glob)
	}
	return regexp.QuoteMeta(glob[:n]), n
}

// globClass translates [abc], [a-z] and [!a-z].
func globClass(glob string) (regex string, n int) {
	end := strings.IndexByte(glob[1:], ']')
	if end < 1 {
		return "", 0
	}
	set, not := glob[1:1+end], ""
	if set[0] == '!' || set[0] == '^' {
		set, not = set[1:], "^/"
	}
	set = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`, `&`, `\&`, `~`, `\~`).Replace(set)
	if set == "" || strings.Contains(set, "/") {
		return "", 0
	}
	return "[" + not + set + "]", end + 2
}

// globRoot is the folder below which everything that glob can match is.
func globRoot(glob string) string {
	if i := strings.IndexAny(glob, "*?["); i >= 0 {
		glob = glob[:i] + "x"
	}
	return path.Dir(glob)
}
