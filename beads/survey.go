package beads

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// maxLine bounds one issue in the embedded tracker's file, in bytes, where that is only read.
const maxLine = 8 << 20

// SurveyFile reads every issue of the embedded tracker in the folder dir once, for one who has
// little time: it takes no memory for what it has not understood, and stops soon after ctx has
// ended. A folder without the file has no issues. It fails with a [*DamagedError], with
// context.Cause(ctx), and when the file cannot be read.
func SurveyFile(ctx context.Context, dir string) ([]tracker.Issue, error) {
	path := filepath.Join(dir, FileName)
	f, _, err := openPlain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []tracker.Issue{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tasks: %w", err)
	}
	defer f.Close()
	issues, all := []tracker.Issue{}, newLines(path)
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("reading the tasks: %w", context.Cause(ctx))
		}
		r, ok, err := all.next(in.Bytes())
		if err != nil {
			return nil, err
		}
		if ok && r.issue != nil {
			issues = append(issues, *r.issue)
		}
	}
	if err := in.Err(); err != nil {
		return nil, &DamagedError{Path: path, Line: all.n + 1, Why: err.Error(), Err: err}
	}
	return issues, nil
}

// openPlain opens a regular file for reading, and gives its size; it never waits, as opening a
// FIFO would. It fails for what is no regular file.
func openPlain(path string) (f *os.File, size int64, err error) {
	if f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notPlain(path, info.Mode())
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
