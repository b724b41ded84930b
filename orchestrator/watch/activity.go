package watch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Activity is what the agents of a run do now.
type Activity struct {
	// At is when the run reported it, UTC.
	At time.Time `json:"at"`
	// Run is the number of the run.
	Run int `json:"run"`
	// Agents are those that work, in the order of the epic's tasks.
	Agents []Agent `json:"agents"`
	// Remarks are the newest events of the run that the journal does not keep.
	Remarks []Remark `json:"remarks,omitempty"`
}

// Agent is what one agent does now.
type Agent struct {
	Task    epic.TaskID `json:"task"`    // that it works on
	Attempt int         `json:"attempt"` // from 1
	Doing   string      `json:"doing"`   // in a clause; "" unknown
}

// Remark is an event that the journal does not keep.
type Remark struct {
	Number int64      `json:"number"` // counted from 1 by the run
	Event  epic.Event `json:"event"`
}

// Of says what the agent of a task does now, in a clause; "" unknown.
func (a Activity) Of(id epic.TaskID) string {
	for _, agent := range a.Agents {
		if agent.Task == id {
			return agent.Doing
		}
	}
	return ""
}

const (
	// activityFile is in an epic's folder while a run goes on there.
	activityFile = "activity.json"
	// maxActivity bounds it, in bytes.
	maxActivity = 256 << 10
	// maxDoing bounds the activity of one agent, in characters.
	maxDoing = 200
	// staleAfter is when nothing is believed any more of a run that tells nothing: it was killed,
	// or cannot write.
	staleAfter = 10 * heartbeat
	// levels is how deep an epic's folder is below the git directory: orch/epics/EPIC.
	levels = 3
)

// fresh reports whether the activity is that of the run, and not of long ago.
func (a Activity) fresh(run int, now time.Time) bool {
	age := now.Sub(a.At)
	return a.Run != 0 && a.Run == run && age < staleAfter && age > -staleAfter
}

// readActivity reads the volatile file. One that is not there, or is none, tells nothing: agents
// can write to the folder, so that what it says is only shown.
func (w *Watch) readActivity(each func(Event) error) error {
	was := w.activity
	w.activity = Activity{}
	data, err := private.ReadFile(filepath.Join(w.dir, activityFile), maxActivity)
	var unsafe *private.UnsafeError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &unsafe) {
		return nil
	}
	if err != nil {
		return err
	}
	var a Activity
	if json.Unmarshal(data, &a) != nil {
		return nil
	}
	for i := range a.Agents {
		a.Agents[i].Doing = text.Clause(a.Agents[i].Doing, maxDoing)
	}
	w.activity = a
	if !a.fresh(w.state.Run.Number, w.now()) {
		return nil
	}
	if was.Run != a.Run {
		w.remarked = 0
	}
	for _, r := range a.Remarks {
		if r.Number <= w.remarked || r.Event.Journaled() {
			continue
		}
		w.remarked = r.Number
		if each == nil {
			continue
		}
		if err := each(Event{Event: r.Event, State: w.state}); err != nil {
			return err
		}
	}
	return nil
}
