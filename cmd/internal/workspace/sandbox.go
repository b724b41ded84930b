package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/cmd/internal/detect"
	"github.com/beadsorch/orch/cmd/internal/inside"
	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/cell"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Sandbox is what bounds that which orch starts on an agent's behalf, at the level that the settings name; nil where that is off. It fails with
// the error NO_SANDBOX where the machine has none.
func (w *Workspace) Sandbox(ctx context.Context) (engine.Sandbox, error) { return w.sandbox(ctx, nil) }

// sandbox is Sandbox, with who listens to agents from within.
func (w *Workspace) sandbox(ctx context.Context, serve func(cell.Visit) (func() error, error)) (engine.Sandbox, error) {
	cells, err := w.cells(ctx, serve)
	if cells == nil {
		return nil, err // none, and no interface with none in it
	}
	return cells, err
}

// Cells is [Workspace.Sandbox] as the cells that it is.
func (w *Workspace) Cells(ctx context.Context) (*cell.Cells, error) { return w.cells(ctx, nil) }

func (w *Workspace) cells(ctx context.Context, serve func(cell.Visit) (func() error, error)) (*cell.Cells, error) {
	if w.Project.Config.Sandbox.Level == config.SandboxOff {
		return nil, nil
	}
	if runtime.GOOS != "linux" && w.Project.Config.Sandbox.Level == config.SandboxAuto {
		return nil, nil // said by its level
	}
	place, err := w.boundPlace()
	if err != nil {
		return nil, err
	}
	box, err := w.chooseBox(ctx, place)
	if err != nil {
		return nil, err
	}
	l := w.Project.Config.Sandbox.Limits
	return cell.New(cell.Options{
		Limits: command.Limits{Processes: l.Processes, Memory: l.Memory, Disk: l.Disk},
		Repo:   w.Project.Repo, Box: box, Place: place, Unbounded: w.Project.Proc.RunGuarded, Getenv: w.Project.Invocation.Getenv,
		Needs: func(client string) harness.Needs {
			c, _ := all.Client(client)
			return c.Needs
		},
		Out:    w.out(),
		Serve:  serve,
		Failed: func() { _ = SandboxMemory(w.Project).Forget() }, // it is tried again all the same when something changes
	}), nil
}

// RunBounded runs a command within the bounds of the sandbox, if the settings have one. It fails as [Workspace.Sandbox] does, and
// as a [command.Runner] does.
func (w *Workspace) RunBounded(ctx context.Context, c command.Cmd) (command.Result, error) {
	return w.InRoom(engine.Room{})(ctx, c)
}

// Served reports whether an agent asks, from within a sandbox.
func (w *Workspace) Served() bool { return w.Project.Invocation.Getenv(inside.ServedVariable) != "" }

// InRoom gives what runs commands that share a room, as [Workspace.RunBounded] does.
func (w *Workspace) InRoom(r engine.Room) command.Runner {
	return func(ctx context.Context, c command.Cmd) (command.Result, error) {
		if told := w.Project.Invocation.Getenv(inside.BoundsVariable); told != "" { // an agent asks, from the sandbox of its attempt
			var bounds inside.Bounds
			if err := json.Unmarshal([]byte(told), &bounds); err != nil {
				return command.Result{ExitCode: -1}, err
			}
			return w.Project.Proc.RunGuarded(ctx, bounds.Wrap(c))
		}
		box, err := w.Sandbox(ctx)
		switch {
		case err != nil:
			return command.Result{ExitCode: -1}, err
		case w.Served(): // and nobody has told within which bounds
			return command.Result{ExitCode: -1}, errors.New("a command that an agent in a sandbox asks for runs within that alone")
		case box == nil:
			return w.Project.Proc.RunGuarded(ctx, c)
		}
		return box.In(r)(ctx, c)
	}
}

// out is what of the network a sandbox lets through.
func (w *Workspace) out() cell.Out {
	said := w.Project.Config.Sandbox
	modes := map[string]cell.Mode{config.NetworkOpen: cell.Open, config.NetworkListed: cell.Listed, config.NetworkNone: cell.None}
	return cell.Out{Agents: modes[said.Network.Agents], Named: said.Network.Allow, Ports: said.Ports, Hosts: detect.Hosts(os.DirFS(w.Project.Root))}
}

// boundPlace is what is the same for all that runs in a sandbox of this repository.
func (w *Workspace) boundPlace() (sandbox.Place, error) {
	a := w.Project.Invocation
	home := a.Getenv("HOME")
	if !filepath.IsAbs(home) || filepath.Clean(home) == "/" {
		return sandbox.Place{}, &cli.Error{Code: "NO_SANDBOX", What: "HOME is not set to a folder: what is to be hidden is not known", Exit: cli.ExitNotReady,
			Fix: []string{"set HOME", "orch run --no-sandbox"}}
	}
	p := sandbox.Place{CommonDir: w.Project.Repo.CommonDir(), Checkout: w.Project.Repo.WorkTree(), Siblings: w.Project.Worktrees(), Home: filepath.Clean(home), Program: a.Self, Network: true}
	p.Hide = PersonsFolders(a)
	said := w.Project.Config.Sandbox
	for _, s := range []struct {
		setting string
		paths   []string
		into    *[]string
	}{{"sandbox.read", said.Read, &p.Read}, {"sandbox.write", said.Write, &p.Write}, {"sandbox.share", said.Share, &p.Caches}} {
		for _, path := range s.paths {
			path = inHome(p.Home, path)
			if !filepath.IsAbs(path) {
				return p, &cli.Error{Code: "SETTINGS", What: fmt.Sprintf("workflow.sandbox names %s, which is no absolute path", path), Exit: cli.ExitUsage, Fix: []string{"begin it with / or ~/"}}
			}
			*s.into = append(*s.into, filepath.Clean(path))
			p = p.Ask(s.setting, filepath.Clean(path))
		}
	}
	if socket := dockerSocket(a.Getenv); said.Docker && cli.Exists(socket) {
		p.Write = append(p.Write, socket)
		p = p.Ask("sandbox.docker", socket)
	}
	p.Nested = said.UserNS
	return p.Real().WithTools(a.Getenv), nil
}

// inHome is a path of the settings, which may begin with ~/.
func inHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// NotThere says of each path that the settings open to a sandbox, and at which nothing is, that it is not there: such a path opens nothing.
func (w *Workspace) NotThere() (lines []string) {
	said := w.Project.Config.Sandbox
	if said.Level == config.SandboxOff {
		return nil
	}
	settings := []string{"sandbox.read", "sandbox.write", "sandbox.share"}
	for n, paths := range [][]string{said.Read, said.Write, said.Share} {
		for _, path := range paths {
			if !cli.Exists(inHome(w.Project.Invocation.Getenv("HOME"), path)) {
				lines = append(lines, fmt.Sprintf("%s names %s, and nothing is there", settings[n], text.OneLine(path)))
			}
		}
	}
	return lines
}

// dockerSocket is where docker's client looks for its daemon.
func dockerSocket(getenv func(string) string) string {
	if path, ok := strings.CutPrefix(getenv("DOCKER_HOST"), "unix://"); ok && filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return "/var/run/docker.sock"
}

// chooseBox takes the level that the settings name, or the strongest that stands.
func (w *Workspace) chooseBox(ctx context.Context, place sandbox.Place) (b sandbox.Box, err error) {
	boxes := sandbox.Boxes(w.Project.Invocation.Self, w.Project.Invocation.LookPath("bwrap"))
	level := w.Project.Config.Sandbox.Level
	if level != config.SandboxAuto {
		boxes = slices.DeleteFunc(boxes, func(b sandbox.Box) bool { return string(b.Level) != level })
	}
	trial, err := w.Project.Repo.Scratch("trial-")
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, private.RemoveAll(trial)) }()
	for at, into := range map[string]*string{"tree": &place.Worktree, "shadow": &place.Shadow, "home": &place.PrivateHome, "tmp": &place.Temp} {
		*into = filepath.Join(trial, at)
		if err := os.MkdirAll(filepath.Join(*into, sandbox.Borrowed), 0o700); err != nil {
			return b, err
		}
	}
	if err := os.WriteFile(filepath.Join(place.Worktree, ".git"), nil, 0o600); err != nil {
		return b, err
	}
	policy, err := sandbox.New(place)
	if err != nil {
		return b, &cli.Error{Code: "NO_SANDBOX", What: strings.TrimPrefix(err.Error(), "sandbox: "), Exit: cli.ExitNotReady, Fix: []string{"orch config explain sandbox.read", "orch run --no-sandbox"}}
	}
	b, err = ChooseBox(ctx, w.Project, boxes, policy, level == config.SandboxAuto)
	if err != nil {
		fix := []string{"orch doctor --sandbox says what each level needs", "orch run --no-sandbox, or sandbox: {level: off} in your own settings, does without"}
		var none *sandbox.NoneError
		if errors.As(err, &none) && none.Help() != "" {
			fix = append([]string{none.Help()}, fix...)
		}
		return b, &cli.Error{Code: "NO_SANDBOX", What: err.Error(), Why: "agents, their rules and the gate run within bounds (workflow.sandbox.level)", Exit: cli.ExitNotReady, Fix: fix}
	}
	return b, nil
}

// PersonsFolders are those outside of the repository in which orch keeps what is the person's alone.
func PersonsFolders(a *cli.Invocation) (folders []string) {
	for _, dir := range []string{project.PersonDir(a.Process, "XDG_STATE_HOME", ".local/state"), project.PersonDir(a.Process, "XDG_CONFIG_HOME", ".config")} {
		if dir != "" {
			folders = append(folders, filepath.Join(dir, "orch"))
		}
	}
	return folders
}

// SandboxMemory is where is kept which level was proven, beside what the person trusts; without a path where there is no such folder.
func SandboxMemory(p *project.Project) sandbox.Memory {
	dir := project.PersonDir(p.Invocation.Process, "XDG_STATE_HOME", ".local/state", p.Root, p.Repo.CommonDir())
	if dir == "" {
		return sandbox.Memory{}
	}
	return sandbox.Memory{Path: filepath.Join(dir, "orch", "sandbox.json")}
}

// ChooseBox gives the first of boxes that stands; with remembered, one that was proven before is not tried again. It fails where none does.
func ChooseBox(ctx context.Context, p *project.Project, boxes []sandbox.Box, policy sandbox.Policy, remembered bool) (sandbox.Box, error) {
	run := func(ctx context.Context, c command.Cmd) (command.Result, error) {
		c.Env = append(p.SystemEnv(), c.Env...)
		return p.Proc.RunGuarded(ctx, c)
	}
	if m := SandboxMemory(p); remembered && m.Path != "" {
		return m.Choose(ctx, run, boxes, policy)
	}
	b, _, err := sandbox.Choose(ctx, run, boxes, policy)
	return b, err
}
