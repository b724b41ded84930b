package cell_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/harness"
	"github.com/beadsorch/orch/orchestrator/harness/all"
)

// everything is the home with what each file and link in it is.
func (w *world) everything() map[string]string {
	w.T.Helper()
	found := map[string]string{}
	require.NoError(w.T, filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		said := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			said += " " + w.content(path)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			require.NoError(w.T, err)
			said += " to " + to
		}
		found[strings.TrimPrefix(path, w.home+"/")] = said
		return nil
	}))
	return found
}

// furnished makes the files and folders of a client's in the home; those without a dot in their last word are folders with a file.
func (w *world) furnished(needs harness.Needs) {
	w.T.Helper()
	for _, rel := range slices.Concat(needs.Fixed, needs.Own, needs.Login, needs.Seed) {
		path := w.at(rel)
		if !strings.Contains(filepath.Base(rel), ".") || rel == ".agents" || slices.Contains(needs.Own, rel) {
			path = filepath.Join(path, "of-the-person")
		}
		require.NoError(w.T, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(w.T, os.WriteFile(path, []byte("the person's "+rel), 0o600))
	}
}

// TestClientsPlant: what a client runs or obeys is as it was, and there is nothing more of it, whatever an agent of this client tries; conversations are its
// own, and only what it has its login in changes.
func TestClientsPlant(t *testing.T) {
	t.Parallel()
	for _, client := range all.Clients() {
		for name, env := range map[string][]string{"login": nil, "key": client.Needs.Keys} {
			if name == "key" && len(env) == 0 {
				continue
			}
			t.Run(client.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				eachLevel(t, func(t *testing.T, w *world) {
					w.cells.Needs = func(string) harness.Needs { return client.Needs }
					if name == "key" {
						w.stay.Env = []string{env[0] + "=secret"}
					} else if !w.cells.Box.Level.Mounts() && len(client.Needs.Share) > 0 {
						t.Skip("without mounts all of a folder that is shared can be written")
					}
					w.furnished(client.Needs)
					dotfiles := w.at("dotfiles/obeyed") // a folder of the person's that a link leads to
					require.NoError(t, os.MkdirAll(filepath.Dir(dotfiles), 0o700))
					require.NoError(t, os.WriteFile(dotfiles, []byte("the person's"), 0o600))
					linked := ""
					if len(client.Needs.Share) == 0 {
						linked = w.at(client.Needs.Fixed[0])
						require.NoError(t, os.RemoveAll(linked))
						require.NoError(t, os.Symlink(dotfiles, linked))
					}
					before := w.everything()
					var script strings.Builder
					for _, rel := range slices.Concat(client.Needs.Fixed, client.Needs.Own, client.Needs.Seed) {
						fmt.Fprintf(&script, "p=\"$HOME/%s\"; { echo evil >>\"$p\"; echo evil >\"$p/of-the-person\"; echo evil >\"$p/planted\"; rm -rf \"$p/of-the-person\"; rm -f \"$p\"; mv \"$p\" \"$p.old\" && mkdir -p \"$p\" && echo evil >\"$p/planted\"; chmod 777 \"$p\"; } 2>/dev/null\n", rel)
					}
					for _, rel := range client.Needs.Login {
						fmt.Fprintf(&script, "cat \"$HOME/%[1]s\"; echo newer >\"$HOME/%[1]s\"\n", rel)
					}
					for _, rel := range client.Needs.Folders() {
						fmt.Fprintf(&script, "mkdir -p \"$HOME/%[1]s\"; { mv \"$HOME/%[1]s\" \"$HOME/moved\" && mkdir \"$HOME/%[1]s\"; } 2>/dev/null\n", rel)
					}
					out, _ := w.turn(script.String() + "exit 0")
					after := w.everything()
					for _, rel := range client.Needs.Login {
						if name == "login" {
							require.Contains(t, out, "the person's "+rel)
							require.Equal(t, "-rw------- newer\n", after[rel])
							delete(before, rel)
							delete(after, rel)
						}
					}
					require.Equal(t, before, after)
					if linked != "" {
						out, _ := w.turn(`cat "$HOME/` + client.Needs.Fixed[0] + `"`)
						if w.cells.Box.Level.Mounts() {
							require.Equal(t, "the person's", out, "through the link")
						}
					}
				})
			})
		}
	}
}
