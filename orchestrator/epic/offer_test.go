package epic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// TestOfferTo: what bert's session would get, in each state in which an epic has something left.
func TestOfferTo(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.MaxParallel = 2
	three := started(t, limits, open("e.1"), open("e.2"), open("e.3"))
	inSession := func(s State, id TaskID, by SessionHolder) State {
		return after(t, s, Event{Fact: AttemptStarted{Turn: Turn{Base: "tip"}, InSession: true, Holder: by}, Task: id, Attempt: 1}, Event{Fact: AttemptHanded{}, Task: id, Attempt: 1})
	}
	ended := func(s State, code reason.Code) State {
		if code != "" {
			s = after(t, s, Event{Fact: DrainStarted{}, Code: code, Reason: "because"})
		}
		return after(t, s, Event{Fact: RunEnded{Promise: PromiseOf(s, noon).Promise}})
	}
	anyone := func(*Task) bool { return true }
	run, nobody := Asker{Held: true, Driven: true}, Asker{MaxParallel: 2}
	left := func(who Asker) Asker { who.Gone = anyone; return who }
	annas := inSession(three, "e.1", anna)
	berts := inSession(annas, "e.2", bert)
	full := inSession(annas, "e.2", anna)
	queued := after(t, berts, endOf("e.2", 1, AgentEnded{Changed: true, Head: "h"}))
	lost := after(t, idle(t, open("e.1")), startOf("e.1", 1), endOf("e.1", 1, AgentEnded{End: EndedCrash}))
	for name, row := range map[string]struct {
		s       State
		who     Asker
		inHand  int
		code    reason.Code
		why     string
		despite reason.Code
	}{
		"ready":                            {s: three, who: nobody},
		"ready, in a run":                  {s: three, who: run},
		"a place is free":                  {s: annas, who: nobody},
		"others have all places":           {s: full, who: nobody, code: reason.PlacesTaken, why: "1 ready, and all places are taken: 2 in the hands of session anna; max_parallel is 2"},
		"the same, in a run":               {s: full, who: run, code: reason.PlacesTaken, why: "1 ready, and all places are taken: 2 in the hands of session anna; max_parallel is 2"},
		"and more are allowed now":         {s: full, who: Asker{MaxParallel: 3}},
		"others, which are gone":           {s: full, who: left(nobody)},
		"a run's agents have them":         {s: after(t, annas, startOf("e.2", 1)), who: run, code: reason.PlacesTaken, why: "1 ready, and all places are taken: 1 in the hands of session anna, 1 in the hands of the run's agents; max_parallel is 2"},
		"the run was killed":               {s: after(t, annas, startOf("e.2", 1)), who: nobody},
		"it has one, and the places are":   {s: berts, who: nobody, inHand: 1, code: reason.PlacesTaken, why: "1 ready, and all places are taken: 2 in the hands of session anna, session bert; max_parallel is 2"},
		"its own waits to land":            {s: queued, who: run, inHand: 1},
		"the same, and no orch is there":   {s: queued, who: nobody, inHand: 1},
		"another's, and no orch is":        {s: after(t, full, endOf("e.2", 1, AgentEnded{Changed: true, Head: "h"})), who: nobody, inHand: 1},
		"paused":                           {s: after(t, annas, Event{Fact: RunPaused{}}), who: run, code: reason.Paused, why: "a person has paused the run"},
		"drained":                          {s: after(t, annas, Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked by orch stop"}), who: run, code: reason.Interrupted, why: "the run takes no more work: asked by orch stop"},
		"drained, and killed":              {s: after(t, annas, Event{Fact: DrainStarted{}, Code: reason.Interrupted, Reason: "asked by orch stop"}), who: nobody},
		"a run that was stopped":           {s: ended(annas, reason.Interrupted), who: nobody},
		"a run at a limit":                 {s: ended(annas, reason.RunIterations), who: nobody, code: reason.RunIterations, why: "because"},
		"a run whose agents crash":         {s: ended(three, reason.AgentCrashed), who: nobody, despite: reason.AgentCrashed},
		"the same, while it goes":          {s: after(t, three, Event{Fact: DrainStarted{}, Code: reason.AgentCrashed, Reason: "exit 1"}), who: run, code: reason.AgentCrashed, why: "exit 1"},
		"a run whose agents have no login": {s: ended(three, reason.AgentAuth), who: nobody, despite: reason.AgentAuth},
		"a run on a machine at fault":      {s: ended(three, reason.Machine), who: nobody, code: reason.Machine, why: "because"},
		"nothing ready":                    {s: inSession(idle(t, open("e.1"), open("e.2", "e.1")), "e.1", anna), who: nobody, code: reason.NothingReady, why: "nothing is ready: 1 in the hands of session anna"},
		"only a person":                    {s: after(t, idle(t, open("e.1")), Event{Fact: TaskParked{}, Task: "e.1", Code: reason.Question}), who: nobody, code: reason.NothingReady, why: "nothing is ready, and nothing that is under way will change that"},
		"all done":                         {s: idle(t), who: nobody, code: reason.NothingReady, why: "the epic has no tasks"},
		"tried again later":                {s: lost, who: nobody, code: reason.BackOff, why: "e.1 is tried again at " + lost.Task("e.1").NotBefore.Format(time.TimeOnly)},
		"claimed before orch has run": {s: FromTracker("e", []tracker.Issue{{ID: "e", Type: tracker.TypeEpic, Status: "open"}, {ID: "e.1", Title: "x", Type: "task", Status: "in_progress", Assignee: "bob",
			Dependencies: issue("e.1", "e").Dependencies}}, noon), who: nobody, inHand: 1, code: reason.NothingReady, why: "nothing is ready, and nothing that is under way will change that"},
	} {
		row.who.Is = bert.Same
		if row.who.Gone == nil {
			row.who.Gone = func(*Task) bool { return false }
		}
		o := OfferTo(row.s, row.who, noon)
		require.Equal(t, Offer{InHand: row.inHand, Code: row.code, Why: row.why, Despite: row.despite}, o, name)
		require.Equal(t, row.inHand == 0 && row.code != "" && row.code != reason.BackOff, o.Hopeless(), name)
	}
}
