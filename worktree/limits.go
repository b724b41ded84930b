package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beadsorch/orch/orchestrator/git"
)

// Limits bounds what an attempt may leave. A part that is 0 has no limit.
type Limits struct {
	// FileBytes is the size of one file.
	FileBytes int64
	// CommitBytes is the size of all file contents together that its commits add.
	CommitBytes int64
}

// withSize is a file with its size, for a message.
func withSize(path string, bytes int64) string {
	return fmt.Sprintf("%s (%s)", path, formatBytes(bytes))
}

// formatBytes is a size for people.
func formatBytes(n int64) string {
	for _, u := range []struct {
		name string
		is   int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n >= u.is {
			return strconv.FormatFloat(float64(n)/float64(u.is), 'f', 1, 64) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// splitBySize sorts out the paths, below the worktree, of files over the limit: these are not
// read, since an object made of one would have its size. large describes them.
func (l linked) splitBySize(paths []string) (small, refused, large []string) {
	var total int64
	for _, path := range paths {
		info, err := os.Lstat(filepath.Join(l.dir, path))
		if err != nil || info.Mode().Type() != 0 && info.Mode().Type() != fs.ModeSymlink {
			small = append(small, path) // git says what is wrong
			continue
		}
		over := l.limits.FileBytes > 0 && info.Size() > l.limits.FileBytes
		if !over && l.limits.CommitBytes > 0 && total+info.Size() > l.limits.CommitBytes {
			over = true
		}
		if over {
			refused, large = append(refused, path), append(large, withSize(path, info.Size()))
			continue
		}
		total += info.Size()
		small = append(small, path)
	}
	return small, refused, large
}

// Oversized says in a clause which limit the commits of head are over that neither base nor the
// epic branch has; "" none. Nothing of their files is read but the sizes. It fails as git does.
func (s *Store) Oversized(ctx context.Context, base, head git.Commit) (string, error) {
	if head == base || s.limits.FileBytes == 0 && s.limits.CommitBytes == 0 {
		return "", nil
	}
	args := []string{"rev-list", "--objects", string(head), "--not", string(base)}
	if tip, err := s.tip(ctx, s.EpicBranch()); err != nil {
		return "", err
	} else if tip != "" {
		args = append(args, string(tip))
	}
	res, err := s.repo.Do(ctx, git.Call{Args: args})
	if err != nil {
		return "", fmt.Errorf("listing what the commits add: %w", err)
	}
	if res.DroppedBytes > 0 {
		return "its commits have more objects than orch can count", nil
	}
	names := map[string]string{}
	var ids strings.Builder
	for line := range strings.Lines(string(res.Stdout)) {
		id, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		names[id] = path
		ids.WriteString(id + "\n")
	}
	if ids.Len() == 0 {
		return "", nil
	}
	res, err = s.repo.Do(ctx, git.Call{Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"}, Stdin: []byte(ids.String())})
	if err != nil {
		return "", fmt.Errorf("measuring what the commits add: %w", err)
	}
	return s.limits.over(string(res.Stdout), names), nil
}

// over reads "id type size" lines.
func (m Limits) over(sizes string, names map[string]string) string {
	var total int64
	for line := range strings.Lines(sizes) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "blob" {
			continue
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			continue
		}
		if m.FileBytes > 0 && size > m.FileBytes {
			return fmt.Sprintf("%s is over limits.file_size, %s", withSize(names[fields[0]], size), formatBytes(m.FileBytes))
		}
		total += size
	}
	if m.CommitBytes > 0 && total > m.CommitBytes {
		return fmt.Sprintf("its commits add %s, over limits.commit_size, %s", formatBytes(total), formatBytes(m.CommitBytes))
	}
	return ""
}
