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
	hashes, inline, err := p.texts(rec.Records)
	if err != nil {
		return done, err
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return done, fmt.Errorf("forgetting: %w", err)
	}
	defer root.Close()
	r := remover{Purge: p, root: root, done: Purged{Inline: inline}}
	for _, hash := range hashes {
		r.remove(filepath.Join(textFolder, filepath.Base(hash)), &r.done.Texts)
	}
	for _, t := range s.Tasks {
		r.removeAttempts(t)
	}
	r.removeOthers()
	return r.done, r.err
}

// remover forgets what is in files.
type remover struct {
	Purge

	root *os.Root // the epic's folder
	done Purged
	err  error // of all removals
}

// remove removes a file or folder, where it is there, and counts it.
func (r *remover) remove(path string, count *int) {
	n, there := sizeOf(r.root, path)
	if !there {
		return
	}
	*count++
	r.done.Bytes += n
	if !r.DryRun {
		r.err = errors.Join(r.err, r.root.RemoveAll(path))
	}
}

// removeAttempts removes what there is of the attempts at a task that are meant and have ended.
func (r *remover) removeAttempts(t *epic.Task) {
	if r.Task != "" && t.ID != r.Task {
		return
	}
	home := true // is of all attempts, with what they said
	for _, a := range t.Attempts {
		home = home && !a.Open() && (r.Before.IsZero() || a.Ended.IsZero() || a.Ended.Before(r.Before))
		switch {
		case a.Open():
			if r.Before.IsZero() || a.Started.Before(r.Before) {
				r.done.Open++
			}
		case r.Before.IsZero() || a.Ended.IsZero() || a.Ended.Before(r.Before):
			r.remove(filepath.Join("attempts", slug.Of(string(t.ID)), strconv.Itoa(a.Number)), &r.done.Attempts)
		}
	}
	if home {
		r.remove(filepath.Join("homes", slug.Of(string(t.ID))), &r.done.Others)
	}
}

// removeOthers removes what quotes such texts: what the next run writes again, and ends of journals
// that were cut off.
func (r *remover) removeOthers() {
	if r.done.Texts+r.done.Attempts > 0 || r.Before.IsZero() {
		for _, path := range []string{"snapshot", "outcome.json", "driver.log"} {
			r.remove(path, &r.done.Others)
		}
	}
	torn, err := fs.Glob(r.root.FS(), "journal.torn-*")
	r.err = errors.Join(r.err, err)
	for _, path := range torn {
		if info, err := r.root.Lstat(path); err == nil && (r.Before.IsZero() || info.ModTime().Before(r.Before)) {
			r.remove(path, &r.done.Others)
		}
	}
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

// sizeOf is how many bytes are below a path.
func sizeOf(root *os.Root, path string) (n int64, there bool) {
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
