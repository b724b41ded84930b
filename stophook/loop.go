package stophook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook/session"
)

// The statuses of a criteria loop.
const (
	LoopInProgress = "in_progress"
	LoopCompleted  = "completed"
	LoopCancelled  = "cancelled"
)

// maxStuck is how often the same criterion may come first of those unmet before the
// loop is released.
const maxStuck = 5

// maxSpec is how many bytes of what was asked for a session is reminded of.
const maxSpec = 2 << 10

// CriteriaLoop is a session's own loop, which ends when its criteria hold: the file
// .loop/state.json. Fields that are not named here are kept.
type CriteriaLoop struct {
	Spec           string          `json:"spec"`           // what was asked for, verbatim
	Criteria       []string        `json:"criteria"`       // in their order
	CriteriaStatus map[string]bool `json:"criteriaStatus"` // by criterion; one that is not there is not true
	ExitSignal     bool            `json:"exit_signal"`    // the wish to end
	Steps          []string        `json:"steps"`          // all of them
	CompletedSteps []string        `json:"completedSteps"` // in the order they were done
	RemainingSteps []string        `json:"remainingSteps"` // the next one first
	Iteration      int             `json:"iteration"`      // how many have ended
	Status         string          `json:"status"`         // in_progress, completed or cancelled
	CircuitBreaker CircuitBreaker  `json:"circuitBreaker"` // tells when it gets nowhere
	extra          map[string]json.RawMessage
}

// CircuitBreaker tells a loop that gets nowhere.
type CircuitBreaker struct {
	StuckCount int    `json:"stuckCount"` // iterations in a row with the same first unmet criterion
	LastUnmet  string `json:"lastUnmet"`  // the first unmet criterion of the iteration before
}

// NewCriteriaLoop is a loop at its start: nothing is true yet.
func NewCriteriaLoop(spec string, criteria, steps []string) CriteriaLoop {
	l := CriteriaLoop{Spec: spec, Criteria: criteria, CriteriaStatus: map[string]bool{}, Steps: steps, CompletedSteps: []string{},
		RemainingSteps: slices.Clone(steps), Status: LoopInProgress}
	for _, c := range criteria {
		l.CriteriaStatus[c] = false
	}
	return l
}

// ReadCriteriaLoop reads the file at path. It fails with fs.ErrNotExist, and with session.ErrState
// when what is there is no loop; that is never replaced.
func ReadCriteriaLoop(path string) (CriteriaLoop, error) {
	data, err := session.ReadState(path)
	if err != nil {
		return CriteriaLoop{}, err
	}
	return ParseCriteriaLoop(data)
}

// ParseCriteriaLoop reads a loop's JSON. It fails with session.ErrState.
func ParseCriteriaLoop(data []byte) (CriteriaLoop, error) {
	var l CriteriaLoop
	if err := json.Unmarshal(data, &l); err != nil {
		return CriteriaLoop{}, fmt.Errorf("%w: %w", session.ErrState, err)
	}
	if err := json.Unmarshal(data, &l.extra); err != nil || l.extra == nil {
		return CriteriaLoop{}, fmt.Errorf("%w: not an object", session.ErrState)
	}
	if !slices.Contains([]string{LoopInProgress, LoopCompleted, LoopCancelled}, l.Status) {
		return CriteriaLoop{}, fmt.Errorf("%w: status %q is none of %s, %s, %s", session.ErrState, l.Status, LoopInProgress, LoopCompleted, LoopCancelled)
	}
	for _, name := range []string{"spec", "criteria", "criteriaStatus", "exit_signal", "steps", "completedSteps", "remainingSteps", "iteration", "status", "circuitBreaker"} {
		delete(l.extra, name)
	}
	return l, nil
}

// Write replaces the file at path with the loop.
func (l CriteriaLoop) Write(path string) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err == nil && len(l.extra) > 0 {
		var more []byte
		if more, err = json.MarshalIndent(l.extra, "", "  "); err == nil {
			data = append(append(data[:len(data)-2], ",\n"...), more[2:]...)
		}
	}
	if err != nil {
		return fmt.Errorf("writing the loop: %w", err)
	}
	return session.WriteState(path, append(data, '\n'))
}

// Unmet lists the criteria that are not true, in their order.
func (l CriteriaLoop) Unmet() (out []string) {
	for _, c := range l.Criteria {
		if !l.CriteriaStatus[c] {
			out = append(out, c)
		}
	}
	return out
}

// ErrNoSuch says that a loop has no criterion, or no step, of that name.
var ErrNoSuch = errors.New("not in this loop")

// SetCriterion says whether a criterion holds. It fails with ErrNoSuch.
func (l *CriteriaLoop) SetCriterion(criterion string, holds bool) error {
	if !slices.Contains(l.Criteria, criterion) {
		return fmt.Errorf("criterion %q: %w; it has %s", criterion, ErrNoSuch, strings.Join(l.Criteria, ", "))
	}
	if l.CriteriaStatus == nil {
		l.CriteriaStatus = map[string]bool{}
	}
	l.CriteriaStatus[criterion] = holds
	return nil
}

// CompleteStep marks a step as done; "" is the first that remains. It fails with ErrNoSuch.
func (l *CriteriaLoop) CompleteStep(step string) error {
	if step == "" && len(l.RemainingSteps) > 0 {
		step = l.RemainingSteps[0]
	}
	n := slices.Index(l.RemainingSteps, step)
	if n < 0 {
		return fmt.Errorf("step %q: %w, or done already", step, ErrNoSuch)
	}
	l.RemainingSteps = slices.Delete(slices.Clone(l.RemainingSteps), n, n+1)
	l.CompletedSteps = append(slices.Clone(l.CompletedSteps), step)
	return nil
}

// EndIteration ends an iteration: the circuit breaker counts, and when all criteria hold
// the loop wants to end.
func (l *CriteriaLoop) EndIteration() {
	l.Iteration++
	unmet := l.Unmet()
	l.ExitSignal = len(unmet) == 0
	if len(unmet) == 0 {
		l.CircuitBreaker = CircuitBreaker{}
		return
	}
	if unmet[0] == l.CircuitBreaker.LastUnmet {
		l.CircuitBreaker.StuckCount++
		return
	}
	l.CircuitBreaker = CircuitBreaker{LastUnmet: unmet[0]}
}

// LoopFacts is all that a decision about a session's criteria loop rests on.
type LoopFacts struct {
	Input       session.Input   // what the client said
	Settings    Settings        // workflow.stop_hook
	Session     session.Session // what is kept of it: the count of its stops
	Loop        CriteriaLoop    // how it stands
	Fingerprint string          // of the loop's file, so that one which does not change is released
	Caps        ClientCaps      // of the client
}

// DecideLoop says whether a session that runs a criteria loop may stop: only when all
// criteria are true and the exit signal is.
func DecideLoop(f LoopFacts) Decision {
	in, set, s, l, client := f.Input, f.Settings, f.Session, f.Loop, f.Caps
	if !in.StopHookActive {
		s.BlocksThisPrompt = 0
	}
	allow := func(v Cause, why string) Decision { return Decision{Cause: v, Why: why, Session: s} }
	unmet := l.Unmet()
	switch {
	case !set.Enabled:
		return allow(Disabled, "workflow.stop_hook.enabled is false")
	case l.Status != LoopInProgress:
		return allow(Done, "the loop is "+l.Status)
	case in.BackgroundTasks > 0:
		return allow(Background, "background tasks run; the client goes on by itself when they end")
	case client.MaxBlocks > 0 && s.BlocksThisPrompt >= client.MaxBlocks:
		return allow(ClientCap, fmt.Sprintf("the client sends a session back %d times a prompt at most; prompt it again", client.MaxBlocks))
	case l.CircuitBreaker.StuckCount >= maxStuck:
		return allow(NoProgress, fmt.Sprintf("%q is unmet for %d iterations in a row", l.CircuitBreaker.LastUnmet, l.CircuitBreaker.StuckCount))
	case len(unmet) == 0 && l.ExitSignal:
		return allow(Done, "all criteria are true")
	}
	if s.NoProgress++; f.Fingerprint != s.Fingerprint {
		s.NoProgress, s.Fingerprint = 0, f.Fingerprint
	}
	switch {
	case s.Blocks >= set.MaxCycles:
		return allow(MaxCycles, "sent back to work max_cycles times")
	case s.NoProgress >= maxStuck:
		return allow(NoProgress, "several stops in a row, and .loop/state.json is the same")
	}
	why := "unmet criteria: " + strings.Join(unmet, ", ")
	if len(unmet) == 0 {
		why = "all criteria are true, and exit_signal is not: run orch loop verify"
	}
	return blockFor(Unmet, why, s, false)
}

// Resume announces an active loop to a session that starts; "" when there is none.
func (l CriteriaLoop) Resume() string {
	if l.Status != LoopInProgress {
		return ""
	}
	next := "orch loop verify"
	if len(l.RemainingSteps) > 0 {
		next = l.RemainingSteps[0]
	}
	unmet := strings.Join(l.Unmet(), ", ")
	if unmet == "" {
		unmet = "none"
	}
	return fmt.Sprintf("[LOOP RESUME] Active loop detected\nSpec: %s\nProgress: %d/%d steps | Iteration: %d\nUnmet criteria: %s\nNext: %s",
		text.CutBytes(l.Spec, maxSpec), len(l.CompletedSteps), len(l.Steps), l.Iteration, unmet, next)
}
