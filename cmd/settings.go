package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
)

// settingsPause is between two looks at the files of the settings.
const settingsPause = 2 * time.Second

// watchSettings tells the run of edits of its settings, which it does not go by. It looks at
// the files' times and sizes, and reads them only when these are no longer as in seen.
func (w driver) watchSettings(ctx context.Context, out chan<- orchestrator.Request, seen string) {
	known := w.workspace.Project.Origins.Values()
	tick := time.NewTicker(settingsPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		stamp := w.settingsStamp()
		if stamp == seen {
			continue
		}
		seen = stamp
		e, now := settingsEvent(w.workspace.Project.Origins.Values(), known, func() (config.Origins, error) {
			_, origins, err := w.workspace.Project.ReadSettings()
			return origins, err
		})
		if known = now; e == nil {
			continue
		}
		select {
		case out <- orchestrator.Request{Event: *e}:
		case <-ctx.Done():
			return
		}
	}
}

// settingsEvent says how the settings that are read now differ from those that the run began
// with; nil where they are those that were known before. now is what is known from here on.
func settingsEvent(began, known map[string]string, read func() (config.Origins, error)) (e *epic.Event, now map[string]string) {
	origins, err := read()
	now = map[string]string{}
	if err == nil {
		now = origins.Values()
	}
	if maps.Equal(now, known) {
		return nil, known
	}
	e = &epic.Event{Fact: epic.SettingsChanged{}}
	switch {
	case err != nil:
		e.Reason, e.Fact = "the settings were edited, and cannot be read now; this run goes on by those that it began with", epic.SettingsChanged{Difference: err.Error()}
		return e, now
	case maps.Equal(now, began):
		e.Reason = "the settings are again those that this run began with"
		return e, now
	}
	var keys []string
	var body strings.Builder
	for _, key := range slices.Sorted(maps.Keys(began)) {
		if began[key] != now[key] {
			keys = append(keys, key)
			fmt.Fprintf(&body, "- %s: %s\n+ %s: %s\n", key, began[key], key, now[key])
		}
	}
	e.Reason = fmt.Sprintf("%s %s edited; this run goes on by what it began with, the next one takes it", text.Clause(strings.Join(keys, ", "), 120), cli.Plural(len(keys), "was", "were"))
	e.Fact = epic.SettingsChanged{Difference: body.String()}
	return e, now
}

// settingsStamp is the times and sizes of the files that settings are read from.
func (w driver) settingsStamp() string {
	root := w.workspace.Project.Root
	files := []string{filepath.Join(root, project.SettingsFile), cmp.Or(project.OwnSettings(w.workspace.Project.Invocation.Process, root), root)}
	agents, err := filepath.Glob(filepath.Join(root, config.AgentsFolder, "*.md"))
	if err == nil {
		files = append(files, agents...)
	}
	var b strings.Builder
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			fmt.Fprintf(&b, "%s %d %d\n", file, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
