package cell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beadsorch/orch/orchestrator/private"
	"github.com/beadsorch/orch/orchestrator/sandbox"
)

// maxSeed bounds a file that a home begins with a copy of, in bytes.
const maxSeed = 16 << 20

// furnish has the home hold what every home does: a git identity, a PATH for shells that a client starts as if somebody had logged in,
// and what the client needs. What is there already is the task's, but for the first two.
func (n *cell) furnish() error {
	if err := n.install(); err != nil {
		return err
	}
	home, err := private.OpenAbove(n.home, 1)
	if err != nil {
		return err
	}
	defer home.Close()
	path := "export PATH='" + strings.ReplaceAll(n.path(), "'", `'\''`) + "'\n"
	for name, content := range map[string]string{".gitconfig": n.gitConfig(), ".profile": path, ".bash_profile": path, ".zshenv": path, ".zprofile": path} {
		if err := home.WriteFile(filepath.Join(n.home, name), []byte(content)); err != nil {
			return err
		}
	}
	for _, rel := range n.needs.Seed {
		at := filepath.Join(n.home, rel)
		if _, err := home.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		from, there := n.shared(rel)
		content, err := private.ReadFile(from, maxSeed)
		if err != nil || !there {
			continue // the client makes its own
		}
		if err := errors.Join(home.MkdirAll(filepath.Dir(at)), home.WriteFile(at, content)); err != nil {
			return err
		}
	}
	if n.of.Box.Level.Mounts() {
		return nil
	}
	for _, rel := range n.needs.Share {
		at := filepath.Join(n.home, rel)
		to, there := n.shared(rel)
		if _, err := home.Lstat(at); !there || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(home.MkdirAll(filepath.Dir(at)), home.Symlink(to, at)); err != nil {
			return err
		}
	}
	return nil
}

// path is PATH as a command within the bounds has it.
func (n *cell) path() string {
	return n.withTools(n.of.Getenv("PATH"))
}

// install puts orch where a command finds it under its names, where no mount does.
func (n *cell) install() error {
	if n.of.Box.Level.Mounts() {
		return nil
	}
	tools := filepath.Join(n.folder, toolsFolder)
	if err := makeFolders(tools); err != nil {
		return err
	}
	above, err := private.OpenAbove(tools, 1)
	if err != nil {
		return err
	}
	for _, at := range []string{sandbox.ProgramAt, sandbox.TrackerAt} {
		err = errors.Join(err, above.Symlink(n.of.Place.Program, filepath.Join(tools, filepath.Base(at))))
	}
	return errors.Join(err, above.Close())
}

// trackers are the tracker's own programs on the person's PATH.
func (n *cell) trackers() (files []string) {
	for _, dir := range filepath.SplitList(n.of.Getenv("PATH")) {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.Base(sandbox.TrackerAt)))
		if info, missing := os.Stat(file); err == nil && missing == nil && info.Mode().IsRegular() && filepath.IsAbs(file) && file != n.of.Place.Program {
			files = append(files, file)
		}
	}
	return files
}

// gitConfig is the configuration for repositories that a command makes: who the person is.
func (n *cell) gitConfig() string {
	var b strings.Builder
	b.WriteString("[user]\n")
	name, email := n.of.Repo.Person()
	for key, value := range map[string]string{"name": name, "email": email} {
		if value != "" {
			b.WriteString("\t" + key + ` = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(value) + "\"\n")
		}
	}
	b.WriteString("[core]\n\teditor = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n")
	return b.String()
}
