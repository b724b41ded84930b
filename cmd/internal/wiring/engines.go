package wiring

import (
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine/local"
)

// Engine is a kind of engine.
type Engine struct {
	// Name is what workflow.run.engine says.
	Name string
	// Open makes one for an epic, of what the engine that runs agents here is made of.
	Open func(local.Options) orchestrator.Engine
}

// Engines are all kinds.
func Engines() []Engine {
	return []Engine{
		{"local", func(o local.Options) orchestrator.Engine { return local.New(o) }},
	}
}

// EngineNames are the words of workflow.run.engine; the first is the default.
func EngineNames() (names []string) {
	for _, e := range Engines() {
		names = append(names, e.Name)
	}
	return names
}
