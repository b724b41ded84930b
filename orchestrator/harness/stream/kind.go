package stream

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
)

// LongestWait is longer than any window of a quota.
const LongestWait = 32 * 24 * time.Hour

var (
	// quotaText is an error that speaks of the account's quota rather than of the pace.
	quotaText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)usage limit|hit your (?:\w+ )?limit|\blimit reached|credit balance is too low|out of (?:extra )?(?:usage|credits)|insufficient_quota|daily quota|quota exhausted|premium requests`)
	})
	loginText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)please run /login|invalid api key|api key not valid|not logged in|oauth token|authentication failed|invalid auth method|no authentication information`)
	})
	// fullText is an error that says that the conversation is too long.
	fullText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)prompt is too long|context[ _](?:window|length)|maximum context|input is too long|exceeds the (?:context|maximum number of tokens)`)
	})
	// networkText is an error without a status that a later try can cure.
	networkText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)connect|network|timed? ?out|socket|fetch failed|overloaded|unavailable|high demand|stream disconnected|ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|\b5\d\d\b`)
	})
	statusText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bstatus:? +"?([45]\d\d)\b|"code": *"?([45]\d\d)\b|\bHTTP ([45]\d\d)\b`)
	})
	waitText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:try again|retry|retry-after|resets?|reset after)(?: in| after|:)? *((?:[\d.]+ *(?:days?|hours?|minutes?|mins?|seconds?|secs?|ms|[dhms])\b[, ]*(?:and )?)+)`)
	})
	unitText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)([\d.]+) *([a-z]+)`) })
)

// QuotaSpent reports whether an error's text speaks of the account's quota rather than of
// the pace.
func QuotaSpent(text string) bool { return quotaText().MatchString(text) }

// NotLoggedIn reports whether an error's text asks a person to log in.
func NotLoggedIn(text string) bool { return loginText().MatchString(text) }

// KindOf sorts an error of the API by who has to act on it. status is HTTP's; with 0 it is
// looked for in the text.
func KindOf(status int, text string) harness.Kind {
	if status == 0 {
		status = statusIn(text)
	}
	switch {
	case (status == 0 || status == 400 || status == 413) && fullText().MatchString(text):
		return harness.ContextFull
	case status == 402 || QuotaSpent(text):
		return harness.UsageLimit
	case status == 401 || status == 403 || NotLoggedIn(text):
		return harness.Auth
	case status == 429:
		return harness.RateLimited
	case status >= 500 || status == 408:
		return harness.Unavailable
	case status == 0 && (text == "" || networkText().MatchString(text)):
		return harness.Unavailable
	}
	return harness.Crashed
}

// statusIn is the HTTP status that an error's text names; 0 for none.
func statusIn(text string) int {
	found := statusText().FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(cmp.Or(found[1:]...))
	if err != nil {
		return 0
	}
	return n
}

// WaitIn is how long an error's text asks to be left alone, such as "try again in 1.2s" or
// "try again in 2 days 3 hours"; 0 where it does not say.
func WaitIn(text string) (wait time.Duration) {
	found := waitText().FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}
	for _, part := range unitText().FindAllStringSubmatch(found[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			continue
		}
		unit := units[strings.ToLower(part[2][:1])]
		if strings.EqualFold(part[2], "ms") {
			unit = time.Millisecond
		}
		wait += time.Duration(min(n*float64(unit), float64(LongestWait)))
	}
	return min(wait, LongestWait)
}
