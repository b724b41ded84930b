package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/stophook/claude"
)

// writePlugin writes orch as a plugin of Claude Code.
func (a initCmd) writePlugin(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return &cli.Error{Code: "EXISTS", What: dir + " is there already", Exit: cli.ExitUsage, Fix: []string{"name a folder that is not"}}
	}
	v, _ := cli.Version()
	if !semantic().MatchString(v) {
		v = "v0.0.0"
	}
	files, err := claude.Plugin(strings.TrimPrefix(v, "v"))
	if err != nil {
		return err
	}
	paths := slices.Sorted(maps.Keys(files))
	for n, path := range paths {
		paths[n] = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(paths[n]), 0o755); err != nil {
			return fmt.Errorf("writing the plugin: %w", err)
		}
		if err := os.WriteFile(paths[n], []byte(files[path]), 0o644); err != nil {
			return fmt.Errorf("writing the plugin: %w", err)
		}
	}
	return a.sayInit("written; claude --plugin-dir "+dir+", then /orch:run-tasks EPIC", paths)
}

var semantic = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`) })
