package epicstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/journal"
	"github.com/beadsorch/orch/orchestrator/slug"
)

// Purge says what is to be forgotten of an epic: the messages and prompts of its agents. What
// happened stays in the journal, and the work in git.
type Purge struct {
	// Dir is the epic's folder.
	Dir string
	// Task is the task whose texts are forgotten; "" for all tasks.
	Task epic.TaskID
	// Before is since when texts stay; zero forgets all.
	Before time.Time
	// DryRun only says what would be removed.
	DryRun bool
	// Me holds the epic meanwhile.
	Me Holder
}

// Purged is what was removed, or would be.
type Purged struct {
	// Texts is how many last words, questions and feedbacks.
	Texts int `json:"texts"`
	// Attempts is how many folders of attempts, with briefs, logs and checkpoints.
	Attempts int `json:"attempts"`
	// Others is how many files that may quote them: snapshots, and damaged ends of journals.
	Others int `json:"others"`
	// Bytes is how much all that is.
	Bytes int64 `json:"bytes"`
	// Inline is how many texts stay, since an older orch wrote them into the journal itself.
	Inline int `json:"inline"`
	// Open is how many attempts stay, since they have not ended.
	Open int `json:"open"`
}

// Do forgets. It holds the epic, and fails with *HeldError while another process does, and when
// the journal cannot be read or something cannot be removed.
func (p Purge) Do(ctx context.Context) (done Purged, err error) {
	rec, err := journal.Read(p.Dir)
	if err != nil {
		return done, err
	}
	s, err := ReplayIn(p.Dir, rec.Records)
	if err != nil {
		return done, err
	}
	l, err := Acquire(ctx, p.Dir, s.Epic, Waiting{})
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, l.Unlock()) }()
	if err := WriteHolder(p.Dir, p.Me); err != nil {
		return done, err
	}
	if rec, err = journal.Read(p.Dir); err != nil { // as it is now that no other process writes
		return done, err
	}
	if s, err = ReplayIn(p.Dir, rec.Records); err != nil {
		return done, err
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return done, fmt.Errorf("forgetting: %w", err)
	}
	defer root.Close()
	remove := func(path string, count *int) {
		n, there := size(root, path)
		if !there {
			return
		}
		*count++
		done.Bytes += n
		if !p.DryRun {
			err = errors.Join(err, root.RemoveAll(path))
		}
	}
	hashes, inline, err := p.texts(rec.Records)
	if err != nil {
		return done, err
	}
	done.Inline = inline
	for _, hash := range hashes {
		remove(filepath.Join(textFolder, filepath.Base(hash)), &done.Texts)
	}
	for _, t := range s.Tasks {
		for _, a := range t.Attempts {
			switch {
			case p.Task != "" && t.ID != p.Task || !p.Before.IsZero() && !a.Ended.Before(p.Before) && !a.Ended.IsZero():
			case a.Open():
				if p.Before.IsZero() || a.Started.Before(p.Before) {
					done.Open++
				}
			default:
				remove(filepath.Join("attempts", slug.Of(string(t.ID)), strconv.Itoa(a.Number)), &done.Attempts)
			}
		}
	}
	if done.Texts+done.Attempts > 0 || p.Before.IsZero() {
		for _, path := range []string{"snapshot", "outcome.json", "driver.log"} { // which the next run writes again
			remove(path, &done.Others)
		}
	}
	torn, globErr := fs.Glob(root.FS(), "journal.torn-*")
	for _, path := range torn {
		if info, err := root.Lstat(path); err == nil && (p.Before.IsZero() || info.ModTime().Before(p.Before)) {
			remove(path, &done.Others)
		}
	}
	return done, errors.Join(err, globErr)
}

// texts lists the hashes of the texts that are to be forgotten and that nothing else names,
// and counts what stands in the journal itself.
func (p Purge) texts(records []journal.Record) (hashes []string, inline int, err error) {
	stay := map[string]bool{}
	for _, r := range records {
		var e epic.Event
		if err := json.Unmarshal(r.Event, &e); err != nil {
			return nil, 0, fmt.Errorf("journal record %d: %w", r.Seq, err)
		}
		goes := (p.Task == "" || e.About(p.Task)) && (p.Before.IsZero() || e.At.Before(p.Before))
		for _, hash := range e.Kept {
			if goes {
				hashes = append(hashes, hash)
			} else {
				stay[hash] = true
			}
		}
		e.EditTexts(func(t epic.Text) string {
			if goes && t.Long && e.Kept[t.Name] == "" && len(t.Body) > maxInline {
				inline++
			}
			return t.Body
		})
	}
	slices.Sort(hashes)
	return slices.DeleteFunc(slices.Compact(hashes), func(hash string) bool { return stay[hash] }), inline, nil
}

// size is how many bytes are below a path.
func size(root *os.Root, path string) (n int64, there bool) {
	if _, err := root.Lstat(path); err != nil {
		return 0, false
	}
	_ = fs.WalkDir(root.FS(), path, func(_ string, d fs.DirEntry, err error) error { // only a figure
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n, true
}
