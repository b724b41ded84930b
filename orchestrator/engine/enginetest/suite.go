// Package enginetest holds what every engine has to do: a suite that the engine's own test runs.
package enginetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/git/gittest"
	"github.com/beadsorch/orch/orchestrator/iteration"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/templates"
)

// Subject is an engine that is tested, with a repository of its own.
type Subject struct {
	// World is the repository that the engine's work comes to.
	World gittest.World
	// Open makes an engine for the epic "e"; hooks may be nil. It may be called again, as after a crash.
	Open func(t testing.TB, hooks engine.Hooks) orchestrator.Engine
	// Script is an agent's client that runs a shell script in its worktree, and says what that prints.
	Script func(script string) engine.Client
}

// suite is a Subject in one test.
type suite struct {
	Subject
	base epic.Commit
}

// Run checks an engine against all that the orchestrator relies on. Each test gets a Subject of its own.
func Run(t *testing.T, open func(t testing.TB) Subject) {
	for name, test := range map[string]func(suite, *testing.T){
		"a turn":            suite.turn,
		"the next turn":     suite.nextTurn,
		"an interrupt":      suite.interrupt,
		"a time limit":      suite.timeLimit,
		"a crash":           suite.crash,
		"no start":          suite.noStart,
		"a hand-over":       suite.handOver,
		"rules and hooks":   suite.rulesAndHooks,
		"too many files":    suite.tooManyFiles,
		"after a crash":     suite.afterCrash,
		"a second attempt":  suite.secondAttempt,
		"tasks at a time":   suite.together,
		"nothing is there":  suite.nothing,
		"discarded for all": suite.discard,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := suite{Subject: open(t)}
			s.base = s.World.Commit("README", "a repository\n")
			test(s, t)
		})
	}
}

// job is turn n of the first attempt at a task.
func (s suite) job(task epic.TaskID, turn int, script string) engine.Job {
	return engine.Job{
		AttemptID: engine.AttemptID{Epic: "e", Task: task, Number: 1}, Turn: turn, Base: s.base, Client: s.Script(script), Actor: "orch/e",
		Brief:        templates.BriefData{Epic: "e", Task: string(task), Title: "a title", Attempt: 1, Iteration: turn, Base: string(s.base)},
		Conversation: engine.Conversation{ID: "11111111-2222-4333-8444-555555555555"},
		Limits:       engine.Limits{Time: time.Minute, NoProgress: time.Minute},
	}
}

// run has a job done that went through JSON, and gives its work back through JSON.
func run(t *testing.T, ctx context.Context, e orchestrator.Engine, j engine.Job, progress func(engine.Progress)) (engine.Work, error) {
	t.Helper()
	if progress == nil {
		progress = func(engine.Progress) {}
	}
	w, err := e.Run(ctx, through(t, j), progress)
	return through(t, w), err
}

// through is a value that was JSON meanwhile, and is the same.
func through[T any](t *testing.T, v T) (again T) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, v, again)
	return again
}

const commits = `echo one > one; git add one; git commit -qm one; `

func (s suite) turn(t *testing.T) {
	e := s.Open(t, nil)
	var stages []engine.Stage
	returned := false
	j := s.job("e.1", 1, commits+`test -s "$ORCH_BRIEF" && test "$ORCH_TASK/$ORCH_ATTEMPT/$ORCH_ITERATION/$BD_ACTOR" = e.1/1/1/orch/e && echo two > two; echo "<promise>COMPLETE</promise>"`)
	w, err := run(t, t.Context(), e, j, func(p engine.Progress) {
		require.False(t, returned, "progress after Run has returned")
		if n := len(stages); n == 0 || stages[n-1] != p.Stage {
			stages = append(stages, p.Stage)
		}
		if p.Stage == engine.Exited {
			require.Equal(t, epic.EndedItself, p.End)
		}
	})
	returned = true
	require.NoError(t, err)
	require.Equal(t, []engine.Stage{engine.Working, engine.Exited}, stages)
	require.Equal(t, epic.EndedItself, w.End)
	require.Contains(t, w.Said, "<promise>COMPLETE</promise>", "its message is reported as it is")
	require.True(t, w.Changed)
	require.True(t, w.Salvaged, "what it left uncommitted is committed")
	require.Equal(t, []string{"one", "two"}, w.Files)
	require.Equal(t, 2, w.Added)
	require.Equal(t, s.base, w.Base)
	require.Equal(t, "one\ntwo", s.World.Git("diff", "--name-only", string(s.base), string(w.Head)), "the work is in the repository")
	require.True(t, e.Has(t.Context(), j.AttemptID))
}

func (s suite) nextTurn(t *testing.T) {
	e := s.Open(t, nil)
	first, err := run(t, t.Context(), e, s.job("e.1", 1, commits+`echo "<promise>CONTINUE</promise>"`), nil)
	require.NoError(t, err)
	require.Contains(t, first.Said, "<promise>CONTINUE</promise>")
	second, err := run(t, t.Context(), e, s.job("e.1", 2, `test -f one && test $ORCH_ITERATION = 2 && echo two > two && git add two && git commit -qm two`), nil)
	require.NoError(t, err)
	require.Equal(t, epic.EndedItself, second.End)
	require.Equal(t, []string{"one", "two"}, second.Files, "of the whole attempt")
	s.World.Git("merge-base", "--is-ancestor", string(first.Head), string(second.Head))
}

func (s suite) interrupt(t *testing.T) {
	e := s.Open(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	go func() { // the agent says when it is at work
		for !s.ready(t) {
			time.Sleep(10 * time.Millisecond)
		}
		stop()
	}()
	w, err := run(t, ctx, e, s.job("e.1", 1, `echo half > half; git update-ref refs/heads/ready HEAD; sleep 600`), nil)
	require.NoError(t, err)
	require.Equal(t, epic.EndedStopped, w.End)
	require.Equal(t, []string{"half"}, w.Files, "its work is kept all the same")
	require.Equal(t, "half", s.World.Git("show", string(w.Head)+":half"))
}

// ready reports whether the agent has reported that it is ready.
func (s suite) ready(t *testing.T) bool {
	_, err := s.World.Try("rev-parse", "--verify", "-q", "refs/heads/ready")
	return err == nil || t.Context().Err() != nil
}

func (s suite) timeLimit(t *testing.T) {
	j := s.job("e.1", 1, `sleep 600`)
	j.Limits.Time = 50 * time.Millisecond
	w, err := run(t, t.Context(), s.Open(t, nil), j, nil)
	require.NoError(t, err)
	require.Equal(t, epic.EndedTime, w.End)
	require.NotEmpty(t, w.Reason)
}

func (s suite) crash(t *testing.T) {
	w, err := run(t, t.Context(), s.Open(t, nil), s.job("e.1", 1, commits+`echo "out of luck" >&2; exit 3`), nil)
	require.NoError(t, err)
	require.Equal(t, epic.EndedCrash, w.End)
	require.Contains(t, w.Reason, "out of luck")
	require.Equal(t, []string{"one"}, w.Files)
}

func (s suite) noStart(t *testing.T) {
	e := s.Open(t, nil)
	j := s.job("e.1", 1, "true")
	j.Base = "1111111111111111111111111111111111111111"
	w, err := run(t, t.Context(), e, j, nil)
	require.Error(t, err)
	require.NotEmpty(t, w.End, "the work says how it ended, also when there is an error")
	require.NotEqual(t, epic.EndedItself, w.End)
	require.NotEmpty(t, w.Reason)
}

func (s suite) handOver(t *testing.T) {
	e := s.Open(t, nil)
	j := s.job("e.1", 1, "false")
	j.HandOver = true
	w, err := run(t, t.Context(), e, j, func(engine.Progress) { require.Fail(t, "nothing runs") })
	require.NoError(t, err)
	require.Equal(t, engine.Work{HandOver: true}, w)
	require.True(t, e.Has(t.Context(), j.AttemptID))
	left, err := e.Collect(t.Context(), j)
	require.NoError(t, err)
	require.False(t, left.Changed)
	require.NotEmpty(t, left.Text, "the engine reports that there is nothing")
}

// hooks is an engine.Hooks that is one answer.
type hooks iteration.Hook

// Evaluate implements engine.Hooks.
func (h hooks) Evaluate(_ context.Context, t engine.Turn) (iteration.Hook, error) {
	h.Reason += " after turn " + string(rune('0'+t.Number)) + " of " + string(t.Task)
	return iteration.Hook(h), nil
}

func (s suite) rulesAndHooks(t *testing.T) {
	j := s.job("e.1", 1, commits+`echo "<promise>COMPLETE</promise>"`)
	e := s.Open(t, hooks{ID: "h", Action: "escalate", Reason: "look"})
	w, err := run(t, t.Context(), e, j, nil)
	require.NoError(t, err)
	require.Equal(t, iteration.Hook{ID: "h", Action: "escalate", Reason: "look after turn 1 of e.1"}, w.Hook)
	require.Contains(t, w.Said, "<promise>COMPLETE</promise>")
	require.Nil(t, w.Verdict, "it has no rules")

	j.Turn, j.Rules = 2, []validation.Rule{{Name: "never", Type: validation.Command, Command: "echo this is missing; false"}}
	w, err = run(t, t.Context(), s.Open(t, nil), j, nil)
	require.NoError(t, err)
	require.NotNil(t, w.Verdict)
	require.False(t, w.Verdict.Passed)
	require.Contains(t, w.Verdict.Feedback(), "this is missing")

	// Rules and hooks are asked whatever the agent promises: what counts more is not decided here.
	j = s.job("e.1", 3, `echo "<promise>BLOCKED</promise>"`)
	j.Rules = []validation.Rule{{Name: "never", Type: validation.Command, Command: "false"}}
	w, err = run(t, t.Context(), e, j, nil)
	require.NoError(t, err)
	require.NotNil(t, w.Verdict)
	require.Equal(t, "escalate", w.Hook.Action)
}

func (s suite) tooManyFiles(t *testing.T) {
	j := s.job("e.1", 1, `touch a b c; git add .; git commit -qm many`)
	j.Limits.Files = 2
	w, err := run(t, t.Context(), s.Open(t, nil), j, nil)
	require.NoError(t, err)
	require.Contains(t, w.TooLarge, "3 files")
	require.NotEmpty(t, w.Head, "it is kept")
}

// afterCrash: an engine that is opened anew knows the attempts of the one before, and has lost
// nothing of their work.
func (s suite) afterCrash(t *testing.T) {
	j := s.job("e.1", 1, `echo half > half`)
	j.HandOver = true
	_, err := run(t, t.Context(), s.Open(t, nil), j, nil)
	require.NoError(t, err)
	e := s.Open(t, nil)
	require.True(t, e.Has(t.Context(), j.AttemptID))
	_, err = e.Attach(t.Context(), j.AttemptID, func(engine.Progress) {})
	require.ErrorIs(t, err, engine.ErrGone, "no turn runs")
	j.Abandon = true
	w, err := e.Collect(t.Context(), j)
	require.NoError(t, err)
	again, err := e.Collect(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, w.Head, again.Head, "looking twice changes nothing")
}

func (s suite) secondAttempt(t *testing.T) {
	e := s.Open(t, nil)
	first, err := run(t, t.Context(), e, s.job("e.1", 1, commits+"exit 1"), nil)
	require.NoError(t, err)
	j := s.job("e.1", 1, `test ! -e one && echo other > other`)
	j.Number, j.Earlier, j.Previous = 2, []engine.Earlier{{Number: 1, Head: first.Head}}, 1
	w, err := run(t, t.Context(), e, j, nil)
	require.NoError(t, err)
	require.Equal(t, epic.EndedItself, w.End)
	require.Equal(t, []string{"other"}, w.Files, "it begins from the base")
	require.NotEmpty(t, s.World.Git("for-each-ref", "--contains", string(first.Head)), "the first one's work is kept")
}

func (s suite) together(t *testing.T) {
	e := s.Open(t, nil)
	type answer struct {
		w   engine.Work
		err error
	}
	answers := make(chan answer)
	const tasks = 4
	for n := range tasks {
		go func() {
			w, err := e.Run(t.Context(), s.job(epic.TaskID("e."+string(rune('1'+n))), 1, commits), func(engine.Progress) {})
			answers <- answer{w, err}
		}()
	}
	for range tasks {
		a := <-answers
		require.NoError(t, a.err)
		require.Equal(t, []string{"one"}, a.w.Files)
	}
}

func (s suite) nothing(t *testing.T) {
	e := s.Open(t, nil)
	id := engine.AttemptID{Epic: "e", Task: "e.9", Number: 1}
	require.False(t, e.Has(t.Context(), id))
	_, err := e.Attach(t.Context(), id, func(engine.Progress) {})
	require.ErrorIs(t, err, engine.ErrGone)
	require.NoError(t, e.Discard(t.Context(), id, ""))
}

func (s suite) discard(t *testing.T) {
	e := s.Open(t, nil)
	j := s.job("e.1", 1, commits)
	w, err := run(t, t.Context(), e, j, nil)
	require.NoError(t, err)
	require.NoError(t, e.Discard(t.Context(), j.AttemptID, w.Head))
	require.False(t, e.Has(t.Context(), j.AttemptID))
	require.NotEmpty(t, s.World.Git("for-each-ref", "--contains", string(w.Head)), "its work is reachable")
	require.NoError(t, e.Discard(t.Context(), j.AttemptID, w.Head), "again")
}
