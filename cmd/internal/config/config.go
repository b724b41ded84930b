// Package config reads the settings: the key workflow of project.yaml, under the
// environment's variables.
//
// Each setting has a default, a key below workflow, and a variable: run.max_parallel is
// ORCH_RUN_MAX_PARALLEL. A variable that is set and not empty wins over the repository's file,
// that over the person's own, which has the same keys, and that over the default. Globs of
// protected paths are added up, and only the person's side may take one out. What is not understood is an [*Error], never passed over; other keys at
// the top of project.yaml belong to other programs.
package config

import (
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
)

// Config is all the settings.
type Config struct {
	// StopHook is workflow.stop_hook.
	StopHook StopHook
	// Run is workflow.run.
	Run Run
	// Gate is workflow.gate: the rules that all must pass on the tree that lands, each
	// well-formed, each with a name of its own.
	Gate []validation.Rule
	// Setup is workflow.setup: the commands that make a new worktree ready, before an agent or the gate works in it.
	Setup []string
	// Protect is workflow.protect: globs of paths that no task may change by itself, beside
	// those that are always protected; one with a ! before it takes such a one out.
	Protect []string
	// Agent is workflow.agent.
	Agent Agent
	// Agents is workflow.agents: definitions by the name that a task's label agent:<name> uses.
	Agents map[string]Definition
	// Missing are the rules that agents' own files name and the gate has not, as "qa: fast".
	Missing []string
	// Roles are what the agents' own files say of them, below their heads, by name.
	Roles map[string]string
	// Limits is workflow.limits.
	Limits Limits
	// Worktree is workflow.worktree.
	Worktree Worktree
	// Tracker is workflow.tracker.
	Tracker Tracker
	// Sandbox is workflow.sandbox, which only the person can say, but for what a repository may ask for: see [Asked].
	Sandbox Sandbox
	// Secrets is workflow.secrets: names of variables whose values are secret although their names
	// do not look so; a * at the end stands for any rest. The values themselves never stand in a file.
	Secrets []string
}

// StopHook says when a session's model may stop.
type StopHook struct {
	// Enabled switches the hook on.
	Enabled bool
	// CheckReadyTasks blocks the stop while tasks are ready.
	CheckReadyTasks bool
	// CheckInProgress blocks the stop while tasks are in progress.
	CheckInProgress bool
	// MaxCycles is how often in all a stop is blocked; at least 1.
	MaxCycles int
	// AllowExitOn are the states that allow the stop: all_complete, all_blocked, context_checkpoint.
	AllowExitOn []string
	// CompletionPromises are the texts of promises that allow the stop; one that says that all is done does so only where
	// the state agrees.
	CompletionPromises []string
}

// Run is how an epic is driven.
type Run struct {
	// MaxParallel is how many agents work at a time, 1 to 64.
	MaxParallel int
	// Attempts is how often a task is tried before it is parked, 1 to 100.
	Attempts int
	// Engine is where agents run: one of [Kinds.Engines].
	Engine string
	// Into is the branch that the epic branch is merged into at the end; "" none.
	Into string
	// MaxDuration is how long one run may take; more than 0.
	MaxDuration time.Duration
	// MaxIterations is how many iterations one run may take, of all tasks; 0 is 100, or where that is
	// more what all attempts may come to at the tasks that it began with.
	MaxIterations int
	// MaxConsecutiveFailures is after how many failed attempts in a row a run stops; at least 1.
	MaxConsecutiveFailures int
}

// Agent is the coding program.
type Agent struct {
	// Harness is the client: one of [Harnesses].
	Harness string
	// Command is the program with its arguments, for the harness command.
	Command []string
	// Model is the model that the client is to use; "" leaves it to the client.
	Model string
	// PermissionMode is the client's own word for what may be done unasked.
	PermissionMode string
	// AllowedTools are the client's own words for tools that may be used unasked.
	AllowedTools []string
	// Env names the variables that are let through to agents; a * at the end stands for any rest.
	Env []string
}

// Definition is how an agent of one name iterates.
type Definition struct {
	// Enabled says whether it iterates; if not, it has one iteration an attempt.
	Enabled bool
	// MaxIterations is how many iterations an attempt may have; at least 1.
	MaxIterations int
	// CompletionPromises are the promises that it may end with; none means all that are known.
	CompletionPromises []string
	// CircuitBreakerThreshold is after how many red validations in a row it ends; 0 is 3.
	CircuitBreakerThreshold int
	// ValidationRules names those rules of the gate that are run after each iteration; none means
	// all of it in a loop of its own, and in a run the gate alone, when it lands.
	ValidationRules []string
}

// Iterations is how many iterations an attempt may have: one where it does not iterate.
func (d Definition) Iterations() int {
	if !d.Enabled {
		return 1
	}
	return d.MaxIterations
}

// Limits is what an agent, or a run, may use up. 0 is no limit.
type Limits struct {
	// TaskTime is for one agent process.
	TaskTime time.Duration
	// NoProgress is how long an agent may show no sign of life.
	NoProgress time.Duration
	// CostUSD is for one run, in US dollars as the client estimates them.
	CostUSD float64
	// Tokens is for one run.
	Tokens int64
	// TaskCostUSD is for all attempts at one task, as CostUSD.
	TaskCostUSD float64
	// TaskTokens is for all attempts at one task.
	TaskTokens int64
	// FileSize is for one file that an attempt commits or leaves, in bytes.
	FileSize int64
	// Files is how many files an attempt may change.
	Files int
	// CommitSize is for the contents that an attempt's commits add, together, in bytes.
	CommitSize int64
}

// Worktree is where agents work.
type Worktree struct {
	// Dir holds the worktrees; relative to the repository; "" is beside it.
	Dir string
}

// Tracker is where the tasks are.
type Tracker struct {
	// Kind is [TrackerAuto] or one of [Kinds.Trackers].
	Kind string
}

// The words for a level of the sandbox, beside the names of the levels.
const (
	SandboxAuto = "auto" // the strongest that the machine has
	SandboxOff  = "off"  // none
)

// Sandbox is the bounds of what orch starts on an agent's behalf. Paths that begin with ~/ are in the home.
type Sandbox struct {
	// Level is [SandboxAuto], [SandboxOff] or the name of a level.
	Level string
	// Read are more files and folders that can be read.
	Read []string
	// Write are more files and folders that can be written.
	Write []string
	// Share are folders of caches that can be read as they are, and written for the attempt alone.
	Share []string
	// Env names more variables that are let through.
	Env []string
	// Limits bound what an attempt, or a rule of the gate, may use; 0 is no limit.
	Limits SandboxLimits
	// Network is what they have of the network.
	Network Network
	// Ports are ports of this machine's loopback that are found on that of a sandbox which has no network.
	Ports []int
	// Docker says that the socket of docker is theirs to connect to: who does can do anything on the machine.
	Docker bool
	// UserNS says that they may make namespaces and mounts within their own, as sandboxes and rootless containers do.
	UserNS bool
	// Asked is what of this the repository asks for.
	Asked Asked
}

// SandboxLimits bound what is used at a time.
type SandboxLimits struct {
	// Processes is how many there may be.
	Processes int
	// Memory is for all of them together, in bytes.
	Memory int64
	// Disk is for the worktree, the home of the task and temporary files together, in bytes.
	Disk int64
}

// Network is what a sandbox lets through to the network.
type Network struct {
	// Agents is what agents have: one of [NetworkOpen], [NetworkListed] and [NetworkNone].
	Agents string
	// Allow are more hosts, or *.NAME for all below one, that can be reached where that is [NetworkListed].
	Allow []string
	// Gate is what the gate has: one of [NetworkAuto], [NetworkOpen] and [NetworkNone].
	Gate string
}

// The words for a network.
const (
	NetworkAuto = "auto" // none where there is a setup, which fetches what is needed; else open
	NetworkOpen = "open" // as it is outside
	NetworkNone = "none" // none but a loopback of its own
	// NetworkListed is the hosts of the client, those where packages come from, and what is said, all by a proxy.
	NetworkListed = "allowlist"
)

// Asked is what a repository wants of the sandbox beyond what it would have: a person is asked about it, as about what runs.
type Asked struct {
	// Read are those of [Sandbox.Read] that it names.
	Read []string
	// Gate is the [Network.Gate] that it names; "" none.
	Gate string
}

// GateOpen reports whether the gate has the network as it is outside.
func (c Config) GateOpen() bool {
	switch c.Sandbox.Network.Gate {
	case NetworkAuto:
		return len(c.Setup) == 0
	case NetworkNone:
		return false
	}
	return true
}

// defaults is what holds where nobody says otherwise.
func defaults() Config {
	return Config{
		StopHook: StopHook{
			Enabled: true, CheckReadyTasks: true, CheckInProgress: true, MaxCycles: 50,
			AllowExitOn:        []string{"all_complete", "all_blocked", "context_checkpoint"},
			CompletionPromises: []string{"ALL TASKS COMPLETE", "EPIC COMPLETE", "BLOCKED - NEEDS USER", "CONTEXT LIMIT - CHECKPOINT"},
		},
		Run:   Run{MaxParallel: 4, Attempts: 3, Engine: EngineLocal, MaxDuration: 8 * time.Hour, MaxConsecutiveFailures: 3},
		Agent: Agent{Harness: "claude"},
		Agents: map[string]Definition{
			"me": {Enabled: true, MaxIterations: 15}, "qa": {Enabled: true, MaxIterations: 10}, "sec": {Enabled: true, MaxIterations: 10},
			"doc": {Enabled: true, MaxIterations: 6}, "do": {Enabled: true, MaxIterations: 8},
		},
		Roles:   map[string]string{},
		Limits:  Limits{TaskTime: 45 * time.Minute, NoProgress: 10 * time.Minute, FileSize: 100 << 20, Files: 50000, CommitSize: 500 << 20},
		Tracker: Tracker{Kind: TrackerAuto},
		Sandbox: Sandbox{Level: SandboxAuto, Network: Network{Agents: NetworkOpen, Gate: NetworkAuto}, Limits: SandboxLimits{Processes: 2000, Disk: 50 << 30}},
	}
}

// Origins says of every setting what it is and where that comes from, in a fixed order.
type Origins []Origin

// Origin is one setting.
type Origin struct {
	// Key is the path below workflow, like run.max_parallel.
	Key string
	// Value is the value as it would stand in project.yaml.
	Value string
	// From is "default", the file with the line, like project.yaml:7, or the variable.
	From string
	// Full is the value with all that is in it, where Value names only what it has.
	Full string
	// Repository says that the repository's own files say it, or a part of it.
	Repository bool
}

// Said reports whether the repository itself says anything of a setting.
func (o Origins) Said(key string) bool {
	return slices.ContainsFunc(o, func(one Origin) bool { return one.Key == key && one.Repository })
}

// Values is each setting in full, by its key.
func (o Origins) Values() map[string]string {
	out := map[string]string{}
	for _, one := range o {
		out[one.Key] = one.Full
	}
	return out
}

// IsDefault reports whether nobody says anything of a setting.
func (o Origins) IsDefault(key string) bool {
	return slices.ContainsFunc(o, func(one Origin) bool { return one.Key == key && one.From == fromDefault })
}

const fromDefault = "default"

// File is a file with settings.
type File struct {
	// Path is where it is, for errors.
	Path string
	// Name is what [Origin.From] calls it; "" is the last component of Path.
	Name string
	// Text is its content; nil when there is none.
	Text []byte
}

// Load reads the settings from data, which is the content of the file path, or nil when there
// is none, and from env, "NAME=value". Agents may be defined in files of their own, which
// what is said in data overrides. Any engine and tracker may be named. It fails as [Sources.Load] does.
func Load(path string, data []byte, env []string, agents ...AgentFile) (Config, Origins, error) {
	return Sources{Repo: File{Path: path, Text: data}, Env: env, Agents: agents}.Load()
}

// Sources are all that settings are read from; what is not there is left out.
type Sources struct {
	// Own is a person's own file, which the repository's overrides.
	Own File
	// Repo is the repository's file.
	Repo File
	// Env is the environment, "NAME=value".
	Env []string
	// Agents are the agents' files, which Repo overrides.
	Agents []AgentFile
	// Kinds are the words that choose an engine and a tracker.
	Kinds Kinds
}

// Load reads the settings. It fails with an [*Error] for the first thing that it does not understand.
func (from Sources) Load() (Config, Origins, error) {
	c := defaults()
	named := map[string][]string{} // the rules that agents' files name
	for _, f := range from.Agents {
		c.Roles[f.name()] = f.body()
		if err := c.define(f, named); err != nil {
			return Config{}, nil, err
		}
	}
	s := schema(&c, from.Kinds)
	agentsOwn := s.named("agents")
	if err := s.readFile(from.Own, false); err != nil {
		return Config{}, nil, err
	}
	if len(named) > 0 {
		agentsOwn.from, agentsOwn.repo = AgentsFolder, true
	}
	mine, read := len(c.Protect), len(c.Sandbox.Read)
	if err := s.readFile(from.Repo, true); err != nil {
		return Config{}, nil, err
	}
	if err := s.onlyAdds(c.Protect[mine:]); err != nil {
		return Config{}, nil, err
	}
	if err := s.onlyPersons("sandbox", "read", "network.gate"); err != nil {
		return Config{}, nil, err
	}
	c.Sandbox.Asked.Read = slices.Clone(c.Sandbox.Read[read:])
	if s.origins().Said("sandbox.network.gate") {
		c.Sandbox.Asked.Gate = c.Sandbox.Network.Gate
	}
	if err := s.readEnv(from.Env); err != nil {
		return Config{}, nil, err
	}
	s.unattended(&c.Agent)
	if err := s.check(c); err != nil {
		return Config{}, nil, err
	}
	c.keepKnown(named)
	return c, s.origins(), nil
}

// onlyPersons refuses what the repository says of a section that is the person's own, but for some keys.
func (s settings) onlyPersons(section string, but ...string) error {
	for key, one := range s.named(section).within.values() {
		if one.repo && !slices.Contains(but, key) {
			return one.fault("workflow."+section+"."+key, "is not for a repository to say", "say it in your own file: orch config explain "+section+"."+key)
		}
	}
	return nil
}

// onlyAdds holds the repository to protecting more than others do, never less.
func (s settings) onlyAdds(globs []string) error {
	for _, glob := range globs {
		if strings.HasPrefix(glob, "!") {
			return s.named("protect").fault("workflow.protect", "has "+text.Quote(glob, 40)+", which takes protection away", "say this in your own file, where only you can: orch config explain protect")
		}
	}
	return nil
}
