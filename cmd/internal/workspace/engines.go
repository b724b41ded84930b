package workspace

import (
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator"
	"github.com/beadsorch/orch/orchestrator/engine/local"
)

// engineKind is a kind of engine.
type engineKind struct {
	name string                                  // what workflow.run.engine says
	open func(local.Options) orchestrator.Engine // makes one for an epic, of what the engine that runs agents here is made of
}

// engineKinds are all kinds: a new engine is a package, and a line here.
func engineKinds() []engineKind {
	return []engineKind{
		{name: config.EngineLocal, open: func(o local.Options) orchestrator.Engine { return local.New(o) }},
	}
}
