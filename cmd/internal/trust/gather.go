package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/git"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/validation"
	"github.com/beadsorch/orch/stophook/registry"
)

// gatherPlan makes the plan of a project: of its settings, of what clients would run by the
// files in its main work tree and in HEAD, of git's own configuration, of the hooks of its
// tasks, and of the loop in the work tree. It fails where one of these cannot be read.
func gatherPlan(ctx context.Context, w *project.Project) (plan.Plan, error) {
	items := slices.Concat(gateItems(w.Config, w.Origins), setupItems(w.Config, w.Origins), agentItems(w.Config, w.Origins), pathItems(w.Config, w.Origins))
	files, err := clientItems(ctx, w)
	if err != nil {
		return nil, err
	}
	hooks, err := hookItems(w.Home)
	if err != nil {
		return nil, err
	}
	loop, err := LoopItems(w.Root)
	if err != nil {
		return nil, err
	}
	return plan.New(slices.Concat(items, files, driverItems(w.Repo), hooks, loop)...), nil
}

// gateItems are the gate's rules: the commands that run, and what else judges.
func gateItems(c config.Config, from config.Origins) (items []plan.Item) {
	for _, r := range c.Gate {
		if !r.Off {
			i := ruleItem(r)
			i.Own = !from.Said("gate")
			items = append(items, i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		d := c.Agents[name]
		if len(d.ValidationRules) > 0 && d.Enabled {
			rules := slices.Sorted(slices.Values(d.ValidationRules))
			items = append(items, plan.Item{Part: plan.Settings, Kind: "rules asked after each turn of agent", Name: name, Text: strings.Join(rules, ", "), Own: !from.Said("agents")})
		}
	}
	return items
}

// setupItems are the commands that make a worktree ready, and what of the sandbox the repository wants opened.
func setupItems(c config.Config, from config.Origins) (items []plan.Item) {
	for n, line := range c.Setup {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "setup command", Name: strconv.Itoa(n + 1), Text: line, Detail: "with the network", Own: !from.Said("setup")})
	}
	for _, path := range c.Sandbox.Asked.Read {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "path that can be read in the sandbox", Text: path})
	}
	if asked := c.Sandbox.Asked.Gate; asked != "" {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "network of the gate", Text: asked})
	}
	return items
}

func ruleItem(r validation.Rule) plan.Item {
	i := plan.Item{Part: plan.Settings, Name: r.Name}
	switch r.Type {
	case validation.Command, validation.Custom:
		i.Kind, i.Text = "gate command", r.Command
		if r.Type == validation.Custom {
			i.Kind = "gate command that judges by itself"
		}
		if r.Dir != "" {
			i.Detail = "in the folder " + r.Dir
		}
		return i
	}
	r.Parallel, r.Timeout, r.Name = false, 0, ""
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a rule always has JSON
	}
	i.Kind, i.Text = "gate rule", string(text)
	return i
}

// agentItems are the agent's program, and what widens what it may do.
func agentItems(c config.Config, from config.Origins) (items []plan.Item) {
	a := c.Agent
	add := func(key, kind, name, text string) {
		items = append(items, plan.Item{Part: plan.Settings, Kind: kind, Name: name, Text: text, Own: !from.Said(key)})
	}
	if _, known := all.Client(a.Harness); known {
		add("agent.harness", "agent client", "", a.Harness)
	} else {
		add("agent.command", "agent program", "", text.ShellWords(a.Command))
	}
	if !from.IsDefault("agent.permission_mode") {
		add("agent.permission_mode", "agent permission mode", "", a.PermissionMode)
	}
	if !from.IsDefault("agent.allowed_tools") {
		for _, tool := range a.AllowedTools {
			add("agent.allowed_tools", "agent tool that needs no permission", "", tool)
		}
	}
	for _, name := range a.Env {
		text := ""
		if strings.HasSuffix(name, "*") {
			text = "all variables whose names begin with " + strings.TrimSuffix(name, "*")
		}
		add("agent.env", "variable that agents and the gate are given", name, text)
	}
	return items
}

// pathItems are what orch itself would write outside of its own places, and what no task may
// change.
func pathItems(c config.Config, from config.Origins) (items []plan.Item) {
	if c.Worktree.Dir != "" {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "folder for worktrees", Text: c.Worktree.Dir, Own: !from.Said("worktree.dir")})
	}
	if c.Run.Into != "" {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "branch that the finished epic is landed on", Text: c.Run.Into, Own: !from.Said("run.into")})
	}
	for _, glob := range c.Protect {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "protected path", Text: glob, Own: !from.Said("protect")})
	}
	return items
}

// driverItems are the filters and merge drivers that git runs for orch: what was configured when
// the repository was opened.
func driverItems(repo *git.Repo) (items []plan.Item) {
	for _, d := range repo.Drivers() {
		items = append(items, plan.Item{Part: plan.Settings, Kind: "git driver", Name: d.Key, Text: d.Command})
	}
	return items
}

// hookItems are the programs of all tasks' hooks that are asked.
func hookItems(home string) (items []plan.Item, err error) {
	hooks, err := registry.Store{Path: filepath.Join(home, "hooks.json")}.All("")
	if err != nil {
		return nil, err
	}
	for _, h := range hooks {
		if h.Enabled {
			items = append(items, HookItems(h)...)
		}
	}
	return items, nil
}

// HookItems are the programs of one hook.
func HookItems(h registry.Hook) []plan.Item { return specItems(h.TaskID, h.Spec, 0) }

// maxHookDepth is deeper than hooks may be composed.
const maxHookDepth = 16

func specItems(task string, s registry.Spec, depth int) (items []plan.Item) {
	if depth > maxHookDepth {
		return nil // which is never asked
	}
	if len(s.Command) > 0 {
		items = append(items, plan.Item{Part: plan.Hooks, Kind: "hook program of task", Name: task, Text: text.ShellWords(s.Command)})
	}
	for _, below := range s.Hooks {
		items = append(items, specItems(task, below, depth+1)...)
	}
	if s.Then != nil {
		items = append(items, specItems(task, *s.Then, depth+1)...)
	}
	return items
}

// LoopCommands is where the commands of a loop's criteria are, below the project.
const LoopCommands = ".loop/commands.json"

// LoopItems are the commands that measure the criteria of the loop in a project.
func LoopItems(project string) (items []plan.Item, err error) {
	text, err := os.ReadFile(filepath.Join(project, LoopCommands))
	if errors.Is(err, fs.ErrNotExist) || project == "" {
		return nil, nil
	}
	commands := map[string]string{}
	if err == nil {
		err = json.Unmarshal(text, &commands)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the loop's commands: %w", err)
	}
	for name, command := range commands {
		if command != "" {
			items = append(items, LoopItem(name, command))
		}
	}
	return items, nil
}

// LoopItem is the command of one criterion.
func LoopItem(name, command string) plan.Item {
	return plan.Item{Part: plan.Loop, Kind: "command of loop criterion", Name: name, Text: command}
}

// identityOf names a repository by what it is, not by where it is or what it says of itself:
// the ids of its first commits. One without commits, and a folder that is none, are named by
// their place.
func identityOf(ctx context.Context, repo *git.Repo, dir string) (string, error) {
	if repo == nil {
		return "folder " + dir, nil
	}
	res, err := repo.Do(ctx, git.Call{Args: []string{"rev-list", "--max-parents=0", "HEAD", "--"}, Env: []string{"GIT_NO_REPLACE_OBJECTS=1"}})
	if err != nil {
		if brokenErr := repo.CheckHead(ctx); brokenErr != nil { // which says nothing of what the repository is
			return "", brokenErr
		}
		if _, headErr := repo.Resolve(ctx, "HEAD"); errors.Is(headErr, git.ErrNoSuchRef) {
			return "repository " + repo.CommonDir(), nil
		}
		return "", fmt.Errorf("looking for the first commits of the repository: %w", err)
	}
	id := "commits " + strings.Join(slices.Sorted(strings.FieldsSeq(string(res.Stdout))), " ")
	if top := repo.WorkTree(); top != "" && filepath.Dir(repo.CommonDir()) != top {
		id += " at " + top // whose .git points elsewhere: anyone can write such a file
	}
	return id, nil
}
