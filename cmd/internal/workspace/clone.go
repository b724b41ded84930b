package workspace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/beadsorch/orch/beads"
	"github.com/beadsorch/orch/orchestrator/private"
)

// Hostname is the name of this machine.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return name
}

// cloneFile, in orch's folder, has who this clone is; who reads it holds cloneLock.
const (
	cloneFile = "clone.json"
	cloneLock = "clone.lock"
)

// maxCloneFile bounds cloneFile, in bytes.
const maxCloneFile = 16 << 10

// cloneLockWait is how long another process may take to write cloneFile.
const cloneLockWait = 10 * time.Second

// identity is who a clone is: what tells it apart, in the tracker, from others that share one.
type identity struct {
	// Name is "host:id": the host on which it was made, and a number that no other has. It stays as it is.
	Name string `json:"name"`
	// Former is the name by which orch called this clone before it had a file, made of the machine and the
	// folder; "" where the folder is a copy.
	Former string `json:"former,omitempty"`
	// Folder is the git directory. A copy of it has the same file, and is another folder.
	Folder folder `json:"folder"`
}

// folder tells which folder a git directory is, and where.
type folder struct {
	Boot    string `json:"boot,omitempty"` // names the machine since it was started; "" unknown
	Machine string `json:"machine"`        // names the machine
	Device  uint64 `json:"device"`         // of the folder
	Inode   uint64 `json:"inode"`          // of the folder
	Path    string `json:"path"`           // as it was opened last
}

// same reports whether two are one and the same, moved or not. Where it cannot be known they are two:
// to ask a person once too often is better than to do all twice.
func (p folder) same(was folder) bool {
	switch {
	case p.Inode != was.Inode:
		return false
	case p.Boot != "" && p.Boot == was.Boot:
		return p.Device == was.Device // whatever path and host are called: containers name both as they like
	}
	return p.Machine == was.Machine && (p.Device == was.Device || p.Path == was.Path) // a device may have another number now
}

// folderOf is what the folder dir is. It fails when that cannot be looked at.
func folderOf(dir string) (folder, error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(dir, &stat); err != nil {
		return folder{}, fmt.Errorf("looking at %s: %w", dir, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = nil // not Linux
	}
	p := folder{Boot: strings.TrimSpace(string(boot)), Device: uint64(stat.Dev), Inode: uint64(stat.Ino), Path: dir}
	machine := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", Hostname(), machineID()))
	p.Machine = fmt.Sprintf("%x", machine[:8])
	return p, nil
}

func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		return "" // then the name of the host has to do
	}
	return strings.TrimSpace(string(id))
}

// clone says who this clone of the repository is, and keeps it in orch's folder, which is there. It fails when
// that cannot be read, locked or written.
func (w *Workspace) clone(ctx context.Context) (identity, error) {
	me, err := identify(ctx, w.Project.Home)
	if err != nil {
		return identity{}, fmt.Errorf("finding out who this clone is: %w", err)
	}
	return me, nil
}

// identify is clone for orch's folder home.
func identify(ctx context.Context, home string) (me identity, err error) {
	here, err := folderOf(filepath.Dir(home))
	if err != nil {
		return identity{}, err
	}
	files, err := private.OpenAbove(home, 1)
	if err != nil {
		return identity{}, err
	}
	defer files.Close()
	file, locked := filepath.Join(home, cloneFile), filepath.Join(home, cloneLock)
	if err := files.Plain(locked); err != nil {
		return identity{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, cloneLockWait)
	defer cancel()
	lock := flock.New(locked, flock.SetPermissions(0o600), flock.SetFlag(private.LockFlags))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return identity{}, fmt.Errorf("locking %s: %w", locked, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	b, err := files.ReadFile(file, maxCloneFile)
	if !isAnswer(err) {
		return identity{}, err
	}
	was, known := parseIdentity(b)
	if known && was.Folder == here {
		return was, nil
	}
	me = was
	if !known || !here.same(was.Folder) {
		me = identity{Name: newName(here)}
	}
	if errors.Is(err, fs.ErrNotExist) {
		me.Former = formerName(home)
	}
	me.Folder = here
	if b, err = json.Marshal(me); err != nil {
		return identity{}, err
	}
	return me, files.WriteFile(file, append(b, '\n'))
}

// CloneDir is the folder of the clone that an actor names, where that is the one that has the tracker, which may be this one; ""
// for any other, since nobody keeps where clones are.
func (w *Workspace) CloneDir(actor string) string {
	beadsDir, _, _ := beads.Find(w.Project.Root)
	at := filepath.Dir(filepath.Clean(beadsDir))
	b, err := private.ReadFile(filepath.Join(at, ".git", filepath.Base(w.Project.Home), cloneFile), maxCloneFile)
	if err != nil {
		return ""
	}
	if them, ok := parseIdentity(b); !ok || !strings.HasSuffix(actor, "/"+them.Name) {
		return ""
	}
	return at
}

// isAnswer reports whether a read has told what is there: a file, nothing, or what is no file of orch's.
func isAnswer(err error) bool {
	var unsafe *private.UnsafeError
	return err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, &unsafe)
}

// parseIdentity reads what identify has written; ok is false where anything else is there.
func parseIdentity(b []byte) (i identity, ok bool) {
	err := json.Unmarshal(b, &i)
	name := regexp.MustCompile(`^[A-Za-z0-9.-]{1,255}:[0-9a-f]{8,64}$`)
	return i, err == nil && name.MatchString(i.Name) && (i.Former == "" || name.MatchString(i.Former))
}

// newName is a name that no other clone has. It is made of what tells the git directory apart from all others, as long
// as the machine is up and tells that: a clone whose orch's folder was removed has its name again.
func newName(here folder) string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // it never fails
	if born := birth(here.Path); here.Boot != "" && born != "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", here.Boot, here.Machine, here.Device, here.Inode, born))
		copy(id[:], sum[:])
	}
	return fmt.Sprintf("%s:%x", hostWord(), id)
}

// formerName is the name that orch made of the machine and the folder, before it had a file for it. Epics that
// were begun under it go on under it.
func formerName(home string) string {
	id := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", Hostname(), machineID(), home))
	return fmt.Sprintf("%s:%x", hostWord(), id[:4])
}

// hostWord is the name of this machine as a part of a name.
func hostWord() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, Hostname())
}
