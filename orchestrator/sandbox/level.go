package sandbox

// Level is what keeps the bounds.
type Level string

// The levels, the strongest first.
const (
	// Bubblewrap is the program bwrap: mounts, processes and users of its own, and system calls filtered.
	Bubblewrap Level = "bubblewrap"
	// Namespaces is the same as the program itself makes it, where bwrap is not installed.
	Namespaces Level = "namespaces"
	// Landlock refuses access to files by their path, and system calls by a filter. Files that are not shared
	// are still seen to be there, and the network is open.
	Landlock Level = "landlock"
	// Seatbelt is sandbox-exec of macOS. It is none of [Levels]: no promise of it has been tried.
	Seatbelt Level = "seatbelt"
)

// Levels gives all levels, the strongest first.
func Levels() []Level { return []Level{Bubblewrap, Namespaces, Landlock} }

// Mounts reports whether the level lays out a file system of its own.
func (l Level) Mounts() bool { return l == Bubblewrap || l == Namespaces }

// Threat is what a command may try to do beyond its bounds.
type Threat string

// What is tried, and what each level promises about it: see [Promises].
const (
	EpicRef        Threat = "epic-ref"
	OtherBranch    Threat = "branch"
	Config         Threat = "config"
	Hook           Threat = "hook"
	Attributes     Threat = "attributes"
	Journal        Threat = "journal"
	Sibling        Threat = "sibling"
	Checkout       Threat = "checkout"
	Objects        Threat = "objects"
	PackedRefs     Threat = "packed-refs"
	WorktreeConfig Threat = "config.worktree"
	CommonDir      Threat = "commondir"
	Pointer        Threat = "pointer"
	HomeWrite      Threat = "home-write"
	HomeRead       Threat = "home-read"
	Mode           Threat = "mode"
	Signal         Threat = "signal"
	Limit          Threat = "limit"
	Environ        Threat = "environ"
	Trace          Threat = "trace"
	Machine        Threat = "machine"
	Mount          Threat = "mount"
	HardLink       Threat = "hard-link"
	PathSocket     Threat = "socket"
	AbstractSocket Threat = "abstract-socket"
	Terminal       Threat = "terminal"
	Namespace      Threat = "namespace"
	Vsock          Threat = "vsock"
	Uring          Threat = "io_uring"
	Keyring        Threat = "keyring"
	Descriptor     Threat = "descriptor"
	Network        Threat = "network"
)

// Promise is what the levels do about one threat.
type Promise struct {
	// Threat is what is tried.
	Threat Threat
	// Says it for a person.
	Says string
	// mounted and landlock are the version of landlock from which on a level with mounts, and landlock
	// alone, stop it; [always] where no landlock is needed, [never] where it is not stopped.
	mounted, landlock int
}

const (
	always = 0
	// first is the version of landlock that the level needs anyway.
	first = minABI
	// signals and sockets by abstract name are scoped from 6 on, sockets by path from 9 on.
	scoped   = 6
	resolves = 9
	never    = 1 << 30
)

// Promises is the table of what each level stops, for whoever asks and for the tests.
func Promises() []Promise {
	return []Promise{
		{EpicRef, "move the epic branch of the repository", always, first},
		{OtherBranch, "move another branch of the repository", always, first},
		{Config, "change the repository's git configuration", always, first},
		{Hook, "plant a git hook in the repository", always, first},
		{Attributes, "plant git attributes in the repository", always, first},
		{Journal, "write orch's journal", always, first},
		{Sibling, "write the worktree of another attempt", always, first},
		{Checkout, "write the person's checkout", always, first},
		{Objects, "remove objects of the repository", always, first},
		{PackedRefs, "write the repository's packed references", always, first},
		{WorktreeConfig, "plant a configuration for its worktree in the repository", always, first},
		{CommonDir, "point its worktree at another repository", always, first},
		{Pointer, "change the .git file of its worktree", always, never},
		{HomeWrite, "write the person's home", always, first},
		{HomeRead, "read the person's home", always, first},
		{Mode, "change the mode of a file of the person's", always, never},
		{Signal, "end a process outside", always, scoped},
		{Limit, "limit what a process outside may use, by which it can be ended", always, first},
		{Environ, "read the environment of a process outside", always, first},
		{Trace, "trace a process outside", always, first},
		{Machine, "change a setting of the machine's kernel", always, first},
		{Mount, "mount a file system", always, first},
		{HardLink, "link a file from outside into its worktree and write that", always, first},
		{PathSocket, "connect to a socket of the person's by its path", always, resolves},
		{AbstractSocket, "connect to a socket of the person's by its abstract name", scoped, scoped},
		{Terminal, "write to a terminal of the person's", always, first},
		{Namespace, "make namespaces of its own", always, first},
		{Vsock, "reach the host of a virtual machine by a socket", always, first},
		{Uring, "make system calls by io_uring, past a filter", always, first},
		{Keyring, "read the kernel's keys of the person", always, first},
		{Descriptor, "use an open file that was left to it", always, first},
		{Network, "reach a server on this machine, where the policy denies the network", always, never},
	}
}

// Stopped reports whether a level promises to stop it on a kernel with this version of landlock, 0 for none.
func (p Promise) Stopped(l Level, abi int) bool {
	if l == Seatbelt {
		return false
	}
	if l.Mounts() {
		return abi >= p.mounted
	}
	return abi >= p.landlock
}

// minABI is the version of landlock that the level needs: the first by which files can be moved between folders.
const minABI = 2
