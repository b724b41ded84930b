package trust

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beadsorch/orch/cmd/internal/trust/plan"
)

// record is one answer of a person, as it is kept.
type record struct {
	// Digest is that of the plan.
	Digest string `json:"digest"`
	// Denied says that the answer was no.
	Denied bool `json:"denied,omitempty"`
	// At is when, UTC.
	At time.Time `json:"at"`
	// By is who, as far as the environment tells.
	By string `json:"by"`
	// Identity is the repository's.
	Identity string `json:"identity"`
	// Repository is where it was then; for people only.
	Repository string `json:"repository"`
	// Orch is the version that asked.
	Orch string `json:"orch"`
	// Plan is what was shown, without secrets.
	Plan plan.Plan `json:"plan"`
	// Kept is the digest of Plan, where secrets were taken out of it.
	Kept string `json:"kept,omitempty"`
}

// maxRecord bounds a record, in bytes.
const maxRecord = 16 << 20

// store keeps the answers about one repository, in a folder of its own outside of it.
type store struct {
	home string // such as ~/.local/state; it may not be there yet
	name string // of the repository's folder
}

// folders are those below home, each in the one before.
func (s store) folders() []string { return []string{"orch", "trust", s.name} }

// dir is where the answers are.
func (s store) dir() string {
	return filepath.Join(append([]string{s.home}, s.folders()...)...)
}

// errUnsafe is the error of a store that somebody else could write.
var errUnsafe = errors.New("it is not a folder or file of yours alone")

// open opens the folder; nil where there is none and make does not ask for it. Nothing that
// it goes through below home is a link, or can be written by others.
func (s store) open(make bool) (*os.Root, error) {
	if make {
		if err := os.MkdirAll(s.home, 0o700); err != nil {
			return nil, fmt.Errorf("making the folder of trust: %w", err)
		}
	}
	root, err := os.OpenRoot(s.home)
	for _, name := range s.folders() {
		if err != nil {
			break
		}
		root, err = openFolder(root, name, make)
	}
	if errors.Is(err, fs.ErrNotExist) && !make {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the folder of trust, %s: %w", s.dir(), err)
	}
	return root, nil
}

// openFolder opens a folder below root, and closes root.
func openFolder(root *os.Root, name string, make bool) (*os.Root, error) {
	defer root.Close()
	if make {
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || !isPrivate(info) {
		return nil, fmt.Errorf("%s: %w", name, errUnsafe)
	}
	below, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := below.Stat(".")
	if err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, errUnsafe), err, below.Close())
	}
	return below, nil
}

// isPrivate reports whether a file or folder is this user's, and no one else may write it.
func isPrivate(info fs.FileInfo) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// all reads the answers, oldest first. What is no answer is passed over.
func (s store) all() ([]record, error) {
	root, err := s.open(false)
	if root == nil || err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("reading what is trusted: %w", err)
	}
	var out []record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		if r, ok := s.read(root, e.Name()); ok {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b record) int { return a.At.Compare(b.At) })
	return out, nil
}

// read reads one answer; ok is false for what none of ours has written.
func (s store) read(root *os.Root, name string) (r record, ok bool) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return r, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !isPrivate(info) || info.Size() > maxRecord {
		return r, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	return r, r.Identity == s.name && name == fileOf(r.Digest) && (r.Denied || r.Plan.Digest() == cmp.Or(r.Kept, r.Digest))
}

// fileOf is the name of the file with the answer about a digest.
func fileOf(digest string) string {
	_, digits, _ := strings.Cut(digest, ":")
	return digits + ".json"
}

// keep writes an answer down, in place of an earlier one about the same plan.
func (s store) keep(r record) (err error) {
	root, err := s.open(true)
	if err != nil {
		return err
	}
	defer root.Close()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing down what is trusted: %w", err)
	}
	tmp := fmt.Sprintf(".%s.%d", fileOf(r.Digest), os.Getpid())
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing down what is trusted: %w", err)
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing down what is trusted: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close()); err == nil {
		err = root.Rename(tmp, fileOf(r.Digest))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing down what is trusted: %w", err), root.Remove(tmp))
	}
	return nil
}

// forget takes answers away, and says how many.
func (s store) forget(which func(record) bool) (n int, err error) {
	all, err := s.all()
	if err != nil {
		return 0, err
	}
	root, err := s.open(false)
	if root == nil || err != nil {
		return 0, err
	}
	defer root.Close()
	for _, r := range all {
		if !which(r) {
			continue
		}
		if err := root.Remove(fileOf(r.Digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("forgetting what is trusted: %w", err)
		}
		n++
	}
	return n, nil
}
