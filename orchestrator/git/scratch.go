package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/proc"
)

// Scratch makes a directory for short-lived files of orch's own, in the common directory. Its
// name says which process made it. It fails when that cannot be written.
func (r *Repo) Scratch(prefix string) (string, error) {
	files, err := private.Open(r.commonDir)
	if err != nil {
		return "", err
	}
	defer files.Close()
	for tries := 0; ; tries++ {
		dir, err := files.MkdirTemp(r.ScratchDir(), prefix+owner())
		if tries > 10 || !errors.Is(err, fs.ErrNotExist) { // another process closes, and has removed the empty folder
			return dir, err
		}
	}
}

// drop removes what Scratch has made. It fails with a [*private.RefusedError] where the system does not let it.
func drop(dir string) error { return private.Refused(os.RemoveAll(dir)) }

// ScratchDir is where Scratch makes its directories; a crash may leave some there.
func (r *Repo) ScratchDir() string { return filepath.Join(r.commonDir, "orch", "tmp") }

// owner names this process, for good.
var owner = sync.OnceValue(func() string {
	pid := os.Getpid()
	return fmt.Sprintf("%d-%d-%s-", pid, proc.Born(pid), cmp.Or(proc.Here(), "0"))
})

var ownedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-([0-9]+)-([0-9]+)-([0-9a-f]+)-[0-9A-Za-z]+$`) })

// scratchLife is how long a directory counts as in use when its process cannot be asked for.
const scratchLife = time.Hour

// Abandoned lists what Scratch has made and no process needs: where the process that made it has ended,
// or by its age where that cannot be known. It fails when the directories cannot be listed.
func (r *Repo) Abandoned(now time.Time) (paths []string, err error) {
	if info, err := os.Lstat(r.ScratchDir()); err != nil || !info.IsDir() {
		return nil, nil // there is none; what stands in its place is not waited for
	}
	entries, err := os.ReadDir(r.ScratchDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for scratch files: %w", err)
	}
	for _, e := range entries {
		alive, known := ownerAlive(e.Name())
		if !known {
			info, err := e.Info()
			alive = err != nil || now.Sub(info.ModTime()) < scratchLife
		}
		if !alive {
			paths = append(paths, filepath.Join(r.ScratchDir(), e.Name()))
		}
	}
	return paths, nil
}

// Unremoved is a scratch directory that could not be removed.
type Unremoved struct {
	// Path is the directory.
	Path string
	// Err says why it is still there.
	Err error
}

// Sweep removes what Abandoned lists, and says what it has removed, and what it could not: that is tried again by the
// next call. It fails when the directories cannot be listed.
func (r *Repo) Sweep(now time.Time) (removed []string, left []Unremoved, err error) {
	paths, err := r.Abandoned(now)
	if err != nil || len(paths) == 0 {
		return nil, nil, err
	}
	files, err := private.Open(r.commonDir)
	if err != nil {
		return nil, nil, err
	}
	defer files.Close()
	for _, path := range paths {
		if err := files.RemoveAll(path); err != nil {
			left = append(left, Unremoved{path, err})
			continue
		}
		removed = append(removed, path)
	}
	return removed, left, nil
}

// ownerAlive reports whether the process that a name refers to still runs.
func ownerAlive(name string) (alive, known bool) {
	m := ownedName().FindStringSubmatch(name)
	if m == nil || m[3] != proc.Here() {
		return false, false // another machine's, or from before this one was started
	}
	pid, err := strconv.Atoi(m[1])
	born, bornErr := strconv.ParseUint(m[2], 10, 64)
	if err != nil || bornErr != nil || born == 0 {
		return false, false
	}
	return proc.Born(pid) == born, true
}
