package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// followEvery is how often Follow looks.
const followEvery = 200 * time.Millisecond

// Follow calls fn for every record of the journal in dir with a Seq above from, then for
// every one that comes, until ctx ends or something fails: it never returns nil. A
// journal that does not exist yet is waited for. It fails with ctx's cause, with fn's
// error, and as [Read] does.
func Follow(ctx context.Context, dir string, from int64, fn func(Record) error) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	path := filepath.Join(dir, File)
	var c chain
	each := func(r Record) error {
		if r.Seq <= from {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fn(r)
	}
	for {
		if err := c.readOn(path, each); err != nil {
			return in(path, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// readOn reads what came after c.offset; a file that is not there holds nothing.
func (c *chain) readOn(path string, each func(Record) error) error {
	f, err := openPlain(path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, c.offset, 1<<62))
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	_, err = c.extend(data, each)
	return err
}
