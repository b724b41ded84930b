package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where a command works, and what is around it. All paths are absolute, clean and without
// symbolic links: see [Place.Real].
type Place struct {
	// Worktree is what the command works in, and may write but for its .git.
	Worktree string
	// View is what the command begins in and only reads, where there is no Worktree; it may hold CommonDir.
	View string
	// CommonDir is the repository's git common directory.
	CommonDir string
	// Shadow stands in the place of CommonDir: see package shadow. The command may write it.
	Shadow string
	// Checkout is the person's working tree; "" where there is none.
	Checkout string
	// Siblings is the folder of the worktrees of all attempts; "" where there is none.
	Siblings string
	// Home is the person's home. The command sees PrivateHome at that path.
	Home string
	// PrivateHome is the folder that stands for the home, and is the home where there are no mounts. The command may write it.
	PrivateHome string
	// Temp is the folder for temporary files. The command may write it.
	Temp string
	// TempAt is where the command finds Temp, where there are mounts; "" is where it is.
	TempAt string
	// Program is the file of the running program, which sets up the bounds.
	Program string
	// Read are files and folders that are seen although what is around them is hidden: toolchains.
	Read []string
	// Write are more files and folders that the command may write.
	Write []string
	// Mapped are files and folders that the command finds at a path, and may write, by the path: what they are is outside of what it can
	// write otherwise. Only where there are mounts.
	Mapped map[string]string
	// Shown are files and folders that the command finds at a path, and may read, by the path. Only where there are mounts.
	Shown map[string]string
	// Caches are folders that the command reads as they are, and writes for itself alone: what it writes is in Temp, below which
	// are then folders without permissions. Where the system has no such mounts they are empty; with landlock they are only read.
	Caches []string
	// Links are what the command finds in its home as links to what it can read: see [Place.WithTools].
	Links []Link
	// Fetched is the Temp of a command before, which the command may write: what that has written to Caches is in them. "" is none.
	Fetched string
	// Hide are more folders that are hidden.
	Hide []string
	// Door is a folder with a way out of a sandbox that has no network: see [Door]. "" is none.
	Door string
	// DoorTo is what that leads to.
	DoorTo Door
	// Resolver is the file that configures resolvers of names, which is that of the door where this has a proxy; "" is none.
	Resolver string
	// Mask are programs that the command cannot start, where they are seen at all. Only where there are mounts.
	Mask []string
	// Service is the folder with the socket by which the command asks the run for what is out of its reach; "" is none. The command
	// reads it.
	Service string
	// Nested says that the command may make namespaces and mounts of its own within, as sandboxes of clients and rootless containers do.
	Nested bool
	// Network says that the command may use the network as it is. Without it there is none but its own
	// loopback, where the level can do that.
	Network bool
	// Asked is who asks for a path, by the path, for a person: see [Place.Ask].
	Asked map[string]string
}

// Kind is what is done with a path.
type Kind string

// The kinds.
const (
	// Hidden is an empty folder, or nothing at all below another one.
	Hidden Kind = "hidden"
	// Masked is an empty file, for a file that not all may read.
	Masked Kind = "masked"
	// Readable can be read.
	Readable Kind = "readable"
	// Layered is a cache: see [Place].
	Layered Kind = "layered"
	// Writable can be read and written.
	Writable Kind = "writable"
)

// Bound is one path of a policy. Where nothing is at From, or at At for what is hidden or masked, there is none.
type Bound struct {
	// Kind is what is done with it.
	Kind Kind `json:"kind"`
	// At is where the command finds it.
	At string `json:"at"`
	// From is what it finds there; "" for what is hidden.
	From string `json:"from,omitempty"`
}

// Policy is what a command may do: data, made by [New].
type Policy struct {
	// Dir is where the command begins.
	Dir string `json:"dir"`
	// Bounds are the paths, each after those that it is below. What is not named can be read, but not where the
	// level has no mounts: there it is only what is of the system, and Named.
	Bounds []Bound `json:"bounds"`
	// Named are the paths that the place names to be read, and in which nothing is hidden.
	Named []string `json:"named,omitempty"`
	// Home is the command's home where the level has mounts, PrivateHome elsewhere.
	Home string `json:"home"`
	// PrivateHome is a folder that is writable.
	PrivateHome string `json:"private_home"`
	// Temp is where temporary files go, TempAt where the command finds that folder where the level has mounts.
	Temp   string `json:"temp"`
	TempAt string `json:"temp_at"`
	// Links are made in the home.
	Links []Link `json:"links,omitempty"`
	// Nested lets namespaces and mounts be made within.
	Nested bool `json:"nested,omitempty"`
	// Fetched says that what a command before has written to what is layered is at FetchedAt.
	Fetched bool `json:"fetched,omitempty"`
	// Door is what the sockets are for that are handed out at DoorAt; nil where none are.
	Door *Door `json:"door,omitempty"`
	// Service is the folder whose socket may be connected to; "" is none.
	Service string `json:"service,omitempty"`
	// Network says that the network is as it is outside.
	Network bool `json:"network"`
}

// Borrowed is the name, in the folder of a shadow repository, at which the objects that it borrows are mounted, where the level has
// mounts.
const Borrowed = "borrowed"

// Where the command finds what is orch's, where there are mounts.
const (
	// ProgramAt is the running program.
	ProgramAt = "/run/orch/bin/orch"
	// TrackerAt is the running program under the name of the tracker's.
	TrackerAt = "/run/orch/bin/bd"
	// ServiceAt is the folder of [Place.Service].
	ServiceAt = "/run/orch/service"
)

// SocketName is the socket in the folder of [Place.Service]; a command finds it by [SocketVariable].
const (
	SocketName     = "socket"
	SocketVariable = "ORCH_SOCKET"
)

// FetchedAt is where a command finds what one before has written to the caches, where there are mounts.
const FetchedAt = "/run/orch/fetched"

// commonlyHidden are folders of other people, of sockets and of temporary files.
func commonlyHidden() []string {
	return []string{"/home", "/root", "/tmp", "/var/tmp", "/run", "/mnt", "/media", "/srv", "/var/lib/docker", "/var/lib/containers",
		"/var/lib/lxd", "/var/lib/incus", "/var/snap/lxd", "/var/spool", "/sys/kernel/debug", "/sys/kernel/tracing"}
}

// masked are files that only root reads, which matters where orch runs as root.
func masked() []string {
	return []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers",
		"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key"}
}

// shownAgain are parts of folders that are commonly hidden without which names of hosts are not resolved, or
// programs are not found.
func shownAgain() []string {
	return []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system", "/run/opengl-driver"}
}

// New makes the policy of a place. It looks at no file. It fails where a path is not absolute and clean, where
// one that has to be there is missing, and where something that may be read or written holds what is to be hidden.
func New(p Place) (Policy, error) {
	if err := p.check(); err != nil {
		return Policy{}, err
	}
	var all []Bound
	hide := slices.Concat(commonlyHidden(), []string{p.Checkout, p.Siblings}, p.Hide)
	for _, path := range hide {
		all = append(all, Bound{Hidden, path, ""})
	}
	all = append(all, Bound{Writable, p.Home, p.PrivateHome}, Bound{Writable, cmp.Or(p.TempAt, p.Temp), p.Temp})
	for _, path := range slices.Concat(masked(), p.Mask) {
		all = append(all, Bound{Masked, path, ""})
	}
	for _, path := range slices.Concat(shownAgain(), p.Read) {
		all = append(all, Bound{Readable, path, path})
	}
	for _, path := range p.Caches {
		all = append(all, Bound{Layered, path, path})
	}
	for _, path := range slices.Concat([]string{p.Worktree}, p.Write) {
		all = append(all, Bound{Writable, path, path})
	}
	if p.Fetched != "" {
		all = append(all, Bound{Writable, FetchedAt, p.Fetched})
	}
	if p.Door != "" && !p.Network {
		all = append(all, Bound{Readable, DoorAt, p.Door})
		if p.Resolver != "" && p.DoorTo.Proxy {
			all = append(all, Bound{Readable, p.Resolver, filepath.Join(p.Door, DoorResolver)})
		}
	}
	for at, from := range p.Mapped {
		all = append(all, Bound{Writable, at, from})
	}
	for at, from := range p.Shown {
		all = append(all, Bound{Readable, at, from})
	}
	if p.View != "" {
		all = append(all, Bound{Readable, p.View, p.View})
	} else {
		all = append(all, Bound{Readable, filepath.Join(p.Worktree, ".git"), filepath.Join(p.Worktree, ".git")})
	}
	if p.Service != "" {
		all = append(all, Bound{Readable, ServiceAt, p.Service})
	}
	all = append(all, Bound{Readable, ProgramAt, p.Program}, Bound{Readable, TrackerAt, p.Program}, Bound{Readable, p.Program, p.Program},
		Bound{Writable, p.CommonDir, p.Shadow},
		Bound{Readable, filepath.Join(p.CommonDir, Borrowed), filepath.Join(p.CommonDir, "objects")})
	named := slices.DeleteFunc(slices.Concat(p.Read, p.Caches), func(path string) bool {
		return slices.ContainsFunc(slices.Concat(hide, masked()), func(hidden string) bool { return below(hidden, path) })
	})
	var door *Door
	if p.Door != "" && !p.Network {
		door = &p.DoorTo
	}
	return Policy{Door: door, Dir: cmp.Or(p.Worktree, p.View), Bounds: needed(all), Named: named, Home: p.Home, PrivateHome: p.PrivateHome, Temp: p.Temp, TempAt: cmp.Or(p.TempAt, p.Temp), Fetched: p.Fetched != "",
		Service: p.Service, Links: p.Links, Nested: p.Nested, Network: p.Network}, nil
}

// check says what is wrong with the place.
func (p Place) check() error {
	for _, required := range []struct{ what, path string }{
		{"worktree", cmp.Or(p.Worktree, p.View)}, {"git directory", p.CommonDir}, {"shadow repository", p.Shadow}, {"home", p.Home},
		{"private home", p.PrivateHome}, {"folder for temporary files", p.Temp}, {"program", p.Program},
	} {
		if required.path == "" {
			return fmt.Errorf("sandbox: the place has no %s", required.what)
		}
	}
	for _, path := range p.all() {
		if path != "" && (!filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/") {
			return fmt.Errorf("sandbox: %q is no clean absolute path below /", path)
		}
	}
	secret := []string{p.Home, p.CommonDir, p.Checkout, p.Siblings}
	for _, open := range slices.Concat([]string{p.Worktree, p.Shadow, p.PrivateHome, p.Temp, p.Fetched}, p.Read, p.Caches, p.Write) {
		for _, s := range slices.Concat(secret, p.Hide) {
			if s != "" && open != "" && (open == s || below(s, open)) {
				return fmt.Errorf("sandbox: %s cannot be open, since %s is to be hidden", open, s)
			}
		}
	}
	return nil
}

func (p Place) all() []string {
	return slices.Concat([]string{p.Worktree, p.View, p.CommonDir, p.Shadow, p.Checkout, p.Siblings, p.Home, p.PrivateHome, p.Temp, p.TempAt, p.Fetched, p.Door, p.Resolver, p.Program, p.Service}, p.Read, p.Caches, p.Write, p.Hide, p.Mask)
}

// Real is the place with all symbolic links followed, also those of folders that are hidden in every place. What is not
// there stays as it is named.
func (p Place) Real() Place {
	real := func(path string) string {
		if followed, err := filepath.EvalSymlinks(path); err == nil && path != "" {
			return followed
		}
		return path
	}
	each := func(paths []string) (out []string) {
		for _, path := range paths {
			out = append(out, real(path))
		}
		return out
	}
	for _, path := range []*string{&p.Worktree, &p.View, &p.CommonDir, &p.Shadow, &p.Checkout, &p.Siblings, &p.Home, &p.PrivateHome, &p.Temp, &p.Fetched, &p.Door, &p.Resolver, &p.Program, &p.Service} {
		*path = real(*path)
	}
	p.Read, p.Caches, p.Write, p.Hide = each(p.Read), each(p.Caches), each(p.Write), each(p.Hide)
	asked := maps.Clone(p.Asked)
	for path, why := range p.Asked {
		asked[real(path)] = why
	}
	p.Asked = asked
	for _, path := range commonlyHidden() {
		if followed := real(path); followed != path && followed != "/" {
			p.Hide = append(p.Hide, followed)
		}
	}
	return p
}

// needed sorts bounds so that each comes after those that it is below, and drops what changes nothing: what is
// as the bound above it already has it, and of two at one path the one that shows less.
func needed(all []Bound) (out []Bound) {
	rank := map[Kind]int{Hidden: 0, Masked: 1, Readable: 2, Layered: 3, Writable: 4}
	all = slices.DeleteFunc(all, func(b Bound) bool { return b.At == "" })
	slices.SortStableFunc(all, func(a, b Bound) int {
		if a.At != b.At {
			return strings.Compare(a.At, b.At)
		}
		return rank[b.Kind] - rank[a.Kind]
	})
	for _, b := range all {
		if len(out) > 0 && out[len(out)-1].At == b.At {
			continue
		}
		above, real := Readable, true // the system
		for _, o := range slices.Backward(out) {
			if below(b.At, o.At) {
				above, real = o.Kind, o.From == o.At
				break
			}
		}
		if (b.Kind == Hidden || b.Kind == Masked) && (above == Hidden || !real) || b.Kind == above && real && b.From == b.At {
			continue // not there anyway, or as it is
		}
		out = append(out, b)
	}
	return out
}

// WithTemp is the policy with another folder for temporary files, for a command that runs beside the one it was made for.
func (p Policy) WithTemp(dir string) Policy {
	p.Bounds = slices.Clone(p.Bounds)
	for n := range p.Bounds {
		if p.Bounds[n].From == p.Temp {
			p.Bounds[n].From = dir
		}
	}
	if p.TempAt == p.Temp {
		p.TempAt = dir
	}
	p.Temp = dir
	return p
}

// layers are the bounds that are layered.
func (p Policy) layers() (all []Bound) {
	for _, b := range p.Bounds {
		if b.Kind == Layered {
			all = append(all, b)
		}
	}
	return all
}

// below reports whether path is in the folder dir, at any depth.
func below(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }
