package workspace

import "github.com/beadsorch/orch/cmd/internal/config"

// Kinds are the engines and trackers that settings may name.
func Kinds() (k config.Kinds) {
	for _, e := range engineKinds() {
		k.Engines = append(k.Engines, e.name)
	}
	for _, t := range trackerKinds() {
		k.Trackers = append(k.Trackers, t.name)
	}
	return k
}
