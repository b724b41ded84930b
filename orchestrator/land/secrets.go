package land

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/text"
)

const (
	maxScanned  = 8 << 20 // bytes of a difference that are looked through for secrets
	maxReported = 20      // findings that an event names
)

// secretsIn lists what looks secret in the lines that come between two commits, as
// "FILE (NAME)". Commits stay as they are: a person has to know. What cannot be looked
// through, or is too much, is reported too.
func (l *Lander) secretsIn(ctx context.Context, from, to git.Commit) (found []string) {
	if l.Redact == nil {
		return nil
	}
	out, err := l.Repo.Out(ctx, "diff-tree", "-r", "-p", "--unified=0", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--text", "--src-prefix=a/", "--dst-prefix=b/",
		"--end-of-options", string(from), string(to), "--")
	if err != nil {
		return []string{"not looked through for secrets: " + text.FirstLine(err.Error(), "git failed")}
	}
	cut := len(out) > maxScanned
	found = addedSecrets(l.Redact, out[:min(len(out), maxScanned)])
	if len(found) > maxReported {
		found = append(found[:maxReported], fmt.Sprintf("and %d more", len(found)-maxReported))
	}
	if cut {
		found = append(found, fmt.Sprintf("only the first %d MiB of the difference were looked through", maxScanned>>20))
	}
	return found
}

// addedSecrets looks through the added lines of a patch without context, a file at a time.
func addedSecrets(r *redact.Redactor, patch string) (found []string) {
	var file string
	var added []byte
	done := func() {
		for _, name := range r.Names(added) {
			found = append(found, fmt.Sprintf("%s (%s)", r.String(file), name))
		}
		added = added[:0]
	}
	left := 0 // lines of the hunk, which may look like anything
	for line := range strings.Lines(patch) {
		switch {
		case left > 0:
			left--
			if line[0] == '\\' {
				left++ // "No newline at end of file" is no line
			}
			if line[0] == '+' {
				added = append(added, line[1:]...)
			}
		case strings.HasPrefix(line, "diff --git "):
			done()
			file = ""
		case strings.HasPrefix(line, "+++ "):
			file = strings.TrimPrefix(unquotedPath(strings.TrimRight(line[4:], "\n\t")), "b/")
		case strings.HasPrefix(line, "@@ "):
			left = hunkLines(line)
		}
	}
	done()
	return found
}

// unquotedPath is a path as git prints it, which quotes one with unusual bytes.
func unquotedPath(path string) string {
	if plain, err := strconv.Unquote(path); err == nil {
		return plain
	}
	return path
}

// hunkLines is how many lines follow "@@ -1,2 +3 @@".
func hunkLines(head string) (n int) {
	fields := strings.Fields(head)
	for _, field := range fields[1:min(3, len(fields))] {
		count := 1
		if _, body, ok := strings.Cut(field, ","); ok {
			if c, err := strconv.Atoi(body); err == nil {
				count = c
			}
		}
		n += count
	}
	return n
}
