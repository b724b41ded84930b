package harness

import "slices"

// Client is an agent client: what has to be known of it before it is started. Each is made in
// the package of its adapter, and listed in package all.
type Client struct {
	// Name is its program, and the word for it in the settings.
	Name string
	// Title is how people call it.
	Title string
	// Env names what it needs of the person's environment; a "*" ends a prefix.
	Env []string
	// Modes are the words that its permission mode may be; nil for any, which is passed on.
	Modes []string
	// Mode and Tools are what it may do unasked where the settings do not say: edit files, and
	// run git and go.
	Mode  string
	Tools []string
	// Toolless is the mode in which a list of tools would deny all others; "" for none.
	Toolless string
	// Files are the files, and with /** at their end the folders, below the root of a repository by
	// which it runs programs, or lets its model run them unasked: settings, servers, hooks, plugins,
	// commands, agents, skills. They are in the question whether a repository is trusted, and
	// protected. Each is listed with one client, also where others read it too.
	Files []string
	// Protect are globs of what else settles how it works, and no task may change by itself.
	Protect []string
	// Resumes says that it can go on with a conversation whose [Outcome.Session] it told.
	Resumes bool
	// Needs is what it needs of the person's home within a sandbox.
	Needs Needs
	// New is the adapter.
	New func(Options) Harness
}

// Needs is what a client finds of the person's home within a sandbox, beside toolchains; paths are below the home.
type Needs struct {
	// Private are folders of the client's that each task has to itself, but for Login and Fixed: conversations, databases, and what else
	// it keeps there.
	Private []string
	// Share are folders that the client reads and writes, with the person and other agents: its login is there, and refreshes under a lock
	// beside it. Where the person has set one of Keys, they are private.
	Share []string
	// Moved is the variable by which the person has the first of these folders elsewhere; "" for none.
	Moved string
	// Keys are variables by each of which it is logged in: then its login is not shown at all.
	Keys []string
	// Login are files in private folders that it has its login in, and writes in place: they are shared with the person and other agents.
	Login []string
	// Fixed are files and folders that it runs or obeys: they can be read, and none can be added to a folder that is shared.
	Fixed []string
	// Own are folders in those that are shared that each task has to itself: conversations.
	Own []string
	// Seed are files that the task's home begins with a copy of.
	Seed []string
	// Read are other files and folders that it reads.
	Read []string
	// Hosts are those that it talks to: names, or *.NAME for all below one.
	Hosts []string
	// Env are variables that are set, "NAME=value"; in a value $TMPDIR is the folder for temporary files, and $HOME the task's home.
	Env []string
}

// Keyed is what the client needs where has reports that a variable is set: with a key it needs no login.
func (n Needs) Keyed(has func(name string) bool) Needs {
	if slices.ContainsFunc(n.Keys, has) {
		n.Private, n.Share, n.Own, n.Login = slices.Concat(n.Share, n.Private), nil, nil, nil
	}
	return n
}

// Folders are the client's, first the one that may be elsewhere.
func (n Needs) Folders() []string { return slices.Concat(n.Share, n.Private) }

// Options is how a client is started. The zero value starts it as it comes; a client passes over
// what it has not.
type Options struct {
	// Program is the path of the client; empty means its name.
	Program string
	// Mode is what it may do unasked, in the client's own words.
	Mode string
	// Model is the client's name of a model.
	Model string
	// Tools are those that need no permission, in the client's own words.
	Tools []string
	// Bounded says that it runs in a sandbox, so that one of its own is left out: within another it does not work.
	Bounded bool
}
