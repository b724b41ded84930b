package cell

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/beadsorch/orch/orchestrator/private"
)

// Where there are no mounts, what a client runs or obeys can be written in the folder that is shared with the person. It is compared
// after each turn with what it was when the first of the turns began that run at the same time, and put back.

// image is a file, a folder or a link as it was.
type image struct {
	Mode    fs.FileMode      `json:"mode"`
	Link    string           `json:"link,omitempty"`
	Content []byte           `json:"content,omitempty"`
	Below   map[string]image `json:"below,omitempty"`
}

// Bounds on what is kept of one file or folder; what is larger is not compared.
const (
	maxImageBytes = 8 << 20
	maxImageFiles = 2000
)

var errLarge = errors.New("too large to be kept")

// budget is what may still be read.
type budget struct{ bytes, files int }

// imageOf reads what is at a path, following no link. It fails with [fs.ErrNotExist] and errLarge.
func imageOf(dir *private.Dir, path string, b *budget) (i image, err error) {
	if b.files--; b.files < 0 {
		return i, errLarge
	}
	info, err := dir.Lstat(path)
	if err != nil {
		return i, err
	}
	i.Mode = info.Mode()
	switch {
	case i.Mode&fs.ModeSymlink != 0:
		i.Link, err = dir.Readlink(path)
	case i.Mode.IsRegular():
		if info.Size() > int64(b.bytes) {
			return i, errLarge
		}
		i.Content, err = dir.ReadFile(path, int64(b.bytes))
		b.bytes -= len(i.Content)
	case i.Mode.IsDir():
		entries, err := dir.ReadDir(path)
		if err != nil {
			return i, err
		}
		i.Below = map[string]image{}
		for _, e := range entries {
			below, err := imageOf(dir, filepath.Join(path, e.Name()), b)
			if err != nil {
				return i, err
			}
			i.Below[e.Name()] = below
		}
	}
	return i, err
}

func (i image) equal(o image) bool {
	return i.Mode == o.Mode && i.Link == o.Link && bytes.Equal(i.Content, o.Content) && maps.EqualFunc(i.Below, o.Below, image.equal)
}

// write makes what i is at a path at which nothing is.
func (i image) write(dir *private.Dir, path string) error {
	switch {
	case i.Mode&fs.ModeSymlink != 0:
		return dir.Symlink(i.Link, path)
	case i.Mode.IsRegular():
		return errors.Join(dir.WriteFile(path, i.Content), dir.Chmod(path, i.Mode.Perm()))
	case !i.Mode.IsDir():
		return nil
	}
	err := dir.MkdirAll(path)
	for _, name := range slices.Sorted(maps.Keys(i.Below)) {
		err = errors.Join(err, i.Below[name].write(dir, filepath.Join(path, name)))
	}
	return errors.Join(err, dir.Chmod(path, i.Mode.Perm()))
}

// fixed are the images that the turns of a process share.
type fixed struct {
	mu   sync.Mutex
	held map[string]*heldImage // by path
}

// heldImage is an image, and how many turns are under way that began with it.
type heldImage struct {
	image
	turns int
}

// hold gives the images of paths: those of the turns that are under way, else as they are now.
func (f *fixed) hold(paths []string) map[string]image {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		f.held = map[string]*heldImage{}
	}
	images := map[string]image{}
	for _, path := range paths {
		if h := f.held[path]; h != nil {
			h.turns++
			images[path] = h.image
			continue
		}
		dir, err := private.Open(filepath.Dir(path))
		if err != nil {
			continue // is not there any more
		}
		i, err := imageOf(dir, path, &budget{maxImageBytes, maxImageFiles})
		if dir.Close() == nil && err == nil {
			f.held[path] = &heldImage{i, 1}
			images[path] = i
		}
	}
	return images
}

// release ends the turn that held images.
func (f *fixed) release(images map[string]image) {
	for path := range images {
		if h := f.held[path]; h != nil {
			if h.turns--; h.turns == 0 {
				delete(f.held, path)
			}
		}
	}
}

// fixedFile, in the folder of a cell, has its images, for who takes back what a killed process has left.
const fixedFile = "fixed.json"

// maxFixed bounds that file, in bytes.
const maxFixed = 256 << 20

// holdFixed keeps what the client runs or obeys, where it can be written.
func (n *cell) holdFixed() error {
	if n.of.Box.Level.Mounts() {
		return nil
	}
	var paths []string
	for _, rel := range n.needs.Fixed {
		if path, ok := n.shared(rel); ok {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	n.images = n.of.fixed.hold(paths)
	content, err := json.Marshal(n.images)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.folder, fixedFile), content, 0o600)
}

// putBackFixed puts back what the client runs or obeys, and gives the paths that had changed; what they had become is in the attempt's
// folder.
func (n *cell) putBackFixed() (changed []string, err error) {
	images := n.images
	if n.of == nil {
		if content, err := private.ReadFile(filepath.Join(n.folder, fixedFile), maxFixed); err == nil {
			if err := json.Unmarshal(content, &images); err != nil {
				return nil, err
			}
		}
	} else if len(images) > 0 {
		n.of.fixed.mu.Lock() // one of them puts back
		defer n.of.fixed.mu.Unlock()
		defer n.of.fixed.release(images)
		n.images = nil
	}
	for _, path := range slices.Sorted(maps.Keys(images)) {
		was, failed := n.putBack(path, images[path])
		err = errors.Join(err, failed)
		if was {
			changed = append(changed, path)
		}
	}
	return changed, err
}

func (n *cell) putBack(path string, want image) (changed bool, err error) {
	dir, err := private.Open(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	is, err := imageOf(dir, path, &budget{maxImageBytes, maxImageFiles})
	switch {
	case err == nil && is.equal(want):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
	default: // also what cannot be read
		if err := n.moveOut(path); err != nil {
			return true, err
		}
	}
	return true, want.write(dir, path)
}
