package orchestrator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/beadsorch/orch/orchestrator/epic"
	"github.com/beadsorch/orch/orchestrator/epicdir"
)

// maxAsked is how many requests of one kind are taken at a time. Persons and sessions leave far fewer;
// what is more was left by something that went wrong, and each would be three records of the journal.
const maxAsked = 100

// bound puts aside, without reading them into the journal one by one, the files of pending requests
// that are more of one kind than maxAsked, the newest. It gives the others, in their order, and an
// event for each kind that was too much. What cannot be moved is not taken either.
func bound(dir string, pending []Pending) (within []Pending, told []epic.Event) {
	aside := map[epic.Kind][]Pending{}
	seen := map[epic.Kind]int{}
	var kinds []epic.Kind
	for _, p := range pending {
		kind := p.Event.Kind() // "" of what is no request
		if seen[kind]++; seen[kind] <= maxAsked {
			within = append(within, p)
			continue
		}
		if aside[kind] == nil {
			kinds = append(kinds, kind)
		}
		aside[kind] = append(aside[kind], p)
	}
	for _, kind := range kinds {
		what := string(kind)
		if kind == "" {
			what = "no request"
		}
		reason := fmt.Sprintf("%d files (%s) are more than the %d of a kind that are taken at a time; they are kept in %s/%s", len(aside[kind]), what, maxAsked, requestDir, badDir)
		if err := keepAside(dir, aside[kind]); err != nil {
			reason += ", but for what cannot be moved: " + err.Error()
		}
		told = append(told, epic.Event{Fact: epic.RequestRefused{}, Reason: reason})
	}
	return within, told
}

// keepAside moves the files of requests to the folder of those that are none. It fails with the
// first error, and moves the others all the same.
func keepAside(dir string, all []Pending) error {
	files, err := epicdir.Open(dir)
	if err != nil {
		return err
	}
	defer files.Close()
	first := files.MkdirAll(filepath.Join(dir, requestDir, badDir))
	for _, p := range all {
		err := files.Rename(p.file, filepath.Join(dir, requestDir, badDir, filepath.Base(p.file)))
		if first == nil && !errors.Is(err, os.ErrNotExist) {
			first = err
		}
	}
	return first
}
