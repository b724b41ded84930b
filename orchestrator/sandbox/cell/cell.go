package cell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/egress"
	"github.com/beadsorch/orch/orchestrator/sandbox/shadow"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// cell is one on disk.
type cell struct {
	of       *Cells // nil where it is recovered
	folder   string
	attempt  string // the folder of the attempt; "" for none
	worktree string // "" where the checkout is only read
	view     string // the checkout, where it is read
	home     string
	service  string // of its Visit; "" where nobody listens
	stop     func() error
	own      string // folders that stand for parts of what is shared
	temp     string
	fetched  string // what a setup has written to caches; "" nothing
	network  bool   // as it is outside
	way      *egress.Way
	door     string // the folder of way; "" none
	listed   bool   // way has a proxy
	needs    harness.Needs
	shadow   *shadow.Shadow
	place    sandbox.Place // that the policy was made of
	policy   sandbox.Policy
	guarded  []guarded
	images   map[string]image // of what the client runs or obeys, where that can be written
}

// Wrap is [engine.Cell.Wrap].
func (n *cell) Wrap(c command.Cmd) (command.Cmd, error) { return n.wrap(c, n.policy) }

// wrapBeside is Wrap for a command that runs beside the agent, on the same files: it has a folder for temporary files of its own.
func (n *cell) wrapBeside(c command.Cmd) (command.Cmd, error) {
	at, err := os.MkdirTemp(n.folder, tempFolder+"-")
	if err != nil {
		return c, err
	}
	p := n.policy.WithTemp(at)
	p.Door = nil // its sockets are those of the agent
	return n.wrap(c, p)
}

func (n *cell) wrap(c command.Cmd, p sandbox.Policy) (command.Cmd, error) {
	drop := []string{"GIT_CONFIG_GLOBAL=", "PATH="} // of the home, which has one of its own; and of what is there
	set := append(n.variables(), "PATH="+n.withTools(pathOf(c.Env)))
	if n.service != "" {
		set = append(set, sandbox.SocketVariable+"="+n.socket())
	}
	for _, e := range set {
		name, _, _ := strings.Cut(e, "=")
		drop = append(drop, name+"=")
	}
	if !n.of.Box.Level.Mounts() {
		drop = append(drop, "GOCACHE=", "GOMODCACHE=") // which cannot be written
	}
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(e string) bool {
		return slices.ContainsFunc(drop, func(name string) bool { return strings.HasPrefix(e, name) && e != name+os.DevNull })
	})
	c.Env = append(c.Env, set...)
	if modules := n.modules(); modules != "" {
		c.Env = append(c.Env, "GOPROXY=file://"+modules+","+cmp.Or(n.of.Getenv("GOPROXY"), "direct"))
	}
	c.Limits = n.of.Limits
	c.Limits.Folders = []string{n.folder, n.home}
	for _, folder := range []string{n.worktree, n.own} {
		if folder != "" {
			c.Limits.Folders = append(c.Limits.Folders, folder)
		}
	}
	if below(n.home, n.folder) {
		c.Limits.Folders = slices.DeleteFunc(c.Limits.Folders, func(f string) bool { return f == n.home })
	}
	return n.of.Box.Wrap(c, p)
}

// socket is where a command finds it.
func (n *cell) socket() string {
	if n.of.Box.Level.Mounts() {
		return filepath.Join(sandbox.ServiceAt, sandbox.SocketName)
	}
	return filepath.Join(n.service, sandbox.SocketName)
}

// withTools is a PATH on which orch is found first, under each of its names.
func (n *cell) withTools(path string) string {
	tools := filepath.Dir(sandbox.ProgramAt)
	if !n.of.Box.Level.Mounts() {
		tools = filepath.Join(n.folder, toolsFolder)
	}
	if path == "" {
		return tools
	}
	return tools + string(os.PathListSeparator) + path
}

// pathOf is the PATH of an environment.
func pathOf(env []string) (path string) {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	return path
}

// variables are those that are set for the client.
func (n *cell) variables() (env []string) {
	home, temp := n.of.Place.Home, tempAt
	if !n.of.Box.Level.Mounts() {
		home, temp = n.home, n.temp
	}
	if n.listed {
		env = append(env, proxyVariables()...)
	}
	for _, e := range n.needs.Env {
		env = append(env, strings.NewReplacer("$TMPDIR", temp, "$HOME", home).Replace(e))
	}
	if n.needs.Moved != "" && n.of.Getenv(n.needs.Moved) != "" {
		first := n.needs.Folders()[0]
		if _, there := n.shared(first); !there || slices.Contains(n.needs.Private, first) { // what the client finds is the task's own
			env = append(env, n.needs.Moved+"="+filepath.Join(home, first))
		}
	}
	return env
}

// modules is where Go finds the modules that the person has, where they are not layered; "" nowhere.
func (n *cell) modules() string {
	if n.of.Box.Level.Mounts() {
		return ""
	}
	at := filepath.Join(cmp.Or(n.of.Getenv("GOMODCACHE"), filepath.Join(n.of.Place.Home, "go", "pkg", "mod")), "cache", "download")
	if _, err := os.Stat(at); err != nil {
		return ""
	}
	return at
}

// Leave is [engine.Cell.Leave].
func (n *cell) Leave(ctx context.Context) (left engine.Left, err error) {
	replaced, err := n.replacedPointer()
	err = errors.Join(err, n.hangUp(), n.closeWay(), n.pointBack())
	returned, returning := n.shadow.Return(ctx, 0)
	left.Dropped = returned.Dropped
	var refused *shadow.RefusedError
	if errors.As(returning, &refused) {
		kept, keeping := n.keep()
		left.Refused = refused.Error() + "; it is kept in " + kept
		returning = keeping
	}
	planted, moving := n.moveAside()
	left.Planted = append(replaced, planted...)
	if err = errors.Join(err, returning, moving, n.recordLeft(left)); err != nil {
		return left, err
	}
	return left, private.RemoveAll(n.folder)
}

// hangUp ends the service of the turn.
func (n *cell) hangUp() error {
	if n.stop == nil {
		return nil
	}
	stop := n.stop
	n.stop = nil
	return stop()
}

// drop removes the cell, with what was done in it.
func (n *cell) drop() error {
	err := errors.Join(n.hangUp(), n.closeWay())
	if n.shadow != nil {
		err = errors.Join(err, n.pointBack())
	}
	return errors.Join(err, private.RemoveAll(n.folder))
}

// below reports whether a path is in a folder.
func below(path, folder string) bool { return strings.HasPrefix(path, folder+"/") }

// replacedPointer moves a repository that is in the place of the worktree's pointer file to the attempt's folder, and gives its path; it
// may hold work.
func (n *cell) replacedPointer() (moved []string, err error) {
	pointer := filepath.Join(n.worktree, ".git")
	if info, missing := os.Lstat(pointer); n.worktree == "" || n.attempt == "" || missing != nil || !info.IsDir() {
		return nil, nil
	}
	return []string{pointer}, n.moveOut(pointer)
}

// pointBack has the worktree use the real repository again.
func (n *cell) pointBack() error {
	if n.worktree == "" || n.of != nil && n.of.Box.Level.Mounts() {
		return nil
	}
	if _, err := os.Lstat(n.worktree); errors.Is(err, fs.ErrNotExist) {
		return nil // whoever looks at the work says so
	}
	return n.shadow.PointBack(n.worktree)
}

// keep moves a shadow that was refused to where nothing removes it.
func (n *cell) keep() (at string, err error) {
	above, err := private.OpenAbove(n.attempt, 1)
	if err != nil {
		return n.shadow.Dir, err
	}
	defer above.Close()
	for i := 1; ; i++ {
		at = filepath.Join(n.attempt, fmt.Sprintf("refused-%d", i))
		if _, err := above.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			return at, above.Rename(n.shadow.Dir, at)
		}
	}
}

// guarded is a path in what is shared with the person at which nothing is that a client would run, or a link, and nothing may be mounted.
type guarded struct {
	Path string `json:"path"`
	Link string `json:"link,omitempty"` // where it leads
}

// link is where a link leads; "" for what is none.
func link(path string) string {
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return to
}

// guardFile, in the folder of a cell, has what is guarded, for who takes back what a killed process has left.
const guardFile = "guarded.json"

const maxGuard = 1 << 20

func (n *cell) remember() error {
	if len(n.guarded) == 0 {
		return nil
	}
	content, err := json.Marshal(n.guarded)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.folder, guardFile), content, 0o600)
}

// moveAside moves what a client would run, and was not there before, out of what is shared with the person.
func (n *cell) moveAside() (planted []string, err error) {
	if content, err := private.ReadFile(filepath.Join(n.folder, guardFile), maxGuard); err == nil {
		if err := json.Unmarshal(content, &n.guarded); err != nil {
			return nil, err
		}
	}
	for _, g := range n.guarded {
		now, missing := os.Lstat(g.Path)
		switch {
		case missing != nil && g.Link == "", missing == nil && g.Link != "" && now.Mode()&fs.ModeSymlink != 0 && link(g.Path) == g.Link:
			continue
		case missing == nil:
			planted = append(planted, g.Path)
			err = errors.Join(err, n.moveOut(g.Path))
		}
		if g.Link != "" && err == nil {
			err = os.Symlink(g.Link, g.Path)
		}
	}
	changed, putting := n.putBackFixed()
	return append(planted, changed...), errors.Join(err, putting)
}

// moveOut moves what is at a path to the attempt's folder; beside itself, under a name that no client knows, where that is of another file system.
func (n *cell) moveOut(path string) error {
	for i := 1; ; i++ {
		name := fmt.Sprintf("planted-%d-%s", i, filepath.Base(path))
		to := filepath.Join(n.attempt, name)
		if _, free := os.Lstat(to); free == nil {
			continue
		}
		err := os.Rename(path, to)
		if beside := filepath.Join(filepath.Dir(path), name); errors.Is(err, syscall.EXDEV) {
			if _, free := os.Lstat(beside); free == nil {
				continue
			}
			err = os.Rename(path, beside)
		}
		return err
	}
}

// bounds makes the policy of the cell.
func (n *cell) bounds(read []string) (sandbox.Policy, error) {
	p := n.of.Place
	p.Worktree, p.View, p.CommonDir, p.Shadow = n.worktree, n.view, n.of.Repo.CommonDir(), n.shadow.Dir
	p.PrivateHome, p.Temp, p.TempAt, p.Fetched, p.Network = n.home, n.temp, tempAt, n.fetched, n.network
	p.Door, p.DoorTo, p.Resolver = n.door, sandbox.Door{Proxy: n.listed, Ports: n.of.Out.Ports}, "/etc/resolv.conf"
	p.Read = slices.Concat(p.Read, n.shadow.Alternates, read)
	p.Write = slices.Clone(p.Write)
	p = p.Ask("named by what is started", read...).Ask("objects that the repository borrows", n.shadow.Alternates...)
	for _, rel := range n.needs.Read {
		p.Read = append(p.Read, filepath.Join(p.Home, rel))
		p = p.Ask("the client reads it", filepath.Join(p.Home, rel))
	}
	private := n.parts(&p)
	for _, rel := range n.needs.Share {
		if path, ok := n.shared(rel); ok {
			p.Write = append(p.Write, path)
			p = p.Ask("the client's folder, with its login: shared with you", path)
		}
	}
	for _, rel := range n.needs.Fixed {
		if n.isPrivate(rel) {
			continue
		}
		if path, ok := n.shared(rel); ok {
			p.Read = append(p.Read, path)
			p = p.Ask("the client runs or obeys it", path)
		} else if _, ok := n.shared(filepath.Dir(rel)); ok {
			n.guarded = append(n.guarded, guarded{Path: path, Link: link(path)})
		}
	}
	for _, rel := range n.needs.Own {
		if path, ok := n.shared(filepath.Dir(rel)); ok && n.of.Box.Level.Mounts() {
			own := filepath.Join(n.own, slug.Of(rel))
			if err := makeFolders(own); err != nil {
				return sandbox.Policy{}, err
			}
			private.Mapped[filepath.Join(path, filepath.Base(rel))] = own
		}
	}
	p.Service = n.service
	if !n.of.Box.Level.Mounts() {
		p.Read = append(p.Read, filepath.Join(n.folder, toolsFolder))
	}
	p.Mask = n.trackers()
	p = p.Real()
	p.Mapped, p.Shown = private.Mapped, private.Shown
	if err := n.remember(); err != nil {
		return sandbox.Policy{}, err
	}
	n.place = p
	return sandbox.New(p)
}

// shared is where something is that a client needs of the person's home; ok says that it is there. A link to what is shared is followed; one
// in it may be an agent's.
func (n *cell) shared(rel string) (path string, ok bool) {
	for i, share := range n.needs.Folders() {
		rest, within := strings.CutPrefix(rel+"/", share+"/")
		if !within {
			continue
		}
		at := filepath.Join(n.of.Place.Home, share)
		if moved := n.of.Getenv(n.needs.Moved); i == 0 && n.needs.Moved != "" && filepath.IsAbs(moved) {
			at = moved
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			return at, false
		}
		return filepath.Join(real, rest), plain(real, rest)
	}
	return filepath.Join(n.of.Place.Home, rel), plain(n.of.Place.Home, rel)
}

// isPrivate reports whether a path of the home is in none of the folders that are shared with the person.
func (n *cell) isPrivate(rel string) bool {
	return !slices.ContainsFunc(n.needs.Share, func(share string) bool { return strings.HasPrefix(rel+"/", share+"/") })
}

// parts adds to a place what the command finds of the person's in folders of its own: by mounts, which the place returned has, or by links.
func (n *cell) parts(p *sandbox.Place) sandbox.Place {
	found := sandbox.Place{Mapped: map[string]string{}, Shown: map[string]string{}}
	home, err := filepath.EvalSymlinks(p.Home)
	if err != nil {
		home = p.Home
	}
	for rels, add := range map[*[]string]struct {
		open *[]string
		at   map[string]string
	}{&n.needs.Login: {&p.Write, found.Mapped}, &n.needs.Fixed: {&p.Read, found.Shown}} {
		for _, rel := range *rels {
			path, _ := n.shared(rel)
			path, err := filepath.EvalSymlinks(path) // no agent has written there: a link is the person's
			if err != nil || !n.isPrivate(rel) {
				continue
			}
			*p = p.Ask("the client's: its login, or what it runs or obeys", path, filepath.Join(home, rel))
			if n.of.Box.Level.Mounts() {
				add.at[filepath.Join(home, rel)] = path
				continue
			}
			*add.open = append(*add.open, path)
			p.Links = append(slices.Clone(p.Links), sandbox.Link{At: rel, To: path})
		}
	}
	if at := n.of.Getenv(n.needs.Moved); n.needs.Moved != "" && at != "" && len(n.needs.Share) == 0 {
		if real, err := filepath.EvalSymlinks(at); err == nil && filepath.IsAbs(at) {
			p.Hide = append(slices.Clone(p.Hide), real) // the person's
		}
	}
	return found
}

// plain reports whether something is at a path below a folder, and no part of the path is a link.
func plain(folder, rest string) bool {
	path := folder
	if rest = strings.Trim(rest, "/"); rest == "" {
		return true
	}
	for step := range strings.SplitSeq(rest, "/") {
		path = filepath.Join(path, step)
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return false
		}
	}
	return true
}
