package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

const canary = "hunter2-canary"

func knowing() *redact.Redactor {
	return redact.New(redact.Options{Env: []string{"MY_SECRET=" + canary}})
}

// Every text of an event is redacted, but for those that are listed here: ids, words of orch's
// own, settings, and what git makes. A new field that stays as it is has to be listed.
func TestEveryTextOfAnEventIsRedacted(t *testing.T) {
	stays := []string{
		"Limits.Into", "Limits.Actor", "Guarded", "Status", "Issue",
		"Nodes.Status", "Nodes.Assignee", "Nodes.Agent", "Nodes.ClosedBy", // the tracker is read without secrets
		"Wrote.Kind", "Wrote.Status", "Wrote.By",
		"Verdict.Tree", "Verdict.Log", "Turn.Session", "Branch",
		"TipMove.Kept",
		"Holder.Session", "Holder.Here", "Asker.Here", "Of", "Holder.Name", "Holder.Below",
	}
	left := map[string]bool{}
	for kind, fact := range epic.Facts() {
		v := reflect.New(reflect.TypeOf(fact)).Elem()
		fill(v)
		e := epic.Event{Reason: canary, Fact: v.Interface().(epic.Fact)}
		before, err := json.Marshal(e)
		require.NoError(t, err)
		clean := WithoutSecrets(knowing(), e)
		require.NotContains(t, clean.Reason, canary)
		texts(reflect.ValueOf(clean.Fact), "", func(path, text string) {
			if strings.Contains(text, canary) {
				left[path] = true
				require.Contains(t, stays, path, "of %s", kind)
			}
		})
		after, err := json.Marshal(e)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "the event itself stays as it was: the state may hold parts of it")
	}
	require.Len(t, left, len(stays), "%v", left)
}

// A command among the settings may have a secret.
func TestSettingsAreRedacted(t *testing.T) {
	settings := map[string]string{"gate": `[{"command":"push ` + canary + `"}]`}
	e := WithoutSecrets(knowing(), epic.Event{Fact: epic.RunStarted{Epic: "e", Settings: settings}})
	require.Equal(t, map[string]string{"gate": `[{"command":"push [redacted MY_SECRET]"}]`}, e.Fact.(epic.RunStarted).Settings)
	require.Contains(t, settings["gate"], canary, "what was given stays as it was")
}

// fill puts the canary into every text, one element into every list and value into every pointer.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x " + canary)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().String() != "time.Time" {
				fill(v.Field(i))
			}
		}
	}
}

func texts(v reflect.Value, path string, found func(path, text string)) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // others are ids, and words of orch's own
			found(path, v.String())
		}
	case reflect.Pointer:
		texts(v.Elem(), path, found)
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), path, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				texts(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."), found)
			}
		}
	}
}

// A reading without secrets is the same each time, so that nothing seems to have changed.
func TestTrackerWithoutSecrets(t *testing.T) {
	kept := &keptTracker{issues: []tracker.Issue{{ID: "e-1.1", Title: "use " + canary, Description: canary, Notes: canary, Assignee: canary}}}
	c := cleanTracker{kept, knowing()}
	issues, err := c.Survey(t.Context())
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(issues), canary)
	require.Contains(t, kept.issues[0].Title, canary, "what the tracker holds is not changed by reading")
	_, err = c.Apply(t.Context(), "me", []tracker.Change{{Note: canary, Reason: canary, Issue: &tracker.Issue{Title: canary, Description: canary}}})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%+v %+v", kept.changes, kept.changes[0].Issue), canary)
}

type keptTracker struct {
	issues  []tracker.Issue
	changes []tracker.Change
}

func (k *keptTracker) Survey(context.Context) ([]tracker.Issue, error) { return k.issues, nil }
func (k *keptTracker) Name() string                                    { return "kept" }
func (k *keptTracker) Apply(_ context.Context, _ string, c []tracker.Change) ([]tracker.Outcome, error) {
	k.changes = c
	return make([]tracker.Outcome, len(c)), nil
}
