package setup

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/orchestrator/private"
)

// openFolders are the folders of orch's own that others can write in, or that are not the user's,
// each with what is wrong with it. Anyone could have written them.
func (w doctor) openFolders() map[string]string {
	out := map[string]string{}
	for _, dir := range []string{w.workspace.Project.Home, filepath.Join(w.workspace.Project.Home, "epics"), filepath.Join(w.workspace.Project.Home, "sessions")} {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case !info.IsDir():
			out[dir] = "is no folder: " + info.Mode().String()
		case !private.Own(info):
			out[dir] = "belongs to another user"
		case info.Mode().Perm()&0o022 != 0:
			out[dir] = fmt.Sprintf("can be written by others (mode %04o)", info.Mode().Perm())
		}
	}
	return out
}

// checkModes looks for folders of orch's own that others can change.
func (w doctor) checkModes() (out []finding) {
	for dir, why := range w.openFolders() {
		fix := "chmod go-w " + cli.Quote(dir) + ", or orch doctor --fix"
		if info, err := os.Lstat(dir); err == nil && (!info.IsDir() || !private.Own(info)) {
			fix = "move it away, or give it to you with chown"
		}
		out = append(out, finding{"folder", false, dir + " " + why, fix})
	}
	return out
}

// closeFolders takes the right to write in folders of orch's own from others.
func (w doctor) closeFolders() (out []finding) {
	for dir := range w.openFolders() {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !private.Own(info) {
			continue // checkModes says what a person can do
		}
		if err := os.Chmod(dir, info.Mode().Perm()&^0o022); err == nil {
			out = append(out, finding{"mended", true, fmt.Sprintf("%s had mode %04o and gets %04o", dir, info.Mode().Perm(), info.Mode().Perm()&^0o022), ""})
		}
	}
	return out
}
