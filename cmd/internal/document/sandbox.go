package document

import "github.com/beadsorch/orch/orchestrator/epic"

// Sandbox is what runs in which bounds.
type Sandbox struct {
	// Cells are what an agent and the gate of this project would be in, or what the attempt of a task was in.
	Cells []SandboxCell `json:"cells"`
}

// Schema is "orch.sandbox/1".
func (Sandbox) Schema() string { return "orch.sandbox/1" }

// SandboxCell is the bounds of one thing that runs.
type SandboxCell struct {
	// Of is what runs in it: agent or gate.
	Of string `json:"of"`
	// Task is the id of the task; absent where it is of none yet.
	Task epic.TaskID `json:"task,omitempty"`
	// Attempt is which attempt at it, from 1 on; absent where it is of none yet.
	Attempt int `json:"attempt,omitempty"`
	// Level is what keeps the bounds: bubblewrap, namespaces, landlock, or off.
	Level string `json:"level"`
	// Lacks are what the level does not stop, each in a clause; off stops nothing, and names nothing.
	Lacks []string `json:"lacks"`
	// Network is open; allowlist, where hosts of a list are reached by a proxy; or loopback where there is none but its own.
	Network string `json:"network"`
	// Dir is the folder that it begins in.
	Dir string `json:"dir,omitempty"`
	// Rest is what can be done with a path that is not named: read-only, or hidden but for the system.
	Rest string `json:"rest,omitempty"`
	// Paths are what is bound where, each after the folders that it is in.
	Paths []SandboxPath `json:"paths"`
	// Dropped are references that an agent made beside its branch, which were not taken back.
	Dropped []string `json:"dropped"`
	// Planted are files that were moved aside: what a client would run or obey for everybody, and a repository in the place of the worktree's own.
	Planted []string `json:"planted"`
	// Refused is why commits were not taken back, and where they are kept; absent where they were.
	Refused string `json:"refused,omitempty"`
	// Met are paths that its output says were refused. It may have other reasons.
	Met []SandboxMet `json:"met"`
	// Unreached are hosts that were not reached, of all its turns; absent where there are none.
	Unreached []SandboxHost `json:"unreached,omitempty"`
}

// SandboxHost is a host that was not reached.
type SandboxHost struct {
	// Host is its name, or its address.
	Host string `json:"host"`
	// Why it was not, in a clause.
	Why string `json:"why"`
	// Count is how often it was asked for.
	Count int `json:"count"`
}

// SandboxPath is one path that is bound.
type SandboxPath struct {
	// At is where a command finds it.
	At string `json:"at"`
	// From is what it finds there; absent where that is the same path, or nothing.
	From string `json:"from,omitempty"`
	// How it can be used: read-only, written, private, overlay or hidden.
	How string `json:"how"`
	// Why it is bound: who asks for it.
	Why string `json:"why"`
}

// SandboxMet is a path that output says was refused.
type SandboxMet struct {
	// Path is the path.
	Path string `json:"path"`
	// Says are the words that refused it.
	Says string `json:"says"`
	// Setting is the setting that may open it.
	Setting string `json:"setting"`
}
