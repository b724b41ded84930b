package land

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/beadsorch/orch/orchestrator/git"
)

// noName stands for an author without a name that git takes.
const noName = "unknown"

// rawDate is a date as git keeps it: seconds and an offset of hours and minutes.
var rawDate = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,12}) ([+-])([0-9]{2})([0-9]{2})$`) })

// authorOf is the environment that makes a commit the work of c's author. Anyone can write
// commits that git itself would not make: of such a one, what git accepts.
func authorOf(ctx context.Context, repo *git.Repo, c git.Commit) ([]string, error) {
	out, err := repo.Out(ctx, "log", "-1", "--no-show-signature", "--no-mailmap", "--date=raw", "--format=%an%x00%ae%x00%ad", "--end-of-options", string(c))
	if err != nil {
		return nil, err
	}
	name, rest, _ := strings.Cut(out, "\x00")
	email, date, _ := strings.Cut(rest, "\x00")
	return authorEnv(name, email, date), nil
}

// authorEnv is the environment for an author in a form that git accepts. A date that git cannot store
// is left to git, which uses the present; an offset that does not exist becomes UTC.
func authorEnv(name, email, date string) []string {
	env := []string{"GIT_AUTHOR_NAME=" + authorField(name, noName), "GIT_AUTHOR_EMAIL=" + authorField(email, "")}
	m := rawDate().FindStringSubmatch(date)
	if m == nil {
		return env
	}
	hours, hoursErr := strconv.Atoi(m[3])
	minutes, minutesErr := strconv.Atoi(m[4])
	offset := m[2] + m[3] + m[4]
	if hoursErr != nil || minutesErr != nil || hours > 14 || minutes > 59 {
		offset = "+0000"
	}
	return append(env, "GIT_AUTHOR_DATE=@"+m[1]+" "+offset)
}

// authorField is text without control characters and name delimiters; or otherwise, where git would
// find nothing in it (ident.c of git 2.39).
func authorField(text, otherwise string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '<' || r == '>' {
			return -1
		}
		return r
	}, text)
	if strings.Trim(text, " .,:;\"\\'") == "" {
		return otherwise
	}
	return text
}
