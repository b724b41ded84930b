package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/journal"
)

func TestOneWriter(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	j, _ := open(t, dir)
	require.True(t, journal.Held(dir))
	_, _, err := journal.Open(dir, clock())
	require.ErrorIs(t, err, journal.ErrHeld)
	require.NoError(t, j.Close())
	require.False(t, journal.Held(dir))
	open(t, dir)
}

// A writer whose file was taken away writes no more, neither there nor where the file was.
func TestFenced(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(dir, path string) error{
		"removed":            func(_, path string) error { return os.Remove(path) },
		"moved":              func(_, path string) error { return os.Rename(path, path+".old") },
		"folder removed":     func(dir, _ string) error { return os.RemoveAll(dir) },
		"folder moved":       func(dir, _ string) error { return os.Rename(dir, dir+".old") },
		"folder is a file":   func(dir, _ string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
		"cut":                func(_, path string) error { return os.Truncate(path, 100) },
		"emptied":            func(_, path string) error { return os.Truncate(path, 0) },
		"replaced by a copy": func(_, path string) error { return copyOver(path) },
		"made longer": func(_, path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x\n")
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newDir(t)
			j, _ := open(t, dir)
			_, err := j.Append("first")
			require.NoError(t, err)
			require.NoError(t, take(dir, filepath.Join(dir, "journal.jsonl")))
			was, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
			require.ErrorIs(t, j.Check(), journal.ErrFenced)
			for range 2 {
				_, err = j.Append("second")
				require.ErrorIs(t, err, journal.ErrFenced)
			}
			now, _ := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
			require.Equal(t, was, now)
		})
	}
}

func copyOver(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path+".copy", text, 0o600), os.Rename(path+".copy", path))
}
