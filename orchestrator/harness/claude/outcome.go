package claude

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
)

const (
	// askedDelay tells a delay that the API asked for from the client's own first back-offs.
	askedDelay = 10 * time.Second
	// longestReset is longer than any window of a quota.
	longestReset = 32 * 24 * time.Hour
)

var (
	// limitBanner is the whole result of a run that met the quota; some versions do not call it an error.
	limitBanner = regexp.MustCompile(`^Claude(?: AI)? usage limit reached\|(\d{9,14})$`)
	// limitText is an error that speaks of the account's quota rather than of the pace.
	limitText = regexp.MustCompile(`(?i)usage limit|hit your (?:\w+ )?limit|\blimit reached|credit balance is too low|out of (?:extra )?usage`)
	loginText = regexp.MustCompile(`(?i)please run /login|invalid api key|not logged in|oauth token`)
	// networkText is an error without a status that a later try can cure.
	networkText = regexp.MustCompile(`(?i)connect|network|timed? ?out|socket|fetch failed|overloaded|unavailable|ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|\b5\d\d\b`)
)

// judge says how the run ended; the last result counts, then the state in which the stream broke off.
func (r *reader) judge(exitCode int) harness.Outcome {
	switch {
	case r.results == 0 || (r.unsettled && exitCode != 0):
		return r.brokenOff(exitCode)
	case r.last.IsError:
		return r.failed()
	case limitBanner.MatchString(strings.TrimSpace(r.last.Text)):
		return r.usageLimit(r.last.Text)
	}
	return harness.Outcome{Kind: harness.Ended, Detail: r.remarks()}
}

// remarks is what a person should know of a turn that ended well.
func (r *reader) remarks() string {
	var remarks []string
	if n := len(r.last.Denials); n > 0 {
		var tools []string
		for _, d := range r.last.Denials {
			tools = append(tools, d.Tool)
		}
		slices.Sort(tools)
		remarks = append(remarks, fmt.Sprintf("%d tool calls were denied: %s", n, strings.Join(slices.Compact(tools), ", ")))
	}
	if r.last.Terminal == "stop_hook_prevented" {
		remarks = append(remarks, "the stop hook ended the turn")
	}
	return strings.Join(remarks, "; ")
}

// brokenOff is a stream without a last result.
func (r *reader) brokenOff(exitCode int) harness.Outcome {
	switch {
	case r.retry != nil:
		out := r.apiOutcome(r.retry.apiError, "")
		out.Detail = harness.ExitWords(exitCode) + " while " + retryActivity(*r.retry)
		return out
	case r.limit.hit():
		return r.usageLimit("usage limit reached")
	case r.api != (apiError{}):
		return r.apiOutcome(r.api, r.apiText)
	case exitCode == 0 && r.spoke:
		return harness.Outcome{Kind: harness.Ended, Detail: "the client gave no result"}
	}
	detail := harness.ExitWords(exitCode) + " without a result"
	if activity := r.Activity(); activity != "" {
		detail += ", last seen " + activity
	}
	if r.ignored > 0 {
		detail += fmt.Sprintf(", %d lines not understood", r.ignored)
	}
	return harness.Outcome{Kind: harness.Crashed, Detail: detail}
}

// failed is a result that is an error.
func (r *reader) failed() harness.Outcome {
	detail := first(strings.Join(r.last.Errors, "; "), r.last.Text, r.last.Subtype)
	switch {
	case r.last.Subtype == "error_max_turns", r.last.Subtype == "error_max_budget_usd":
		return harness.Outcome{Kind: harness.Ended, Detail: detail}
	case strings.HasPrefix(r.last.Terminal, "aborted_"):
		return harness.Outcome{Kind: harness.Crashed, Detail: "interrupted (" + r.last.Terminal + ")"}
	case r.last.Terminal == "api_error", r.api.status() != 0, limitText.MatchString(r.last.Text), loginText.MatchString(r.last.Text):
		return r.apiOutcome(r.api, r.last.Text)
	}
	return harness.Outcome{Kind: harness.Crashed, Detail: first(detail, r.last.Terminal)}
}

// apiOutcome sorts an error of the API by who has to act on it.
func (r *reader) apiOutcome(e apiError, text string) harness.Outcome {
	out := harness.Outcome{Detail: first(text, e.Word, fmt.Sprintf("API error %d", e.status()))}
	if r.limit.hit() || limitText.MatchString(text) {
		return r.usageLimit(out.Detail)
	}
	out.Kind = apiKind(e, text)
	if (out.Kind == harness.RateLimited || out.Kind == harness.Unavailable) && r.delay >= askedDelay {
		out.RetryAfter = r.delay
	}
	return out
}

func apiKind(e apiError, text string) harness.Kind {
	status := e.status()
	switch {
	case status == 402 || e.Word == "billing_error":
		return harness.UsageLimit
	case status == 401 || status == 403 || e.Word == "authentication_failed" || loginText.MatchString(text):
		return harness.Auth
	case status == 429 || e.Word == "rate_limit":
		return harness.RateLimited
	case status >= 500 || status == 408 || e.Word == "overloaded" || e.Word == "server_error":
		return harness.Unavailable
	case status == 0 && (text == "" || networkText.MatchString(text)):
		return harness.Unavailable
	}
	return harness.Crashed
}

// usageLimit has the reset time from the event or from the text, where one is there.
func (r *reader) usageLimit(text string) harness.Outcome {
	out := harness.Outcome{Kind: harness.UsageLimit, Detail: text}
	reset := r.limit.ResetsAt
	if found := limitBanner.FindStringSubmatch(strings.TrimSpace(text)); found != nil {
		out.Detail = "usage limit reached"
		if at, err := strconv.ParseFloat(found[1], 64); err == nil {
			reset = at
		}
	}
	if r.now == nil || reset <= 0 {
		return out
	}
	if reset > 1e11 { // milliseconds, as some versions have it
		reset /= 1000
	}
	wait := time.Unix(int64(min(reset, 1e11)), 0).Sub(r.now())
	out.RetryAfter = max(0, min(wait, longestReset))
	return out
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(min(max(ms, 0), float64(longestReset.Milliseconds()))) * time.Millisecond
}
