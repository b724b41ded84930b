package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
)

// How is what a bound comes to for a command, in a word for a person.
type How string

// The words.
const (
	// ReadOnly is what can be read, as it is.
	ReadOnly How = "read-only"
	// Written is what can be read and written, as it is.
	Written How = "written"
	// Private is another folder in the place of what is there, which can be written.
	Private How = "private"
	// Overlay is what can be read, and written for the command alone.
	Overlay How = "overlay"
	// Unseen is what looks as if it were not there; where the level has no mounts it is refused.
	Unseen How = "hidden"
)

// Explained is one bound, for a person.
type Explained struct {
	// At is where the command finds it.
	At string
	// From is what it finds there, where that is another path; else "".
	From string
	// How it can be used.
	How How
	// Why it is bound: who asks for it.
	Why string
}

// Explain gives what the policy p makes of its bounds at a level, in their order; place is what the policy was made of. It looks at
// nothing.
func Explain(place Place, p Policy, l Level) (all []Explained) {
	for _, b := range p.Bounds {
		e := Explained{At: b.At, How: b.how(l), Why: place.Why(b)}
		if !l.Mounts() && b.From != "" {
			e.At = b.From
		} else if b.From != b.At {
			e.From = b.From
		}
		if !l.Mounts() && slices.ContainsFunc(all, func(o Explained) bool { return o.At == e.At && o.How == e.How }) {
			continue
		}
		all = append(all, e)
	}
	return all
}

func (b Bound) how(l Level) How {
	switch b.Kind {
	case Hidden, Masked:
		return Unseen
	case Layered:
		if !l.Mounts() {
			return ReadOnly
		}
		return Overlay
	case Writable:
		if b.From != b.At {
			return Private
		}
		return Written
	}
	return ReadOnly
}

// Why says who asks for a bound of the place's policy.
func (p Place) Why(b Bound) string {
	if why := cmp.Or(p.Asked[b.At], p.Asked[b.From]); why != "" && b.Kind != Hidden && b.Kind != Masked {
		return why
	}
	switch b.At {
	case p.Worktree:
		return "the worktree, which the work is done in"
	case p.View:
		return "the checkout, to be read alone"
	case filepath.Join(p.Worktree, ".git"):
		return "says where the repository is"
	case p.CommonDir:
		return "the git directory: references, configuration and hooks of its own"
	case filepath.Join(p.CommonDir, Borrowed):
		return "the repository's objects"
	case p.Home:
		return "the home, of the task's own"
	case cmp.Or(p.TempAt, p.Temp):
		return "temporary files"
	case ProgramAt, p.Program:
		return "orch itself"
	case FetchedAt:
		return "what the setup of the worktree has written to caches"
	case DoorAt, p.Resolver:
		return "the way out, since the network is its own"
	case p.Checkout:
		return "your checkout"
	case p.Siblings:
		return "worktrees of other attempts"
	}
	_, mapped := p.Mapped[b.At]
	switch {
	case mapped:
		return "the task's own in a folder that is shared"
	case b.Kind == Masked && slices.Contains(p.Mask, b.At):
		return "never runs within: what the run has under this name stands in for it"
	case b.Kind == Masked:
		return "only root reads it"
	case slices.Contains(p.Hide, b.At):
		return "orch's own files, or a link to what is hidden"
	case b.Kind == Hidden:
		return "other people's files, sockets, temporary files"
	case slices.Contains(shownAgain(), b.At):
		return "part of the system, by which names are resolved and programs found"
	}
	return "named by what is started"
}

// Ask is the place with who asks for some of its paths, which [Place.Why] says. The first to ask is said.
func (p Place) Ask(why string, paths ...string) Place {
	asked := map[string]string{}
	for path, first := range p.Asked {
		asked[path] = first
	}
	for _, path := range paths {
		asked[path] = cmp.Or(asked[path], why)
	}
	p.Asked = asked
	return p
}
