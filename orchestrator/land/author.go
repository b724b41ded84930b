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

// authorOf is the environment that makes a commit the work of c's author. Anybody can write
// commits that git itself would not make: of such a one, what git takes.
func authorOf(ctx context.Context, repo *git.Repo, c git.Commit) ([]string, error) {
	out, err := repo.Out(ctx, "log", "-1", "--no-show-signature", "--no-mailmap", "--date=raw", "--format=%an%x00%ae%x00%ad", "--end-of-options", string(c))
	if err != nil {
		return nil, err
	}
	name, rest, _ := strings.Cut(out, "\x00")
	email, date, _ := strings.Cut(rest, "\x00")
	return author(name, email, date), nil
}

// author is the environment for an author whom git takes. A date that git cannot keep is left to git,
// which takes the present one; an offset that there is none of is UTC.
func author(name, email, date string) []string {
	env := []string{"GIT_AUTHOR_NAME=" + oneWord(name, noName), "GIT_AUTHOR_EMAIL=" + oneWord(email, "")}
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

// oneWord is text without control characters and what delimits a name; or otherwise, where nothing
// of it counts for git (ident.c of git 2.39).
func oneWord(text, otherwise string) string {
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
