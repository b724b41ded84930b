package git

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// InTheWayError says that a reference cannot be made because of another one: a name is a
// reference, or a folder of them, and never both.
type InTheWayError struct {
	// Name is the reference that is to be made; it may end in a slash, for a folder of them.
	Name string
	// Other is the reference that stands there; empty where what stands there is no reference.
	Other string
	// Path is the file of what is no reference.
	Path string
}

// Error names both.
func (e *InTheWayError) Error() string {
	if e.Other == "" {
		return fmt.Sprintf("%s is no plain file, and git would keep %s there", e.Path, e.Name)
	}
	return fmt.Sprintf("%s stands in the way of %s: a name is a reference or a folder of references, never both", titleOf(e.Other), titleOf(e.Name))
}

func titleOf(ref string) string {
	if short := Short(ref); short != ref {
		return "the branch " + short
	}
	return "the reference " + ref
}

// Fix is the command that takes it out of the way, and loses nothing; quote makes a word for a shell.
func (e *InTheWayError) Fix(quote func(string) string) string {
	switch short := Short(e.Other); {
	case e.Other == "":
		return "mv " + quote(e.Path) + " " + quote(e.Path+".aside")
	case short != e.Other:
		return "git branch -m " + quote(short) + " " + quote(strings.ReplaceAll(short, "/", "-")+"-aside")
	}
	aside := "refs/aside/" + strings.ReplaceAll(strings.TrimPrefix(e.Other, "refs/"), "/", "-")
	return "git update-ref " + quote(aside) + " " + quote(e.Other) + " && git update-ref --no-deref -d " + quote(e.Other)
}

// Free reports whether references of these names can be made, or are there; a name that ends in
// a slash stands for all below it. It fails with an [*InTheWayError], and when the files of
// references cannot be read.
func (r *Repo) Free(names ...string) error {
	for _, name := range names {
		if err := checkNoLinks(r.commonDir, strings.TrimSuffix(name, "/")); err != nil {
			return err
		}
		if err := r.looseInTheWay(name); err != nil {
			return err
		}
	}
	return r.packedInTheWay(names)
}

// looseInTheWay looks at the files of references. On the way to name there is none (see linked).
func (r *Repo) looseInTheWay(name string) error {
	path := filepath.Join(r.commonDir, filepath.FromSlash(strings.TrimSuffix(name, "/")))
	if strings.HasSuffix(name, "/") {
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			return &InTheWayError{Name: name, Other: strings.TrimSuffix(name, "/")}
		}
		return nil
	}
	err := filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || at == path || strings.HasSuffix(at, ".lock") { // git removes folders that are empty
			return err
		}
		rel, err := filepath.Rel(r.commonDir, at)
		if err != nil {
			return err
		}
		return &InTheWayError{Name: name, Other: filepath.ToSlash(rel)}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *Repo) packedInTheWay(names []string) error {
	f, err := openRegular(filepath.Join(r.commonDir, "packed-refs"), syscall.O_NOFOLLOW)
	if err != nil {
		return nil // there is none, or it is git's to say
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		id, other, ok := strings.Cut(lines.Text(), " ")
		if !ok || !objectID().MatchString(id) {
			continue
		}
		for _, name := range names {
			if strings.HasPrefix(name, other+"/") || strings.HasPrefix(other, name+"/") {
				return &InTheWayError{Name: name, Other: other}
			}
		}
	}
	return nil
}
