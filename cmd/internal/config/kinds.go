package config

// What workflow.tracker.kind may say.
const (
	// TrackerAuto is the first of the others that is found.
	TrackerAuto = "auto"
	// TrackerBD is bd.
	TrackerBD = "bd"
	// TrackerFile is the embedded tracker.
	TrackerFile = "file"
)

// Trackers are the words of workflow.tracker.kind.
func Trackers() []string { return []string{TrackerAuto, TrackerBD, TrackerFile} }

// EngineLocal is the engine that runs agents here.
const EngineLocal = "local"

// Engines are the words of workflow.run.engine; the first is the default.
func Engines() []string { return []string{EngineLocal} }
