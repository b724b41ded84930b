package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/registry"
)

func ruled(results ...any) registry.Context {
	c := registry.Context{TaskID: "t", Iteration: 3}
	for i := 0; i < len(results); i += 2 {
		c.ValidationResults = append(c.ValidationResults, registry.Validation{RuleName: results[i].(string), Passed: results[i+1].(bool), Message: "because"})
	}
	return c
}

func said(c registry.Context, text string) registry.Context { c.AgentOutput = text; return c }

func found(c registry.Context, kind string) registry.Context {
	c.CompletionPromises = append(c.CompletionPromises, registry.Promise{Type: kind, Detected: true})
	return c
}

// answers is a Runner whose program always answers the same.
func answers(out string, err error) registry.Runner {
	return func(context.Context, []string, time.Duration, []byte) ([]byte, error) { return []byte(out), err }
}

func one(s registry.Spec) []registry.Hook {
	return []registry.Hook{{ID: "h", TaskID: "t", Spec: s, Enabled: true}}
}

func spec(kind string) registry.Spec { return registry.Spec{Type: kind} }

func TestHooks(t *testing.T) {
	t.Parallel()
	const complete, blocked = "<promise>COMPLETE</promise>", "<promise>BLOCKED</promise>"
	tests := map[string]struct {
		spec    registry.Spec
		context registry.Context
		want    registry.Action
		reason  string
	}{
		"default: a promise":                 {spec("default"), said(ruled(), complete), registry.Complete, "via <promise>COMPLETE"},
		"default: promised, and red":         {spec("default"), said(ruled("lint", false), complete), registry.Continue, "these fail: lint"},
		"default: blocked comes first":       {spec("default"), found(said(ruled(), complete), "BLOCKED"), registry.Escalate, "BLOCKED"},
		"default: escalate":                  {spec("default"), found(ruled(), "ESCALATE"), registry.Escalate, "ESCALATE"},
		"default: green":                     {spec("default"), ruled("a", true), registry.Complete, "All validation rules pass"},
		"default: red":                       {spec("default"), ruled("a", true, "b", false), registry.Continue, "1 of 2 validation rules fail"},
		"default: nothing":                   {spec("default"), ruled(), registry.Continue, "No validation rules"},
		"promise: not in a fence":            {spec("promise"), said(ruled("a", true), "```\n"+complete+"\n```"), registry.Continue, "No completion promise"},
		"promise: blocked":                   {spec("promise"), said(ruled(), blocked), registry.Escalate, "BLOCKED"},
		"promise: not detected":              {spec("promise"), registry.Context{CompletionPromises: []registry.Promise{{Type: "COMPLETE"}}}, registry.Continue, "No completion"},
		"validation: a promise is no matter": {spec("validation"), said(ruled("a", false), complete), registry.Continue, "fail"},
		"tdd: green":                         {spec("tdd"), ruled("tests_pass", true, "lint", false), registry.Complete, "All tests pass"},
		"tdd: no result is not passed":       {spec("tdd"), ruled(), registry.Continue, "tests_pass"},
		"security: both":                     {spec("security"), ruled("vulns_fixed", true, "sast_clean", true), registry.Complete, "remediated"},
		"security: one":                      {spec("security"), ruled("vulns_fixed", true), registry.Continue, "sast_clean"},
		"security: at the limit":             {registry.Spec{Type: "security", Max: 3}, ruled(), registry.Escalate, "manual review"},
		"checkpoint: now":                    {registry.Spec{Type: "checkpoint", Max: 3}, ruled(), registry.Continue, "Checkpoint at iteration 3"},
		"max-iterations: reached":            {registry.Spec{Type: "max-iterations", Max: 3}, ruled(), registry.Escalate, "Maximum iterations (3)"},
		"max-iterations: not yet":            {registry.Spec{Type: "max-iterations", Max: 4}, ruled(), registry.Continue, "3 of at most 4"},
		"all: one is open":                   {registry.Spec{Type: "all", Hooks: []registry.Spec{spec("tdd"), spec("promise")}}, ruled("tests_pass", true), registry.Continue, "No completion promise"},
		"all: each":                          {registry.Spec{Type: "all", Hooks: []registry.Spec{spec("tdd"), spec("promise")}}, said(ruled("tests_pass", true), complete), registry.Complete, "All 2"},
		"all: one escalates":                 {registry.Spec{Type: "all", Hooks: []registry.Spec{spec("tdd"), spec("promise")}}, said(ruled(), blocked), registry.Escalate, "BLOCKED"},
		"any: the first that decides":        {registry.Spec{Type: "any", Hooks: []registry.Spec{spec("tdd"), spec("promise")}}, said(ruled(), blocked), registry.Escalate, "BLOCKED"},
		"any: none":                          {registry.Spec{Type: "any", Hooks: []registry.Spec{spec("tdd"), spec("promise")}}, ruled(), registry.Continue, "No completion promise"},
		"when: so":                           {registry.Spec{Type: "when", If: "iteration >= 3", Then: &registry.Spec{Type: "max-iterations", Max: 1}}, ruled(), registry.Escalate, "Maximum"},
		"when: not so":                       {registry.Spec{Type: "when", If: "phase == testing", Then: &registry.Spec{Type: "max-iterations", Max: 1}}, ruled(), registry.Continue, "Not so"},
		"command: decides":                   {registry.Spec{Type: "command", Command: []string{"x"}}, ruled(), registry.Complete, "as scripted"},
		"a hook of no kind":                  {spec("nonsense"), ruled(), registry.Escalate, "Hook evaluation failed"},
	}
	for name, tt := range tests {
		e, after := registry.Evaluate(t.Context(), one(tt.spec), tt.context, answers(`{"action":"complete","reason":"as scripted"}`, nil), time.Now)
		require.Equal(t, tt.want, e.Action, "%s: %s", name, e.Reason)
		require.Contains(t, e.Reason, tt.reason, name)
		require.Equal(t, "h", e.HookID)
		require.Equal(t, 1, after[0].Metrics.Evaluations)
	}
}

// TestOrder: the first that decides, the last that was asked, none at all.
func TestOrder(t *testing.T) {
	t.Parallel()
	run := answers("", errors.New("not run"))
	hook := func(id, kind string, on bool) registry.Hook {
		return registry.Hook{ID: id, TaskID: "t", Spec: spec(kind), Enabled: on}
	}
	e, _ := registry.Evaluate(t.Context(), nil, ruled(), run, time.Now)
	require.Equal(t, registry.Evaluation{HookID: "default", Result: registry.Result{Action: registry.Continue, Reason: "No hooks registered for this task"}}, e)

	hooks := []registry.Hook{hook("a", "validation", true), hook("b", "promise", true), hook("c", "default", true)}
	e, after := registry.Evaluate(t.Context(), hooks, ruled("x", true), run, time.Now)
	require.Equal(t, "a", e.HookID, "the first that completes stops the rest")
	require.Equal(t, []int{1, 0, 0}, []int{after[0].Metrics.Complete, after[1].Metrics.Evaluations, after[2].Metrics.Evaluations})
	require.Zero(t, hooks[0].Metrics.Evaluations, "what was passed in is not changed")
	e, _ = registry.Evaluate(t.Context(), hooks, ruled(), run, time.Now)
	require.Equal(t, "c", e.HookID, "all continue: the last one's result")
	hooks[0].Enabled = false
	e, _ = registry.Evaluate(t.Context(), hooks[:2], ruled("x", true), run, time.Now)
	require.Equal(t, "b", e.HookID, "a disabled one is passed over")
	e, _ = registry.Evaluate(t.Context(), hooks[:1], ruled("x", true), run, time.Now)
	require.Equal(t, registry.Continue, e.Action)
}

// TestFailures escalate, with the error, and are counted.
func TestFailures(t *testing.T) {
	t.Parallel()
	command := registry.Spec{Type: "command", Command: []string{"prog"}}
	for name, run := range map[string]registry.Runner{
		"it fails":           answers("", errors.New("exit 3")),
		"it answers text":    answers("all fine", nil),
		"another action":     answers(`{"action":"stop"}`, nil),
		"it answers nothing": answers("", nil),
		"it panics":          func(context.Context, []string, time.Duration, []byte) ([]byte, error) { panic("oh") },
	} {
		e, after := registry.Evaluate(t.Context(), one(command), ruled(), run, time.Now)
		require.Equal(t, registry.Escalate, e.Action, name)
		require.Contains(t, e.Reason, "Hook evaluation failed: ", name)
		require.NotEmpty(t, e.Metadata["error"], name)
		require.Equal(t, 1, after[0].Metrics.Failed)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	deep := spec("default")
	for range 20 {
		deep = registry.Spec{Type: "all", Hooks: []registry.Spec{deep}}
	}
	for _, bad := range []registry.Spec{{}, spec("nonsense"), spec("max-iterations"), spec("command"), spec("all"), spec("any"), spec("when"), deep,
		{Type: "when", If: "nonsense", Then: &registry.Spec{Type: "default"}}, {Type: "any", Hooks: []registry.Spec{{Type: "x"}}}, {Type: "command", Command: []string{"x"}, Seconds: -1}} {
		require.ErrorIs(t, bad.Check(), registry.ErrSpec, "%+v", bad)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	c := said(ruled("tests_pass", true, "lint", false), "<promise>COMPLETE</promise>")
	c.ExecutionPhase, c.FilesModified = "testing", []string{"a"}
	for text, want := range map[string]bool{
		"iteration == 3": true, "iteration!=3": false, "iteration >= 3": true, "iteration > 3": false, "iteration<=2": false, "iteration < 4": true,
		"filesModified == 1": true, "filesModified > 1": false, "phase == testing": true, "phase != testing": false,
		"passed: tests_pass": true, "passed: lint": false, "failed: lint": true, "failed: none": false, "promise: COMPLETE": true, "promise:BLOCKED": false,
	} {
		s := registry.Spec{Type: "when", If: text, Then: &registry.Spec{Type: "max-iterations", Max: 1}}
		e, _ := registry.Evaluate(t.Context(), one(s), c, nil, time.Now)
		require.Equal(t, want, e.Action == registry.Escalate, text)
	}
	for _, bad := range []string{"", "iteration", "iteration = 3", "iteration >= x", "phase >= a", "passed == a", "promise > COMPLETE", "x == 1"} {
		_, err := registry.ParseCondition(bad)
		require.ErrorIs(t, err, registry.ErrSpec, bad)
	}
}

func FuzzParseCondition(f *testing.F) {
	f.Add("iteration >= 10")
	f.Add("passed: tests_pass")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := registry.ParseCondition(text); err != nil && !errors.Is(err, registry.ErrSpec) {
			t.Fatal(err)
		}
	})
}

// TestStore keeps hooks over restarts, whoever writes at the same time.
func TestStore(t *testing.T) {
	t.Parallel()
	s := registry.Store{Path: filepath.Join(t.TempDir(), "orch", "hooks.json")}
	none, err := s.All("")
	require.NoError(t, err)
	require.Empty(t, none)
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := s.Change(t.Context(), func(hooks []registry.Hook) ([]registry.Hook, error) {
				return append(hooks, registry.Hook{ID: fmt.Sprint(n), TaskID: fmt.Sprint(n % 2), Spec: spec("default"), Enabled: true}), nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	all, err := s.All("")
	require.NoError(t, err)
	require.Len(t, all, 20)
	odd, err := s.All("1")
	require.NoError(t, err)
	require.Len(t, odd, 10)
	_, after := registry.Evaluate(t.Context(), odd, ruled(), nil, time.Now)
	require.NoError(t, s.Keep(t.Context(), after[:5]))
	odd, err = s.All("1")
	require.NoError(t, err)
	require.Equal(t, 1, odd[4].Metrics.Evaluations)
	require.Zero(t, odd[5].Metrics.Evaluations)

	require.NoError(t, os.WriteFile(s.Path, []byte("{{"), 0o600))
	require.Error(t, s.Change(t.Context(), func([]registry.Hook) ([]registry.Hook, error) { return nil, nil }))
	b, err := os.ReadFile(s.Path)
	require.NoError(t, err)
	require.Equal(t, "{{", string(b), "never replaced")
}
