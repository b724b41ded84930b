// Package promise finds what the last words of an agent promise, and writes a promise.
//
// An agent ends its last message with a promise, like <promise>COMPLETE</promise>. It is a
// claim, to be held against the tracker, git and the gate; never more.
package promise

import (
	"regexp"
	"strings"
	"sync"
)

// Signal is what a promise asks for.
type Signal string

// The signals. When a message has several, BLOCKED counts before COMPLETE before ESCALATE
// before CHECKPOINT before CONTINUE.
const (
	// Continue asks for the next iteration.
	Continue Signal = "CONTINUE"
	// Complete says that the work is done.
	Complete Signal = "COMPLETE"
	// Blocked says that a person is needed before it can go on.
	Blocked Signal = "BLOCKED"
	// Escalate says that something is wrong which the agent cannot mend.
	Escalate Signal = "ESCALATE"
	// Checkpoint asks for a fresh session, since the context is full.
	Checkpoint Signal = "CHECKPOINT"
)

// loopComplete is the one marker that is not written as a promise.
const loopComplete = "<loop-complete>"

// Promise is one promise with its details.
type Promise struct {
	// Text is the promise's own words, like "LOOP_DONE".
	Text string
	// Signal is what they ask for.
	Signal Signal
	// Reason is what follows "Reason:", or the context's reason; it may be empty.
	Reason string
	// Summary is what follows "Summary:", or the context's summary; it may be empty.
	Summary string
	// Context is the <context> block; nil without one. It always has JSON.
	Context map[string]any
}

// maxMarkers is how many promises of a message are looked at, the last ones.
const maxMarkers = 50

// Find gives the strongest promise in an agent's own last message, the last one of them.
// Texts in extra count too, as Complete. What is in code, in quotes, or in an HTML comment
// is talk about promises and does not count.
func Find(message string, extra ...string) (Promise, bool) {
	return find(message, func(text string) (string, Signal) { return interpret(text, extra) })
}

// FindListed is [Find] where only the listed texts count; those that are not known without the list have the
// signal COMPLETE.
func FindListed(message string, listed []string) (Promise, bool) {
	return find(message, func(text string) (string, Signal) {
		for _, l := range listed {
			if strings.EqualFold(text, strings.Join(strings.Fields(l), " ")) {
				return interpret(text, listed)
			}
		}
		return text, ""
	})
}

// SignalOf is what a promise asks for by its own words; "" for words that are not known.
func SignalOf(text string) Signal {
	_, signal := interpret(text, nil)
	return signal
}

func find(message string, interpret func(text string) (string, Signal)) (Promise, bool) {
	found := marker().FindAllStringSubmatchIndex(blankCode(message), -1)
	found = found[max(0, len(found)-maxMarkers):]
	var (
		best Promise
		rest string
	)
	for i, at := range found {
		text := loopComplete
		if at[2] >= 0 {
			text = strings.Join(strings.Fields(message[at[2]:at[3]]), " ")
		}
		text, signal := interpret(text)
		if signal == "" || rank(signal) < rank(best.Signal) || isQuoted(message, at[0], at[1]) {
			continue
		}
		end := len(message)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		best, rest = Promise{Text: text, Signal: signal}, message[at[1]:end]
	}
	if best.Signal == "" {
		return Promise{}, false
	}
	best.addDetails(rest)
	return best, true
}

var marker = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<promise>([^<>\x00]{1,200})</promise>|<loop-complete\s*/?>`)
})

// knownSignal is the signal of a promise's text, in capitals; "" where it is not known.
func knownSignal(text string) Signal {
	switch text {
	case "LOOP_DONE", "COMPLETE", "ALL TASKS COMPLETE", "EPIC COMPLETE":
		return Complete
	case "LOOP_BLOCKED", "BLOCKED", "BLOCKED - NEEDS USER":
		return Blocked
	case "LOOP_ERROR", "ESCALATE":
		return Escalate
	case "CONTEXT LIMIT - CHECKPOINT":
		return Checkpoint
	case "LOOP_CONTINUE", "CONTINUE":
		return Continue
	}
	return ""
}

// interpret is what a promise's text asks for, "" for nothing, and the text as it is written
// usually. Capitals make no difference.
func interpret(text string, extra []string) (string, Signal) {
	if text == loopComplete {
		return text, Complete
	}
	if upper := strings.ToUpper(text); knownSignal(upper) != "" {
		return upper, knownSignal(upper)
	}
	for _, e := range extra {
		if e = strings.Join(strings.Fields(e), " "); e != "" && strings.EqualFold(text, e) {
			return e, Complete
		}
	}
	return text, ""
}

func rank(s Signal) int {
	switch s {
	case Continue:
		return 1
	case Checkpoint:
		return 2
	case Escalate:
		return 3
	case Complete:
		return 4
	case Blocked:
		return 5
	}
	return 0
}
