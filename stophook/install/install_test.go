package install_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/stophook/claude"
	"github.com/beadsorch/orch/stophook/client"
	"github.com/beadsorch/orch/stophook/codex"
	"github.com/beadsorch/orch/stophook/copilot"
	"github.com/beadsorch/orch/stophook/gemini"
	"github.com/beadsorch/orch/stophook/install"
)

// tree is every file below a folder with its text and mode, and every folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		text := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			text = string(b)
		}
		out[path] = info.Mode().String() + " " + text
		return nil
	}))
	return out
}

func wants() (out []install.Want) {
	for _, k := range []client.Client{claude.Client(), codex.Client(), gemini.Client(), copilot.Client()} {
		out = append(out, install.Client(k)...)
	}
	return out
}

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
}

// TestThereAndBack: all clients are installed, twice; what was there is there again after,
// byte for byte, with its modes, its links and no folder more.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]map[string]string{
		"nothing":      {},
		"other tools'": {".claude/settings.json": "{\n\t\"model\" : 1.0}\r\n", ".gemini/settings.json": "{}", ".codex/hooks.json": `{"description":"x","hooks":{}}`, ".codex/config.toml": "model = \"m\"", ".github/hooks/theirs.json": "{}", ".agents/skills/theirs/SKILL.md": "x"},
		"empty files":  {".claude/settings.json": "", ".gemini/settings.json": " \n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, record := t.TempDir(), filepath.Join(t.TempDir(), "orch", "init.json")
			for path, text := range before {
				put(t, filepath.Join(root, path), text, 0o640)
			}
			was := tree(t, root)
			edits, err := install.Edits(root, record, wants())
			require.NoError(t, err)
			require.NotEmpty(t, edits)
			require.Equal(t, was, tree(t, root), "nothing is written before it is wanted")
			require.NoError(t, install.Write(root, record, edits))
			again, err := install.Edits(root, record, wants())
			require.NoError(t, err)
			require.Empty(t, again, "once")
			for _, e := range edits {
				require.FileExists(t, filepath.Join(root, e.Path))
			}
			back, changed, err := install.Undo(root, record, wants())
			require.NoError(t, err)
			require.Len(t, back, len(edits))
			require.Empty(t, changed)
			require.Equal(t, was, tree(t, root))
			require.NoFileExists(t, record)
		})
	}
}

// TestNewerText: a later orch replaces what an earlier one wrote, and taking it out gives
// back what was there before both.
func TestNewerText(t *testing.T) {
	t.Parallel()
	root, record := t.TempDir(), filepath.Join(t.TempDir(), "init.json")
	put(t, filepath.Join(root, "shim"), "theirs", 0o600)
	for _, text := range []string{"one", "two"} {
		shim, file := install.Whole("shim", text), install.Whole("d/file", text)
		shim.Over = true
		edits, err := install.Edits(root, record, []install.Want{shim, file})
		require.NoError(t, err)
		require.Len(t, edits, 2)
		require.NoError(t, install.Write(root, record, edits))
	}
	_, _, err := install.Undo(root, record, []install.Want{{Path: "shim"}, {Path: "d/file"}})
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "shim"))
	require.NoError(t, err)
	require.Equal(t, "theirs", string(text))
	require.NoDirExists(t, filepath.Join(root, "d"))
}

// TestSomebodyElses: what is in the way is not written over, and what was changed since is
// not taken away.
func TestSomebodyElses(t *testing.T) {
	t.Parallel()
	root, record := t.TempDir(), filepath.Join(t.TempDir(), "init.json")
	put(t, filepath.Join(root, "mine"), "mine", 0o600)
	_, err := install.Edits(root, record, []install.Want{install.Whole("mine", "orch's")})
	require.ErrorIs(t, err, install.ErrExists)
	var file *install.FileError
	require.ErrorAs(t, err, &file)
	require.Equal(t, "mine", file.Path)
	yields := install.Whole("mine", "orch's")
	yields.Yields = true
	edits, err := install.Edits(root, record, []install.Want{yields})
	require.NoError(t, err)
	require.Empty(t, edits)

	k := claude.Client()
	put(t, filepath.Join(root, k.Settings), `{"hooks": 7}`, 0o600)
	_, err = install.Edits(root, record, install.Client(k))
	require.ErrorIs(t, err, install.ErrSettings)

	ours := install.Whole("new", "orch's")
	edits, err = install.Edits(root, record, []install.Want{ours})
	require.NoError(t, err)
	require.NoError(t, install.Write(root, record, edits))
	put(t, filepath.Join(root, "new"), "changed", 0o600)
	back, changed, err := install.Undo(root, record, []install.Want{ours})
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, back)
	require.Equal(t, []string{"new"}, changed)
	text, err := os.ReadFile(filepath.Join(root, "new"))
	require.NoError(t, err)
	require.Equal(t, "changed", string(text))
}

// TestQuick: the quick program's hook and orch's own are one and the same.
func TestQuick(t *testing.T) {
	t.Parallel()
	for _, k := range []client.Client{claude.Client(), codex.Client(), gemini.Client()} {
		root, record := t.TempDir(), filepath.Join(t.TempDir(), "init.json")
		edits, err := install.Edits(root, record, install.Client(k))
		require.NoError(t, err)
		require.NoError(t, install.Write(root, record, edits))
		again, err := install.Edits(root, record, install.Client(k.Quick()))
		require.NoError(t, err)
		require.Empty(t, again, k.Name)
	}
	require.Contains(t, copilot.Client().Quick().Files[copilot.HooksFile], `"bash": "orch-stop-hook --client copilot"`)
	require.Contains(t, copilot.Client().Files[copilot.HooksFile], `"bash": "orch stop-hook --client copilot"`)
}
