package document

import (
	"time"

	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/epic"
)

// Version is which orch this is.
type Version struct {
	// Version is its version.
	Version string `json:"version"`
	// Commit is what it was built from; "" where that is not known.
	Commit string `json:"commit"`
}

// Schema is "orch.version/1".
func (Version) Schema() string { return "orch.version/1" }

// Text is the answer of a command that is a text: help, and scripts for shells.
type Text struct {
	// Command is the command that it is of.
	Command string `json:"command"`
	// Text is what is printed without --json.
	Text string `json:"text"`
}

// Schema is "orch.text/1".
func (Text) Schema() string { return "orch.text/1" }

// Init is what orch init has changed.
type Init struct {
	// Changed are the paths of the files, below the repository.
	Changed []string `json:"changed"`
	// Message says the same for a person, and what to do next.
	Message string `json:"message"`
}

// Schema is "orch.init/1".
func (Init) Schema() string { return "orch.init/1" }

// Doctor is what was looked at, and what is wrong.
type Doctor struct {
	// Findings are the things that were looked at.
	Findings []Finding `json:"findings"`
	// Problems is how many of them are wrong.
	Problems int `json:"problems"`
}

// Schema is "orch.doctor/1".
func (Doctor) Schema() string { return "orch.doctor/1" }

// Finding is one thing that was looked at.
type Finding struct {
	// What it is, in a word or two.
	What string `json:"what"`
	// OK says that nothing is wrong with it.
	OK bool `json:"ok"`
	// Says is what was found.
	Says string `json:"says"`
	// Fix is a command or advice; absent for none.
	Fix string `json:"fix,omitempty"`
}

// GC is what was removed of finished work.
type GC struct {
	// Epic is the id of the epic.
	Epic epic.TaskID `json:"epic"`
	// DryRun says that nothing was removed, and that Removed is what would be.
	DryRun bool `json:"dry_run"`
	// Removed are paths, branches and references.
	Removed []string `json:"removed"`
	// Kept is what could not be removed.
	Kept []KeptPath `json:"kept"`
}

// Schema is "orch.gc/1".
func (GC) Schema() string { return "orch.gc/1" }

// KeptPath is something that could not be removed.
type KeptPath struct {
	// Path is its path, or the name of the branch.
	Path string `json:"path"`
	// Why it could not.
	Why string `json:"why"`
}

// Purge is what was forgotten.
type Purge struct {
	// DryRun says that nothing was removed, and that Removed is what would be.
	DryRun bool `json:"dry_run"`
	// Removed is how much of what.
	Removed Purged `json:"removed"`
	// NotForgotten says what purge leaves.
	NotForgotten string `json:"not_forgotten"`
}

// Schema is "orch.purge/1".
func (Purge) Schema() string { return "orch.purge/1" }

// Purged is how much was forgotten.
type Purged struct {
	// Texts is how many last words, questions and feedbacks.
	Texts int `json:"texts"`
	// Attempts is how many folders of attempts, with briefs, logs and checkpoints.
	Attempts int `json:"attempts"`
	// Others is how many files that may quote them: snapshots, and damaged ends of journals.
	Others int `json:"others"`
	// Bytes is how much all that is.
	Bytes int64 `json:"bytes"`
	// Inline is how many texts stay, since an older orch wrote them into the journal itself.
	Inline int `json:"inline"`
	// Open is how many attempts stay, since they have not ended.
	Open int `json:"open"`
}

// Config is the settings with where each comes from.
type Config struct {
	// Settings are the settings, in the order of docs/settings.md.
	Settings []Setting `json:"settings"`
}

// Schema is "orch.config/1".
func (Config) Schema() string { return "orch.config/1" }

// Setting is one setting.
type Setting struct {
	// Key is the path below workflow, like run.max_parallel.
	Key string `json:"key"`
	// Value is the value as it would stand in project.yaml.
	Value string `json:"value"`
	// From is "default", the file with the line, like project.yaml:7, or the variable.
	From string `json:"from"`
}

// Trust is what a repository would have run, and whether a person has allowed it.
type Trust struct {
	// Digest names exactly this plan: sha256: and 64 digits.
	Digest string `json:"digest"`
	// State is trusted, untrusted or denied.
	State string `json:"state"`
	// Needed says that it is not trusted.
	Needed bool `json:"needed"`
	// Repository is what the answer is kept by, wherever the repository is.
	Repository string `json:"repository"`
	// Store is the folder that keeps the answers.
	Store string `json:"store"`
	// Items are what would run, or settles what may run or how work is judged.
	Items []plan.Item `json:"items"`
	// Changes are what has changed since a plan was last trusted; empty for nothing.
	Changes []plan.Change `json:"changes"`
	// TrustedAt is when that was, UTC; absent where none was, or where this one is trusted.
	TrustedAt time.Time `json:"trusted_at,omitzero"`
	// Fix is the command that allows exactly this plan.
	Fix string `json:"fix"`
}

// Schema is "orch.trust/1".
func (Trust) Schema() string { return "orch.trust/1" }

// TrustRevoked confirms that the answers about a repository are forgotten.
type TrustRevoked struct {
	// State is untrusted.
	State string `json:"state"`
	// Revoked is how many answers there were.
	Revoked int `json:"revoked"`
}

// Schema is "orch.trust/1".
func (TrustRevoked) Schema() string { return "orch.trust/1" }

// TrustNeeded is the trust that a later command needs.
type TrustNeeded struct {
	// Needed says that the command will be refused until a person has typed the one in fix.
	Needed bool `json:"needed"`
	// State is trusted, untrusted or denied.
	State string `json:"state"`
	// Digest names the plan: sha256: and 64 digits.
	Digest string `json:"digest"`
	// Fix is the command that a person types; absent where none is needed.
	Fix string `json:"fix,omitempty"`
}
