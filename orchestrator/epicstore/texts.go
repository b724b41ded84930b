package epicstore

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/text"
)

// What agents and gates said at length is kept in files of its own, each named by the hash of
// its content, and the journal has the hash with a clause: a journal is for ever, and what
// somebody said can be forgotten. A journal that has all of a text inline is read as well.

// textFolder is in an epic's folder.
const textFolder = "texts"

const (
	maxInline = 160     // bytes of a text that the journal holds itself
	maxText   = 4 << 20 // bytes of a text that is read back
)

// purged is what the state has in place of a text that was forgotten, behind its first clause.
const purged = " [purged]"

// Shelve puts the long texts of an event into files, and gives the event as the journal has
// it. It fails when a file cannot be written.
func Shelve(dir string, e epic.Event) (epic.Event, error) {
	kept := map[string]string{}
	var errs []error
	e = e.EditTexts(func(t epic.Text) string {
		if !t.Long || len(t.Body) <= maxInline {
			return t.Body
		}
		sum := sha256.Sum256([]byte(t.Body))
		hash := hex.EncodeToString(sum[:])
		if err := keepText(dir, hash, t.Body); err != nil {
			errs = append(errs, fmt.Errorf("keeping a text: %w", err))
		}
		kept[t.Name] = hash
		return text.Clause(t.Body, maxInline)
	})
	if e.Kept = nil; len(kept) > 0 {
		e.Kept = kept
	}
	return e, errors.Join(errs...)
}

// Unshelve gives an event of the journal its texts back. What was forgotten, or is not what
// was kept, stays a clause that says so.
func Unshelve(dir string, e epic.Event) epic.Event {
	kept := e.Kept
	if e.Kept = nil; len(kept) == 0 {
		return e
	}
	return e.EditTexts(func(t epic.Text) string {
		hash, ok := kept[t.Name]
		if !ok {
			return t.Body
		}
		full, err := readText(dir, hash)
		if err != nil {
			return t.Body + purged
		}
		return full
	})
}

// errText says that a file does not hold the text that it is named by.
var errText = errors.New("not the text that was kept")

func readText(dir, hash string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if len(hash) != 2*sha256.Size || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", errText
	}
	info, err := root.Lstat(textFolder + "/" + hash)
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(errText, err)
	}
	f, err := root.Open(textFolder + "/" + hash)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != hash {
		return "", errText
	}
	return string(b), nil
}

// keepText writes a text, durably, unless it is there.
func keepText(dir, hash, body string) error {
	if was, err := readText(dir, hash); err == nil && was == body {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(textFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	tmp := textFolder + "/." + rand.Text()
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(tmp, textFolder+"/"+hash)
	}
	if err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	folder, err := root.Open(textFolder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
