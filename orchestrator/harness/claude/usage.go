package claude

import "github.com/beadsorch/orch/orchestrator/harness"

// mostUSD bounds a sum that a stream of nonsense would make infinite.
const mostUSD = 1e6

// tally adds up what was consumed. A result has the sums of its conversation so far; a process
// may have several conversations, one after the other (/clear). Before the first result, and
// when none comes, the messages are counted, which is too little.
type tally struct {
	before  harness.Usage // conversations that are over
	current harness.Usage // the conversation of the newest result
	session string
	turns   int
	plain   harness.Usage // sum of the results' own usage, for a client without modelUsage

	pending   harness.Usage // messages since the last result
	lastAdded string        // id of the newest message in it
}

func (t *tally) addMessage(m message) {
	if m.ID != "" && m.ID == t.lastAdded {
		return
	}
	t.lastAdded = m.ID
	t.pending.InputTokens += m.Usage.input()
	t.pending.OutputTokens += m.Usage.Output
	t.pending.Turns++
}

func (t *tally) addResult(session string, r result) {
	if session != t.session {
		t.before = addUsage(t.before, t.current)
		t.plain, t.session = harness.Usage{}, session
	}
	t.plain.InputTokens += r.Usage.input()
	t.plain.OutputTokens += r.Usage.Output
	t.current = harness.Usage{CostUSD: max(0, min(r.CostUSD, mostUSD))}
	for _, m := range r.Models {
		t.current.InputTokens += m.Input + m.CacheMade + m.CacheRead
		t.current.OutputTokens += m.Output
	}
	t.current.InputTokens = max(t.current.InputTokens, t.plain.InputTokens)
	t.current.OutputTokens = max(t.current.OutputTokens, t.plain.OutputTokens)
	t.turns += r.Turns
	t.pending, t.lastAdded = harness.Usage{}, ""
}

func (t *tally) total() harness.Usage {
	total := addUsage(addUsage(t.before, t.current), t.pending)
	total.Turns = t.turns + t.pending.Turns
	return total
}

func addUsage(a, b harness.Usage) harness.Usage {
	return harness.Usage{
		InputTokens:  a.InputTokens + b.InputTokens,
		OutputTokens: a.OutputTokens + b.OutputTokens,
		CostUSD:      a.CostUSD + b.CostUSD,
	}
}
