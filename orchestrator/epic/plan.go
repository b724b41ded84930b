package epic

import (
	"fmt"
	"slices"
	"time"

	"github.com/beadsorch/orch/orchestrator/reason"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// Plan is what an epic looks like before anything has started.
type Plan struct {
	ToDo        int        `json:"to_do"`              // tasks
	Done        int        `json:"done"`               // tasks
	Waves       [][]Step   `json:"waves"`              // each could start when the ones before have landed
	Critical    []TaskID   `json:"critical_path"`      // the longest way through
	Parallelism float64    `json:"parallelism"`        // work by the longest way: more agents than this are idle on average
	Cycles      [][]string `json:"cycles,omitempty"`   // of ids that wait for each other
	Problems    []string   `json:"problems,omitempty"` // a clause each
	Stuck       bool       `json:"stuck"`              // only a person can move it: nothing runs, waits to land or is ready
}

// Step is a task of a plan.
type Step struct {
	ID    TaskID   `json:"id"`                  // of the task
	Title string   `json:"title"`               // its title
	For   []TaskID `json:"waits_for,omitempty"` // tasks of the epic that are not closed
}

// PlanOf looks over how an epic stands: what could run when, and what cannot. What is under way
// could start. The issues are those of the tracker that the state knows.
func PlanOf(s State, issues []tracker.Issue, now time.Time) Plan {
	x := tracker.NewIndex(issues)
	p := Plan{Waves: [][]Step{}, Critical: s.criticalPath(), Cycles: cyclesIn(s, x)}
	p.Done = Count(s, now).Done
	p.Waves, p.ToDo = s.waves(at(now))
	work := 0.0
	for _, wave := range p.Waves {
		for _, step := range wave {
			work += minutesOf(s.Task(step.ID), 1)
		}
	}
	if longest := s.length(p.Critical); longest > 0 {
		p.Parallelism = work / longest
	}
	p.addProblems(s, x, at(now))
	promise := PromiseOf(s, now).Promise
	p.Stuck = promise == LoopBlocked || promise == LoopError
	return p
}

// waves sorts what can run by when it could start at the earliest.
func (s State) waves(now *clock) (waves [][]Step, tasks int) {
	for {
		var wave []*Task
		for _, t := range s.Tasks {
			if s.IsReady(t, now.now) || len(waves) == 0 && t.Dispatchable() && !t.Deleted && s.underWay(t) {
				wave = append(wave, t)
			}
		}
		if len(wave) == 0 {
			return waves, tasks
		}
		var steps []Step
		for _, t := range wave {
			steps = append(steps, Step{ID: t.ID, Title: t.Title, For: inEpic(s, t.Needs)})
			s = s.edit(t.ID, func(t *Task) { t.State = Landed })
		}
		waves, tasks = append(waves, steps), tasks+len(steps)
	}
}

// underWay reports whether an attempt at the task is being made, or waits to land.
func (s State) underWay(t *Task) bool {
	return !t.Done() && (t.State == Running || t.State == Queued || t.State == Validating)
}

func inEpic(s State, needs [][]TaskID) (ids []TaskID) {
	for _, row := range needs {
		for _, id := range row {
			if b := s.Task(id); b != nil && !b.External && b.Status != statusClosed && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// criticalPath is the longest way through what is left, by weight.
func (s State) criticalPath() (path []TaskID) {
	rank := s.ranks()
	var best *Task
	for _, t := range s.Tasks {
		if t.Dispatchable() && !t.Done() && (best == nil || rank[t.ID] > rank[best.ID]) {
			best = t
		}
	}
	for best != nil && len(path) <= len(s.Tasks) {
		path = append(path, best.ID)
		at := best.ID
		best = nil
		for _, t := range s.Tasks {
			waits := slices.ContainsFunc(t.Needs, func(row []TaskID) bool { return slices.Contains(row, at) })
			if waits && t.Dispatchable() && !t.Done() && !slices.Contains(path, t.ID) && (best == nil || rank[t.ID] > rank[best.ID]) {
				best = t
			}
		}
	}
	return path
}

func (s State) length(path []TaskID) (sum float64) {
	for _, id := range path {
		sum += minutesOf(s.Task(id), 1)
	}
	return sum
}

func cyclesIn(s State, x *tracker.Index) (out [][]string) {
	for _, cycle := range x.Cycles() {
		if slices.ContainsFunc(cycle, func(id string) bool { return s.Task(TaskID(id)) != nil }) {
			out = append(out, cycle)
		}
	}
	return out
}

func (p *Plan) addProblems(s State, x *tracker.Index, now *clock) {
	if Count(s, now.now).Total == 0 {
		p.Problems = append(p.Problems, "the epic has no tasks")
	}
	for _, cycle := range p.Cycles {
		p.Problems = append(p.Problems, fmt.Sprintf("[%s] these wait for each other: %v", reason.DepCycle, cycle))
	}
	for _, t := range s.Tasks {
		if !t.Dispatchable() || t.Done() || t.Deleted || s.underWay(t) || t.Status == statusClosed && s.IsReady(t, now.now) {
			continue
		}
		if t.State == Parked || t.State == Skipped {
			code := t.Code
			if code == "" {
				code = "SKIPPED"
			}
			p.Problems = append(p.Problems, fmt.Sprintf("[%s] %s needs a person: %s", code, t.ID, t.Why))
			continue
		}
		if why := s.trackerHold(t, now); why != "" {
			p.Problems = append(p.Problems, fmt.Sprintf("[%s] %s is %s", reason.DepExternal, t.ID, why))
		}
		if o := ObstacleOf(s, t, now.now); o.Code == reason.DepExternal && s.trackerHold(t, now) == "" {
			p.Problems = append(p.Problems, fmt.Sprintf("[%s] %s %s", o.Code, t.ID, o.Why))
		}
		if issue, _ := x.Issue(string(t.ID)); issue.Description == "" && issue.AcceptanceCriteria == "" {
			p.Problems = append(p.Problems, fmt.Sprintf("%s has no description and no acceptance criteria: its title is all that the agent gets", t.ID))
		}
	}
}
