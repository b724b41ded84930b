package cell

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
)

// Agent is what a turn of an agent of that client would be in, started with argv in a worktree at dir. Nothing of it is there afterwards.
func (c *Cells) Agent(client string, argv []string, dir string) (Record, error) {
	n := &cell{of: c, worktree: dir}
	if c.Needs != nil {
		n.needs = c.Needs(client)
	}
	return c.sketch(n, engine.AsAgents, argv)
}

// Gate is what a command that judges would be in, in a worktree at dir and with that of the network. Nothing of it is there afterwards.
func (c *Cells) Gate(dir string, network engine.Network) (Record, error) {
	return c.sketch(&cell{of: c, worktree: dir}, network, nil)
}

func (c *Cells) sketch(n *cell, wanted engine.Network, argv []string) (r Record, err error) {
	if n.folder, err = c.Repo.Scratch("cell-"); err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, private.RemoveAll(n.folder)) }()
	n.home, n.own, n.temp, n.network = filepath.Join(n.folder, homeFolder), filepath.Join(n.folder, ownFolder), filepath.Join(n.folder, tempFolder), c.mode(wanted) == Open
	n.listed = c.Box.Level.Mounts() && c.mode(wanted) == Listed
	if err := makeFolders(n.home, n.own, n.temp); err != nil {
		return r, err
	}
	if n.shadow, err = shadow.Make(shadow.Options{Repo: c.Repo, Mounted: c.Box.Level.Mounts(), Dir: filepath.Join(n.folder, shadowFolder)}); err != nil {
		return r, err
	}
	if n.policy, err = n.bounds(n.programs(argv)); err != nil {
		return r, err
	}
	r = n.record()
	for i, b := range r.Bounds {
		if strings.HasPrefix(b.From, n.folder+"/") {
			r.Bounds[i].From = "" // is gone when this is read
		}
		if rest, own := strings.CutPrefix(b.At, n.folder+"/"); own {
			r.Bounds[i].At = filepath.Join(c.Repo.CommonDir(), "orch", "epics", "EPIC", "attempts", "TASK", "1", cellFolder, rest)
		}
	}
	return r, nil
}

// Try runs a command as an agent would be, and takes nothing back. It fails as [Cells.Enter] and a [command.Runner] do; planted are the
// paths that [engine.Left] has.
func (c *Cells) Try(ctx context.Context, s engine.Stay, cmd command.Cmd) (res command.Result, planted []string, err error) {
	entered, err := c.Enter(ctx, s)
	if err != nil {
		return command.Result{ExitCode: -1}, nil, err
	}
	n := entered.(*cell)
	defer func() {
		moved, moving := n.moveAside()
		planted, err = moved, errors.Join(err, moving, n.drop())
	}()
	wrapped, err := n.Wrap(cmd)
	if err != nil {
		return command.Result{ExitCode: -1}, nil, err
	}
	res, err = c.run(ctx, wrapped, cmd.Argv)
	return res, nil, err
}
