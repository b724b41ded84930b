package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/private"
)

// Memory is a file that keeps which level was proven, for as long as nothing changes that a level depends on: the kernel and its
// start, the two programs, the user, and what confines this process already.
type Memory struct {
	// Path is the file, in a folder of the person's that no command within bounds can write.
	Path string
}

// proven is what the file has.
type proven struct {
	Of    string `json:"of"`
	Level Level  `json:"level"`
}

// Choose is [Choose], but tries nothing where a level was proven before on the same machine. That a file cannot be read or
// written changes nothing but the time that it takes.
func (m Memory) Choose(ctx context.Context, run command.Runner, boxes []Box, p Policy) (Box, error) {
	of := circumstances(boxes)
	var was proven
	if content, err := private.ReadFile(m.Path, maxMemory); err == nil && json.Unmarshal(content, &was) == nil && was.Of == of {
		for _, b := range boxes {
			if b.Level == was.Level {
				return b, nil
			}
		}
	}
	b, _, err := Choose(ctx, run, boxes, p)
	if err != nil {
		return b, errors.Join(err, m.Forget())
	}
	if content, err := json.Marshal(proven{Of: of, Level: b.Level}); err == nil {
		_ = m.write(content) // it is tried again next time
	}
	return b, nil
}

// maxMemory bounds the file, in bytes.
const maxMemory = 16 << 10

func (m Memory) write(content []byte) error {
	folder := filepath.Dir(m.Path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	dir, err := private.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.WriteFile(m.Path, content), dir.Close())
}

// Forget has the next Choose try: after a command whose bounds could not be set up.
func (m Memory) Forget() error {
	if err := os.Remove(m.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// circumstances is what a level depends on, as text.
func circumstances(boxes []Box) string {
	parts := []string{fmt.Sprint(os.Geteuid(), os.Getegid())}
	for _, path := range []string{"/proc/sys/kernel/osrelease", "/proc/sys/kernel/random/boot_id", "/proc/self/attr/current"} {
		content, _ := os.ReadFile(path) // a system that has none has none each time
		parts = append(parts, strings.TrimSpace(string(content)))
	}
	for _, b := range boxes {
		parts = append(parts, string(b.Level), stamp(b.Self), stamp(b.Bwrap))
	}
	return strings.Join(parts, "\n")
}

// stamp is a file as it is now.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprint(path, info.Size(), info.ModTime().UnixNano(), info.Mode())
}
