package config

// TrackerAuto is the first tracker that is found; the default of workflow.tracker.kind.
const TrackerAuto = "auto"

// EngineLocal is the engine that runs agents here; the default of workflow.run.engine.
const EngineLocal = "local"

// Kinds are the words that choose what this package does not link. A list that is nil allows any word.
type Kinds struct {
	// Engines are the words of workflow.run.engine.
	Engines []string
	// Trackers are the words of workflow.tracker.kind besides [TrackerAuto].
	Trackers []string
}

// trackers are all words of workflow.tracker.kind; nil allows any.
func (k Kinds) trackers() []string {
	if k.Trackers == nil {
		return nil
	}
	return append([]string{TrackerAuto}, k.Trackers...)
}
