package checkpoint

import "github.com/beadsorch/orch/orchestrator/iteration"

// Step is a step of a loop.
type Step struct {
	Kind string         // started, validated, advanced, limited or ended
	Loop iteration.Loop // after the step
}

// OnStep has report called with each step of the loop from now on, after the step was found
// possible and before it is in the log's journal: so report can keep it first, a crash between
// the two loses no step, and the step can be repeated. A step whose report fails is not taken.
func (log *Log) OnStep(report func(Step) error) { log.onStep = report }

// report reports the step of the loop among steps that are taken together; l is the loop after them.
func (log *Log) report(steps []event, l *iteration.Loop) error {
	if log.onStep == nil {
		return nil
	}
	for _, e := range steps {
		switch e.Kind {
		case started, validated, advanced, limited, ended:
		default:
			continue
		}
		if e.Kind == ended && log.loop.Done != "" {
			continue // it had ended
		}
		if err := log.onStep(Step{Kind: e.Kind, Loop: *l}); err != nil {
			return err
		}
	}
	return nil
}
