package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/codex"
	"github.com/beadsorch/orch/stophook/copilot"
	"github.com/beadsorch/orch/stophook/settings"
)

// hookFindings say of each client whether the stop hook is installed, once, and would fire.
// A stop hook that is broken lets every session end, and no client says so.
func (w doctor) hookFindings(ctx context.Context) (out []finding) {
	for _, k := range workspace.ClientsWithHooks() {
		k = k.Quick()
		if f, there := w.hookFinding(ctx, k); there {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		out = append(out, finding{"stop hook", true, "not installed (orch init); orch run needs none", ""})
	}
	if _, refused, err := w.workspace.RunTasks("EPIC", ""); refused != nil || err != nil {
		out = append(out, finding{"prompt", false, text.Head(errors.Join(refused, err).Error()), "mend that file, or take it away"})
	}
	return out
}

// hookFinding looks at one client; there is false when orch is not installed for it.
func (w doctor) hookFinding(ctx context.Context, k client.Client) (f finding, there bool) {
	bad := func(says, fix string) (finding, bool) {
		return finding{"stop hook", false, k.Title + ": " + says, fix}, true
	}
	stop := k.Hooks[0]
	commands, err := w.stopCommands(k)
	if err != nil {
		return bad(text.Head(err.Error()), "mend that file")
	}
	ours, others, fires := 0, []string{}, ""
	for _, c := range commands {
		switch {
		case stop.Is(c):
			ours, fires = ours+1, c
		case k.Name == "claude" && strings.Contains(c, claude.ShimFile) && w.hasShim():
			ours, fires = ours+1, c
		default:
			others = append(others, c)
		}
	}
	again := "orch init --undo --client " + k.Name + ", then orch init --client " + k.Name
	switch {
	case ours == 0:
		return finding{}, false
	case ours > 1:
		return bad(fmt.Sprintf("installed %d times", ours), again)
	case len(others) > 0:
		return bad("installed beside another one, which may fight it: "+text.Clause(others[0], 100), "take that one out")
	case k.Name == "claude" && w.hooksOff():
		return bad("installed, and disableAllHooks is set", "take disableAllHooks out of the settings")
	case w.workspace.Project.Invocation.LookPath("orch") == "":
		return bad("installed, and orch is not on PATH: it would never fire", "put orch on PATH")
	}
	took, err := w.fire(ctx, stop.Event, fires)
	if err != nil {
		return bad("installed, and does not work: "+text.Head(err.Error()), again)
	}
	says := fmt.Sprintf("%s: installed once, answers in %d ms", k.Title, took.Milliseconds())
	switch trust, fix := w.trusted(ctx, k); {
	case fix != "":
		return bad("installed, and "+trust, fix)
	case trust != "":
		says += "; " + trust
	}
	return finding{"stop hook", true, says, ""}, true
}

// stopCommands are all that run when a session of the client wants to end.
func (w doctor) stopCommands(k client.Client) (out []string, err error) {
	if k.Name == "copilot" {
		return w.copilotCommands(k)
	}
	for _, path := range append([]string{k.Settings}, k.Elsewhere...) {
		body, err := os.ReadFile(w.placed(path))
		if err != nil {
			continue // there is none
		}
		commands, err := settings.Commands(body, k.Hooks[0].Event)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, commands...)
	}
	return out, nil
}

// placed is where a file is that begins with ~/, or is the repository's. Two clients have a
// variable for their folder.
func (w doctor) placed(path string) string {
	for folder, name := range map[string]string{"~/.claude/": "CLAUDE_CONFIG_DIR", "~/.codex/": "CODEX_HOME"} {
		if rest, ok := strings.CutPrefix(path, folder); ok && w.workspace.Project.Invocation.Getenv(name) != "" {
			return filepath.Join(w.workspace.Project.Invocation.Getenv(name), rest)
		}
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(w.workspace.Project.Invocation.Getenv("HOME"), rest)
	}
	return filepath.Join(w.workspace.Project.Root, path)
}

// copilotCommands reads the hook files of Copilot CLI, which have a shape of their own. Of
// the hooks in Claude Code's settings, which it runs too, orch's know to keep out of the way.
func (w doctor) copilotCommands(k client.Client) (out []string, err error) {
	files, err := filepath.Glob(filepath.Join(w.workspace.Project.Root, filepath.Dir(copilot.HooksFile), "*.json"))
	if err != nil || !cli.Exists(filepath.Join(w.workspace.Project.Root, copilot.HooksFile)) {
		return nil, err
	}
	for _, path := range files {
		var doc struct {
			Hooks map[string][]struct {
				Bash string `json:"bash"`
			} `json:"hooks"`
		}
		body, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(body, &doc)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		for _, h := range doc.Hooks[k.Hooks[0].Event] {
			out = append(out, h.Bash)
		}
	}
	body, err := os.ReadFile(filepath.Join(w.workspace.Project.Root, claude.Client().Settings))
	if err != nil {
		return out, nil
	}
	also, err := settings.Commands(body, "Stop")
	for _, c := range also {
		if !claude.Client().Quick().Hooks[0].Is(c) {
			out = append(out, c)
		}
	}
	return out, err
}

// hasShim reports whether the team's own hook file hands over to orch.
func (w doctor) hasShim() bool {
	body, err := os.ReadFile(filepath.Join(w.workspace.Project.Root, claude.ShimFile))
	return err == nil && claude.IsShim(string(body))
}

// hooksOff reports whether one of Claude Code's settings switches all hooks off.
func (w doctor) hooksOff() bool {
	k := claude.Client()
	return slices.ContainsFunc(append([]string{k.Settings}, k.Elsewhere...), func(path string) bool {
		var doc struct {
			Off bool `json:"disableAllHooks"`
		}
		body, err := os.ReadFile(w.placed(path))
		return err == nil && json.Unmarshal(body, &doc) == nil && doc.Off
	})
}

// fire runs the hook as the client would, for a session without an id, which nothing can be bound to: it
// has to say nothing, with exit 0.
func (w doctor) fire(ctx context.Context, event, line string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*stophook.Timeout)
	defer cancel()
	began := w.workspace.Now()
	input := fmt.Sprintf(`{"session_id":"","cwd":%q,"hook_event_name":%q,"stop_hook_active":false}`, w.workspace.Project.Root, event)
	res, err := w.workspace.Project.Proc.Run(ctx, command.Cmd{Dir: w.workspace.Project.Root, Argv: []string{"sh", "-c", line}, Env: w.workspace.Project.SystemEnv(), Stdin: []byte(input), MaxOutputBytes: 4096, Bound: true})
	switch {
	case err != nil:
		return 0, err
	case res.ExitCode != 0:
		return 0, fmt.Errorf("exit %d: %s", res.ExitCode, text.Head(string(res.Stderr)))
	case len(res.Stderr) > 0:
		return 0, errors.New(text.Head(string(res.Stderr)))
	case len(res.Stdout) > 0:
		return 0, fmt.Errorf("it holds a session that is not bound: %s", text.Head(string(res.Stdout)))
	}
	return w.workspace.Now().Sub(began), nil
}

// trusted says whether the client would run the hook, as far as it can be asked without
// spending a token; fix is "" unless it would not.
func (w doctor) trusted(ctx context.Context, k client.Client) (says, fix string) {
	if k.Name != "codex" {
		return k.Trust, ""
	}
	binary := w.workspace.Project.Invocation.LookPath(k.Name)
	if binary == "" {
		return k.Trust, ""
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	listed, err := codex.List(ctx, w.workspace.Project.Proc.Run, binary, w.workspace.Project.Root, w.workspace.Project.SystemEnv("CODEX_*"))
	if err != nil {
		return "whether Codex trusts it is not known: " + text.Head(err.Error()), ""
	}
	for _, h := range k.Hooks {
		at := slices.IndexFunc(listed, func(l codex.Listed) bool { return h.Is(l.Command) })
		switch {
		case at < 0:
			return "Codex does not see it: the folder is not trusted", "start codex here and trust the folder, then type /hooks"
		case !listed[at].Enabled || listed[at].Trust != "trusted":
			return "Codex does not trust it, and would skip it without a word", "in codex type /hooks and trust the three"
		}
	}
	return "Codex trusts it", ""
}
