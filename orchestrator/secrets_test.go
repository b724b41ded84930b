package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
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
// own, settings, and what git makes. A new field has to be redacted, or to be listed.
func TestEveryTextOfAnEventIsRedacted(t *testing.T) {
	stays := []string{
		"Kind", "Task", "Code", "Epic", "Request",
		"Run.Mode", "Run.Drain", "Run.DrainWhy", "Run.Promise", "Run.FastExits.Task", "Run.FastExits.Why", "Run.FaultWhy", // a run that starts has none of these
		"Run.Limits.Into", "Run.Limits.Actor", "Run.Holder.Session", "Run.Holder.Here", "Run.Holder.Name",
		"Read.Nodes.ID", "Read.Nodes.Parent", "Read.Nodes.Status", "Read.Nodes.Assignee", "Read.Nodes.Agent", "Read.Nodes.ClosedBy", "Read.Nodes.Needs", "Read.Removed", // the tracker is read without secrets
		"Wrote.ID", "Wrote.Kind", "Wrote.Status", "Wrote.By",
		"Land.Tasks", "Land.Old", "Land.Commits", "Land.Tree", "Land.Log", "Land.Rules.Rule",
		"Agent.Base", "Agent.Head", "Agent.End", "Agent.Holder.Session", "Agent.Holder.Here", "Agent.Holder.Name",
		"Tip.From", "Tip.To", "Tip.Kept", "Tip.Lost",
		"Round.Entry.Signal", "Round.Entry.Rules.Rule",
	}
	var e epic.Event
	fill(reflect.ValueOf(&e).Elem())
	before, err := json.Marshal(e)
	require.NoError(t, err)
	var left []string
	texts(reflect.ValueOf(WithoutSecrets(knowing(), e)), "", func(path, text string) {
		if strings.Contains(text, canary) && !slices.Contains(left, path) {
			left = append(left, path)
		}
	})
	slices.Sort(left)
	slices.Sort(stays)
	require.Equal(t, stays, left)
	after, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "the event itself stays as it was: the state may hold parts of it")
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
		found(path, v.String())
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

func TestAddedSecrets(t *testing.T) {
	patch := `diff --git a/keys.txt b/keys.txt
index 1..2 100644
--- a/keys.txt
+++ b/keys.txt
@@ -1,2 +1,3 @@
-old hunter2-canary
-and
+++ b/not-a-file
+the hunter2-canary
+last
\ No newline at end of file
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-hunter2-canary
diff --git "a/\303\244 b" "b/\303\244 b"
--- /dev/null
+++ "b/\303\244 b"
@@ -0,0 +1,2 @@
+hunter2-canary
+ghp_0123456789012345678901234567890123456789
`
	require.Equal(t, []string{"keys.txt (MY_SECRET)", "ä b (MY_SECRET)", "ä b (GitHub token)"}, addedSecrets(knowing(), patch))
	require.Empty(t, addedSecrets(knowing(), ""))
}

// FuzzAddedSecrets holds that no patch makes it fail, and that it tells no secret.
func FuzzAddedSecrets(f *testing.F) {
	f.Add("diff --git a/x b/x\n+++ b/x\n@@ -1 +1,9 @@\n+hunter2-canary\n")
	f.Add("@@ \n+++ \"\n@@ -0,0 +1,-5 @@ @@\n")
	r := knowing()
	f.Fuzz(func(t *testing.T, patch string) {
		for _, found := range addedSecrets(r, patch) {
			require.NotContains(t, found, canary)
		}
	})
}
