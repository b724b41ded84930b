package beads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/text"
	"github.com/beadsorch/orch/orchestrator/tracker"
)

// BDOptions say how bd is run.
type BDOptions struct {
	Run      command.Runner
	Binary   string        // path of bd
	Dir      string        // the repository's main work tree
	BeadsDir string        // its .beads folder; bd must not look for another
	Env      []string      // what bd sees of the environment, besides what orch sets
	Timeout  time.Duration // of one call; bd itself waits for ever for its lock
	MaxBytes int           // of what one call prints; 0 for what can be parsed at all
	Lock     string        // file whose lock keeps other orchs' bd calls out; "" for none
}

// BD is the tracker that the bd program keeps. One bd runs at a time: its
// database lets only one process in, and the others burn time in back-off.
type BD struct {
	opt     BDOptions
	version version
	mu      sync.Mutex
}

// oldest is the first bd that works at all; batchSince the first with a batch
// command.
var (
	oldest     = version{1, 0, 0}
	batchSince = version{1, 0, 1}
)

// version is a semantic version without its tail.
type version [3]int

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for n := range v {
		if v[n] != w[n] {
			return v[n] < w[n]
		}
	}
	return false
}

// parseVersion reads 1.0.5, v1.0.5 and 1.0.5-18-gfbcee6c62.
func parseVersion(s string) (v version, ok bool) {
	s, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "v"), "-")
	s, _, _ = strings.Cut(s, "+")
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return v, false
	}
	for n, p := range parts {
		var err error
		if v[n], err = strconv.Atoi(p); err != nil || v[n] < 0 {
			return v, false
		}
	}
	return v, true
}

// OpenBD finds out which bd this is. It fails with *VersionError when it is too
// old, with ErrNoDatabase when the folder holds none, and with the error of the
// call when bd does not run.
func OpenBD(ctx context.Context, opt BDOptions) (*BD, error) {
	if !isFile(filepath.Join(opt.BeadsDir, "metadata.json")) {
		return nil, fmt.Errorf("%s: %w", opt.BeadsDir, ErrNoDatabase)
	}
	b := &BD{opt: opt}
	res, err := b.call(ctx, nil, "version", "--json")
	if err != nil {
		return nil, fmt.Errorf("asking bd for its version: %w", err)
	}
	var said struct {
		Version string `json:"version"`
	}
	raw, err := firstValue(ctx, res.Stdout)
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	v, ok := parseVersion(said.Version)
	if err != nil || !ok {
		return nil, &VersionError{Found: cmp.Or(said.Version, text.Clause(string(res.Stdout), maxQuote)), Oldest: oldest.String()}
	}
	if v.before(oldest) {
		return nil, &VersionError{Found: v.String(), Oldest: oldest.String()}
	}
	b.version = v
	return b, nil
}

// SurveyBD reads every issue once, without asking bd for its version first. It fails as
// Survey does, and with ErrNoDatabase.
func SurveyBD(ctx context.Context, opt BDOptions) ([]tracker.Issue, error) {
	if !isFile(filepath.Join(opt.BeadsDir, "metadata.json")) {
		return nil, fmt.Errorf("%s: %w", opt.BeadsDir, ErrNoDatabase)
	}
	return (&BD{opt: opt}).Survey(ctx)
}

// Name is "bd" with its version.
func (b *BD) Name() string { return "bd " + b.version.String() }

// CallError is a bd call that failed.
type CallError struct {
	Args []string
	Said string // what bd printed, at most 300 bytes
	Err  error
}

// Error is the command and what bd printed.
func (e *CallError) Error() string {
	return fmt.Sprintf("bd %s: %s", e.Args[0], cmp.Or(e.Said, e.Err.Error()))
}

// Unwrap is the error of the process.
func (e *CallError) Unwrap() error { return e.Err }

// call runs bd, one at a time, with a deadline, in an environment in which
// nothing but the arguments decides what it does. An answer that shows a
// foreign database is ErrWrongDatabase, whatever the exit code.
func (b *BD) call(ctx context.Context, stdin []byte, args ...string) (command.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, cancel := command.Within(ctx, b.opt.Timeout, context.DeadlineExceeded)
	defer cancel()
	if b.opt.Lock != "" {
		lock := flock.New(b.opt.Lock, flock.SetPermissions(0o600))
		if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
			return command.Result{}, fmt.Errorf("waiting for another bd: %w", err)
		}
		defer lock.Close()
	}
	for {
		res, err := b.opt.Run(ctx, command.Cmd{Dir: b.opt.Dir, Argv: append([]string{b.opt.Binary}, args...), Env: b.env(), Stdin: stdin, MaxOutputBytes: b.opt.MaxBytes})
		if wrong := foreignDatabase(res.Stderr); wrong != "" {
			return res, fmt.Errorf("%w: %s", ErrWrongDatabase, wrong)
		}
		if err == nil && res.DroppedBytes > 0 {
			err = fmt.Errorf("%d bytes too many", res.DroppedBytes)
		}
		if err == nil {
			return res, nil
		}
		if strings.Contains(string(res.Stderr), "exclusive lock") && sleep(ctx, 250*time.Millisecond) {
			continue // bd 1.0.0 does not wait for its lock by itself
		}
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) { // what it has printed so far tells nothing
			return res, &CallError{Args: args, Said: "it did not answer in time", Err: err}
		}
		return res, &CallError{Args: args, Said: errorText(ctx, res), Err: err}
	}
}

// sleep waits for d; false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// env is the environment of every call. What is set here was measured on bd
// 1.0.5 and read in later changelogs; unknown names do no harm.
func (b *BD) env() []string {
	return append(append([]string(nil), b.opt.Env...),
		"BEADS_DIR="+b.opt.BeadsDir, "BD_NON_INTERACTIVE=1", "BD_JSON_ENVELOPE=0", "BD_NO_PAGER=1", "BD_EXPORT_AUTO=false",
		"BD_DISABLE_METRICS=1", "DOLT_METRICS_DISABLED=1", "BD_NO_PARTIAL_ID_NOTICE=1")
}

// foreignDatabase is the line in which bd reports that it made or used another database.
func foreignDatabase(stderr []byte) string {
	for line := range strings.Lines(string(stderr)) {
		for _, sign := range []string{"no beads configuration found", "failed to load beads config", "using default database name"} {
			if strings.Contains(line, sign) {
				return strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// maxSaid is how many bytes of a text of bd are passed on.
const maxSaid = 300

// errorText is what bd printed about a failure: the error of the last JSON object that
// it printed, else its text.
func errorText(ctx context.Context, res command.Result) string {
	for _, out := range [][]byte{res.Stdout, res.Stderr} {
		raw, err := firstValue(ctx, out)
		var e struct {
			Error string `json:"error"`
		}
		if err == nil && json.Unmarshal(raw, &e) == nil && e.Error != "" {
			return text.CutBytes(e.Error, maxSaid)
		}
	}
	return text.CutBytes(strings.TrimSpace(string(res.Stderr)), maxSaid)
}

// Survey reads every issue in one call. It fails with *CallError, *ParseError or
// ErrWrongDatabase.
func (b *BD) Survey(ctx context.Context) ([]tracker.Issue, error) {
	args := []string{"list", "--all", "--include-gates", "--include-templates", "--include-infra", "--limit", "0", "--json"}
	res, err := b.call(ctx, nil, args...)
	if err != nil && strings.Contains(err.Error(), "unknown flag") {
		res, err = b.call(ctx, nil, "list", "--all", "--limit", "0", "--json")
	}
	if err != nil {
		return nil, err
	}
	issues, err := Parse(ctx, res.Stdout)
	if err != nil {
		return nil, err
	}
	return issues, b.signClosed(issues)
}

// Apply makes the changes in as few calls as there are kinds of them: all claims
// in one, all closes and statuses in one, then each note. (A status that is set in
// a batch, unlike one that is set by bd update, leaves bd's log of interactions
// alone, which may be a tracked file of the person's.) A call whose answer was
// lost is read back before anything is tried again. An error means that nothing
// is known of some of the changes; asking again for all of them is safe.
func (b *BD) Apply(ctx context.Context, actor string, changes []tracker.Change) ([]tracker.Outcome, error) {
	a := &applying{bd: b, actor: actor, changes: changes, outcomes: make([]tracker.Outcome, len(changes))}
	for n, c := range changes {
		a.outcomes[n].ID = c.ID
		switch {
		case c.Kind == tracker.Claim:
			a.claims = append(a.claims, n)
		case c.Kind == tracker.Reopen:
			a.reopens = append(a.reopens, n)
		case c.Kind == tracker.Create || !isPlainID(c.ID) || b.version.before(batchSince):
			a.single = append(a.single, n)
		case c.Kind == tracker.AddNote:
			a.notes = append(a.notes, n)
		case c.Kind == tracker.Comment:
			a.single = append(a.single, n)
		default:
			a.batch = append(a.batch, n)
			if c.Note != "" {
				a.notes = append(a.notes, n)
			}
		}
	}
	for _, step := range []func(context.Context) error{a.claim, a.reopen, a.inBatch, a.oneByOne} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return a.outcomes, nil
}

// isPlainID reports whether an id can be used in a line of a batch, and as an argument.
func isPlainID(id string) bool {
	if id == "" || id[0] == '-' {
		return false
	}
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._", r)) {
			return false
		}
	}
	return true
}

// maybeDone reports whether a call may have done its work although it failed: it was
// killed, ran out of time, or its answer did not arrive.
func maybeDone(err error) bool {
	var exit *command.ExitError
	return err != nil && !(errors.As(err, &exit) && exit.Signal == "" && exit.ExitCode == 1)
}
