package checkpoint

import "github.com/beadsorch/orch/orchestrator/iteration"

// Step is a step of a loop.
type Step struct {
	Kind string         // started, validated, advanced, limited or ended
	Loop iteration.Loop // as it stands after it
}

// Tell has each step of the loop told from now on, once it is known to be possible and before it
// is written down: who is told keeps it first, so that it is lost in no crash, and a step that
// nobody has written down here can be taken again. A step that tell fails for is not taken.
func (b *Book) Tell(tell func(Step) error) { b.tell = tell }

// told tells of the step of the loop among steps that are taken together; l is the loop after them.
func (b *Book) told(steps []event, l *iteration.Loop) error {
	if b.tell == nil {
		return nil
	}
	for _, e := range steps {
		switch e.Kind {
		case started, validated, advanced, limited, ended:
		default:
			continue
		}
		if e.Kind == ended && b.loop.Done != "" {
			continue // it had ended
		}
		if err := b.tell(Step{Kind: e.Kind, Loop: *l}); err != nil {
			return err
		}
	}
	return nil
}
