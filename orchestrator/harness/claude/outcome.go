package claude

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/stream"
)

const (
	// askedDelay is the least delay that the API asked for; shorter ones are the client's own back-offs.
	askedDelay = 10 * time.Second
)

var (
	// limitBanner is the whole result of a run that met the quota; some versions do not call it an error.
	limitBanner = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Claude(?: AI)? usage limit reached\|(\d{9,14})$`) })
)

// transcript is what a stream has said so far of how the run is going to end.
type transcript struct {
	now       func() time.Time
	ignored   int  // lines that were not understood
	spoke     bool // the agent answered at least once
	last      result
	results   int
	unsettled bool          // the agent worked on after the last result
	retry     *event        // the newest event, when it was that
	delay     time.Duration // of the newest retry, when nothing has worked since
	api       apiError      // of the newest error, when nothing has worked since
	apiText   string
	limit     limit
}

// continued records that there was another message.
func (s *transcript) continued() { s.retry, s.unsettled = nil, true }

// apiResponded records that the API answers.
func (s *transcript) apiResponded() { s.delay, s.api, s.apiText = 0, apiError{}, "" }

// addResult records a result.
func (s *transcript) addResult(e event) {
	s.last, s.retry, s.unsettled = e.Result, nil, false
	s.results++
	if e.status() != 0 {
		s.api = e.apiError
	}
}

// outcome is how the run ended; the last result counts, then the state in which the stream broke
// off, while the agent was doing something.
func (s *transcript) outcome(exitCode int, doing string) harness.Outcome {
	switch {
	case s.results == 0 || (s.unsettled && exitCode != 0):
		return s.incomplete(exitCode, doing)
	case s.last.IsError:
		return s.failed()
	case limitBanner().MatchString(strings.TrimSpace(s.last.Text)):
		return s.usageLimit(s.last.Text)
	}
	return harness.Outcome{Kind: harness.Ended, Detail: s.remarks()}
}

// remarks is what a person should know of a turn that ended well.
func (s *transcript) remarks() string {
	var remarks []string
	if n := len(s.last.Denials); n > 0 {
		var tools []string
		for _, d := range s.last.Denials {
			tools = append(tools, d.Tool)
		}
		slices.Sort(tools)
		remarks = append(remarks, fmt.Sprintf("%d tool calls were denied: %s", n, strings.Join(slices.Compact(tools), ", ")))
	}
	if s.last.Terminal == "stop_hook_prevented" {
		remarks = append(remarks, "the stop hook ended the turn")
	}
	return strings.Join(remarks, "; ")
}

// incomplete is the outcome of a stream without a last result.
func (s *transcript) incomplete(exitCode int, doing string) harness.Outcome {
	switch {
	case s.retry != nil:
		out := s.apiOutcome(s.retry.apiError, "")
		out.Detail = harness.DescribeExit(exitCode) + " while " + retryActivity(*s.retry)
		return out
	case s.limit.hit():
		return s.usageLimit("usage limit reached")
	case s.api != (apiError{}):
		return s.apiOutcome(s.api, s.apiText)
	case exitCode == 0 && s.spoke:
		return harness.Outcome{Kind: harness.Ended, Detail: "the client gave no result"}
	}
	detail := harness.DescribeExit(exitCode) + " without a result"
	if doing != "" {
		detail += ", last seen " + doing
	}
	if s.ignored > 0 {
		detail += fmt.Sprintf(", %d lines not understood", s.ignored)
	}
	return harness.Outcome{Kind: harness.Crashed, Detail: detail}
}

// failed is the outcome of a result that is an error.
func (s *transcript) failed() harness.Outcome {
	detail := cmp.Or(strings.Join(s.last.Errors, "; "), s.last.Text, s.last.Subtype)
	switch {
	case s.last.Subtype == "error_max_turns", s.last.Subtype == "error_max_budget_usd":
		return harness.Outcome{Kind: harness.Ended, Detail: detail}
	case s.last.Terminal == "prompt_too_long":
		return harness.Outcome{Kind: harness.ContextFull, Detail: detail}
	case strings.HasPrefix(s.last.Terminal, "aborted_"):
		return harness.Outcome{Kind: harness.Crashed, Detail: "interrupted (" + s.last.Terminal + ")"}
	case s.last.Terminal == "api_error", s.api.status() != 0, stream.QuotaSpent(s.last.Text), stream.NotLoggedIn(s.last.Text):
		return s.apiOutcome(s.api, s.last.Text)
	}
	return harness.Outcome{Kind: harness.Crashed, Detail: cmp.Or(detail, s.last.Terminal)}
}

// apiOutcome sorts an error of the API by who has to act on it.
func (s *transcript) apiOutcome(e apiError, text string) harness.Outcome {
	out := harness.Outcome{Detail: cmp.Or(text, e.Word, fmt.Sprintf("API error %d", e.status()))}
	if s.limit.hit() || stream.QuotaSpent(text) {
		return s.usageLimit(out.Detail)
	}
	out.Kind = apiKind(e, text)
	if (out.Kind == harness.RateLimited || out.Kind == harness.Unavailable) && s.delay >= askedDelay {
		out.RetryAfter = s.delay
	}
	return out
}

func apiKind(e apiError, text string) harness.Kind {
	switch e.Word {
	case "billing_error":
		return harness.UsageLimit
	case "authentication_failed":
		return harness.Auth
	case "rate_limit":
		return harness.RateLimited
	case "overloaded", "server_error":
		return harness.Unavailable
	}
	return stream.KindOf(e.status(), text)
}

// usageLimit has the reset time from the event or from the text, where one is there.
func (s *transcript) usageLimit(text string) harness.Outcome {
	out := harness.Outcome{Kind: harness.UsageLimit, Detail: text}
	reset := s.limit.ResetsAt
	if found := limitBanner().FindStringSubmatch(strings.TrimSpace(text)); found != nil {
		out.Detail = "usage limit reached"
		if at, err := strconv.ParseFloat(found[1], 64); err == nil {
			reset = at
		}
	}
	if s.now == nil || reset <= 0 {
		return out
	}
	if reset > 1e11 { // milliseconds, as some versions have it
		reset /= 1000
	}
	wait := time.Unix(int64(min(reset, 1e11)), 0).Sub(s.now())
	out.RetryAfter = max(0, min(wait, stream.LongestWait))
	return out
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(min(max(ms, 0), float64(stream.LongestWait.Milliseconds()))) * time.Millisecond
}
