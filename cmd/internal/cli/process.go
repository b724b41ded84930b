// Package cli is what every command is handed, and how it answers: text or one JSON
// document, errors that say what to do, and an exit code.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/redact"
)

// Process is what the operating system gave the program.
type Process struct {
	// Args are the arguments, with the program's name.
	Args []string
	// Env is the environment, "NAME=value".
	Env []string
	// Dir is where it was started; "" asks the system.
	Dir string
	// Self is the program's own file, which guards are made of.
	Self string
	// Stdin is what is read.
	Stdin io.Reader
	// Stdout takes what was asked for.
	Stdout io.Writer
	// Stderr takes errors and remarks.
	Stderr io.Writer
	// Now is the clock.
	Now func() time.Time
	// Served says that this is a call of a client's server: what calls is the process that started
	// that.
	Served bool
	// Children is what the program has started, of a program that starts all by [Process.System];
	// else nil.
	Children *proc.Children
}

// Invocation is one invocation: the process with its global flags.
type Invocation struct {
	Process
	// JSON asks for one JSON document instead of text.
	JSON bool
	// Lines says that the command prints a document a line, so that an error is one line as well.
	Lines bool
	// Redact takes the secrets of the environment out of what is shown and kept; nil knows none.
	Redact *redact.Redactor

	mu     sync.Mutex // guards ends
	ends   []func()
	deaf   func()        // stops listening to signals; nil where nobody does
	over   chan struct{} // closed when a signal ends the program; nil where nobody listens
	warned []string
}

// Warn says a warning on standard error, once.
func (a *Invocation) Warn(text string) {
	if !slices.Contains(a.warned, text) {
		a.warned = append(a.warned, text)
		fmt.Fprintf(a.Stderr, "warning: %s\n", text)
	}
}

// AddSecrets adds variables whose values are secret, a * at the end of a name standing for any
// rest. It fails as writing does.
func (a *Invocation) AddSecrets(names []string) error {
	if len(names) == 0 || a.Redact == nil {
		return nil
	}
	a.Redact = a.redactor(names)
	var err error
	for _, w := range []io.Writer{a.Stdout, a.Stderr} {
		if live, ok := w.(*redact.Live); ok {
			err = errors.Join(err, live.Use(a.Redact))
		}
	}
	return err
}

// RefuseSecrets fails where one of the words has the value of a secret variable in it: for words that are kept and that cannot be
// kept without it, as what runs, or what others have to find again. What says what they are.
func (a *Invocation) RefuseSecrets(what string, words ...string) error {
	names := a.Redact.Names([]byte(strings.Join(words, "\n")))
	if len(names) == 0 {
		return nil
	}
	return &Error{Code: "BAD_VALUE", What: what + " has a secret in it: " + strings.Join(names, ", "), Exit: ExitUsage, Why: "it would be kept in the clear",
		Fix: []string{"name the variable instead of its value; a command says '$NAME', in quotes, and workflow.agent.env passes it on"}}
}

func (a *Invocation) redactor(names []string) *redact.Redactor {
	return redact.New(redact.Options{Env: a.Env, Names: names, Exists: isFile})
}

// isFile reports whether a value is the absolute path of something that is there.
func isFile(path string) bool {
	_, err := os.Lstat(path)
	return err == nil && filepath.IsAbs(path)
}

// OnEnd has f called by End.
func (a *Invocation) OnEnd(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends = append(a.ends, f)
}

// InDir is the same invocation in another folder; its own End ends what is begun there.
func (a *Invocation) InDir(dir string) *Invocation {
	other := &Invocation{Process: a.Process, JSON: a.JSON, Redact: a.Redact, warned: a.warned}
	other.Dir = dir
	return other
}

// End lets go of what the invocation holds, the last first. It may be called again.
func (a *Invocation) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ; len(a.ends) > 0; a.ends = a.ends[:len(a.ends)-1] {
		a.ends[len(a.ends)-1]()
	}
}

// MarkName is the environment variable of every process that orch starts for a repository. What
// a killed orch has left is found by it, so that it is not hidden with the rest of the environment.
const MarkName = "ORCH_MARK"

// GuardCommand is how orch runs itself as the guard of an agent. It is not for people.
const GuardCommand = "guard"

// guard is the command line of a guard; what it guards comes behind.
func (p Process) guard() []string { return []string{p.Self, GuardCommand} }

// System starts processes that carry the marker, "" for none. All that orch starts, it starts
// by one of these.
func (p Process) System(marker string) *proc.System {
	return proc.New(proc.Options{Marker: marker, Guard: p.guard(), Image: proc.Image(), Children: p.Children, Now: p.Now})
}

// QuickSystem is a System for callers that must not be late, such as a client's hook.
func (p Process) QuickSystem() *proc.System {
	return proc.New(proc.Options{Guard: p.guard(), Image: proc.Image(), Children: p.Children, Now: p.Now, Hasty: true})
}

// Getenv is the value of an environment variable; the last one counts.
func (p Process) Getenv(name string) string {
	value := ""
	for _, e := range p.Env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// FilterEnv is the part of the environment whose names are listed; a name that ends in * stands
// for all that begin so.
func (p Process) FilterEnv(names ...string) []string {
	var out []string
	for _, e := range p.Env {
		name, _, _ := strings.Cut(e, "=")
		for _, want := range names {
			prefix, open := strings.CutSuffix(want, "*")
			if name == want || open && strings.HasPrefix(name, prefix) {
				out = append(out, e)
				break
			}
		}
	}
	return out
}

// LookPath finds an executable by the PATH of the environment; "" when there is none.
func (p Process) LookPath(name string) string {
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	for _, dir := range filepath.SplitList(p.Getenv("PATH")) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}
