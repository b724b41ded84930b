package validation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
)

// maxFileBytes is the largest file that a rule reads.
const maxFileBytes = 64 << 20

// contentPattern passes when the text holds the pattern; with Absent, when none does.
func (r Rule) contentPattern(ctx context.Context, in Input) Check {
	re, err := regexp.Compile(r.Pattern)
	if err != nil {
		return errorCheck("%v", err)
	}
	switch r.target() {
	case TargetOutput:
		return r.found("the output", re.FindString(in.Output), re.MatchString(in.Output))
	case TargetProduct:
		return r.found("the work products", re.FindString(in.Products), re.MatchString(in.Products))
	}
	root, err := os.OpenRoot(in.Dir)
	if err != nil {
		return errorCheck("%v", err)
	}
	defer root.Close()
	names, err := r.files(root, in)
	if err != nil {
		return errorCheck("%v", err)
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return errorCheck("%v", context.Cause(ctx))
		}
		text, err := readFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // changed, and deleted
		}
		if err != nil {
			return errorCheck("%v", err)
		}
		if hit := re.FindIndex(text); hit != nil {
			return r.found(name, lineAt(text, hit[0]), true)
		}
	}
	return r.found(plural(len(names), "file"), "", false)
}

// found is the verdict of a rule that looks for something.
func (r Rule) found(where, what string, yes bool) Check {
	c := Check{Passed: yes != r.Absent, Output: lastLines([]byte(what))}
	if yes {
		c.Why = "found in " + where
	} else {
		c.Why = "not found in " + where
	}
	return c
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func lineAt(text []byte, i int) string {
	begin := bytes.LastIndexByte(text[:i], '\n') + 1
	line, _, _ := bytes.Cut(text[begin:], []byte("\n"))
	return fmt.Sprintf("%d: %s", bytes.Count(text[:begin], []byte("\n"))+1, line)
}

// files lists what a content_pattern looks into.
func (r Rule) files(root *os.Root, in Input) ([]string, error) {
	if r.Target == TargetDiff {
		return matchNames(r.Path, in.Files)
	}
	return findFiles(root, r.Path)
}

// matchNames is those names that match the glob; without one, all.
func matchNames(glob string, names []string) ([]string, error) {
	if glob == "" {
		return names, nil
	}
	re, err := compileGlob(glob)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !re.MatchString(name) }), nil
}

// findFiles lists the regular files that match the glob. It follows no links and looks into no .git.
func findFiles(root *os.Root, glob string) (names []string, err error) {
	re, err := compileGlob(glob)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root.FS(), globRoot(glob), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular() && re.MatchString(name):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// readFile reads a file that is to be trusted with nothing: it may be a link out of the
// directory, a pipe, or endless.
func readFile(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		return nil, fmt.Errorf("%s is over %d MiB", name, maxFileBytes>>20)
	}
	return text, err
}

// filesChanged passes when a changed file has such a name; with Absent, when none has.
func (r Rule) filesChanged(in Input) Check {
	hits, err := matchNames(r.Path, in.Files)
	if err != nil {
		return errorCheck("%v", err)
	}
	var list []byte
	for _, name := range hits {
		list = append(append(list, name...), '\n')
	}
	return r.found(plural(len(in.Files), "changed file"), string(list), len(hits) > 0)
}
