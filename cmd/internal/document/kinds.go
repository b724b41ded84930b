package document

import (
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
)

// Kind is a row of the list of all documents.
type Kind struct {
	// Zero is an empty document of the kind.
	Zero cli.Document
	// Variant tells kinds with one tag from each other; "" where the tag has one kind. Kinds
	// with one tag agree in the fields that they share.
	Variant string
	// Commands print it, each without --json.
	Commands []string
}

// Name names the kind: its tag, and its variant where it has one.
func (k Kind) Name() string {
	name := strings.ReplaceAll(k.Zero.Schema(), "/", "-")
	if k.Variant != "" {
		name += "." + k.Variant
	}
	return name
}

// Kinds are all documents.
func Kinds() []Kind {
	return []Kind{
		{Status{}, "", []string{"orch status", "orch run", "orch watch, before the first run"}},
		{Progress{}, "", []string{"the tool progress_summary of orch mcp"}},
		{Started{}, "", []string{"orch run --detach"}},
		{Event{}, "", []string{"orch events, a line each", "orch watch, a line each"}},
		{Next{}, "", []string{"orch next"}},
		{Land{}, "", []string{"orch land"}},
		{Verify{}, "", []string{"orch verify"}},
		{Asked{}, "", []string{"orch retry", "orch skip", "orch answer", "orch stop", "orch pause", "orch continue"}},
		{EpicSettled{}, "", []string{"orch epic restore", "orch epic accept", "orch epic merge"}},
		{Plan{}, "", []string{"orch plan"}},
		{Logs{}, "", []string{"orch logs"}},
		{Diff{}, "", []string{"orch diff"}},
		{Stats{}, "", []string{"orch stats"}},
		{Explain{}, "", []string{"orch explain"}},
		{Iteration{}, "", []string{"orch iteration start", "orch iteration next", "orch iteration complete", "orch iteration status", "orch iteration limit"}},
		{IterationLimit{}, "limit", []string{"orch iteration limit, of a task whose attempts a run iterates"}},
		{Validate{}, "", []string{"orch iteration validate"}},
		{CheckpointCreated{}, "create", []string{"orch checkpoint create"}},
		{CheckpointExpired{}, "expire", []string{"orch checkpoint expire"}},
		{CheckpointsRemoved{}, "cleanup", []string{"orch checkpoint cleanup"}},
		{Checkpoints{}, "", []string{"orch checkpoint list"}},
		{Resume{}, "", []string{"orch checkpoint resume"}},
		{HookRegistered{}, "register", []string{"orch hook register"}},
		{HookEvaluated{}, "evaluate", []string{"orch hook evaluate"}},
		{HookList{}, "list", []string{"orch hook list"}},
		{HooksCleared{}, "clear", []string{"orch hook clear"}},
		{HookSwitched{}, "switch", []string{"orch hook enable", "orch hook disable"}},
		{HookMetrics{}, "", []string{"orch hook metrics"}},
		{Stop{}, "", []string{"orch stop-hook --explain"}},
		{SessionBound{}, "bind", []string{"orch session bind"}},
		{SessionReleased{}, "release", []string{"orch session release"}},
		{Sessions{}, "", []string{"orch session list"}},
		{Loop{}, "", []string{"orch loop start", "orch loop verify", "orch loop take", "orch loop status", "orch loop step", "orch loop cancel", "orch loop set"}},
		{Tasks{}, "", []string{"orch tasks create", "orch tasks list", "orch tasks ready", "orch tasks show", "orch tasks update"}},
		{TaskClosed{}, "close", []string{"orch tasks close"}},
		{DependencyChanged{}, "dep", []string{"orch tasks dep add", "orch tasks dep remove"}},
		{TasksImported{}, "import", []string{"orch tasks import"}},
		{Task{}, "", []string{"orch task get"}},
		{TaskUpdated{}, "update", []string{"orch task update"}},
		{Product{}, "", []string{"orch task store"}},
		{Init{}, "", []string{"orch init"}},
		{Doctor{}, "", []string{"orch doctor"}},
		{Sandbox{}, "", []string{"orch sandbox explain"}},
		{GC{}, "", []string{"orch gc"}},
		{Purge{}, "", []string{"orch purge"}},
		{Config{}, "", []string{"orch config explain"}},
		{Trust{}, "", []string{"orch trust"}},
		{TrustRevoked{}, "revoke", []string{"orch trust --revoke"}},
		{Version{}, "", []string{"orch version"}},
		{Text{}, "", []string{"orch help", "orch completion bash", "orch completion fish", "orch completion powershell", "orch completion zsh"}},
		{cli.ErrorDocument{}, "", []string{"each command that fails"}},
	}
}
