package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// gitDir makes a folder like a git directory, with orch's folder in it, and gives that.
func gitDir(t *testing.T, above, name string) string {
	t.Helper()
	home := filepath.Join(above, name, ".git", "orch")
	require.NoError(t, os.MkdirAll(home, 0o700))
	return home
}

func whoIs(t *testing.T, home string) identity {
	t.Helper()
	i, err := identify(t.Context(), home)
	require.NoError(t, err)
	return i
}

// TestIdentity: a clone is the same at every call and when it is moved; a copy of it, or another one where it
// was, is another.
func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := gitDir(t, dir, "a")
	first := whoIs(t, home)
	require.Regexp(t, `^[A-Za-z0-9.-]+:[0-9a-f]{12}$`, first.Name)
	require.Equal(t, first, whoIs(t, home))

	require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	moved := whoIs(t, filepath.Join(dir, "b", ".git", "orch"))
	require.Equal(t, first.Name, moved.Name)
	require.Equal(t, first.Former, moved.Former)
	other := whoIs(t, gitDir(t, dir, "a"))
	require.NotEqual(t, first.Name, other.Name, "another one at the same path")

	require.NoError(t, exec.CommandContext(t.Context(), "cp", "-a", filepath.Join(dir, "b"), filepath.Join(dir, "c")).Run())
	copied := whoIs(t, filepath.Join(dir, "c", ".git", "orch"))
	require.NotEqual(t, first.Name, copied.Name)
	require.Empty(t, copied.Former, "what its journals have was begun elsewhere")
	require.Equal(t, moved, whoIs(t, filepath.Join(dir, "b", ".git", "orch")), "the one that was copied stays who it is")
	require.Equal(t, copied, whoIs(t, filepath.Join(dir, "c", ".git", "orch")))
}

// TestIdentityAtOnce: all who ask at the same time are told the same.
func TestIdentityAtOnce(t *testing.T) {
	t.Parallel()
	home := gitDir(t, t.TempDir(), "a")
	names := make([]string, 8)
	var all sync.WaitGroup
	for n := range names {
		all.Go(func() {
			if i, err := identify(t.Context(), home); err == nil {
				names[n] = i.Name
			}
		})
	}
	all.Wait()
	require.NotEmpty(t, names[0])
	for _, name := range names {
		require.Equal(t, names[0], name)
	}
}

// TestIdentityPlanted: what is no file of orch's is replaced, and nothing is read or written through it.
func TestIdentityPlanted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home := gitDir(t, dir, "a")
	whoIs(t, home)
	file, elsewhere := filepath.Join(home, cloneFile), filepath.Join(dir, "else")
	for name, plant := range map[string]func() error{
		"link":   func() error { return os.Symlink(elsewhere, file) },
		"folder": func() error { return os.Mkdir(file, 0o700) },
		"torn":   func() error { return os.WriteFile(file, []byte(`{"name":"h:0123`), 0o600) },
		"name":   func() error { return os.WriteFile(file, []byte(`{"name":"h:x\n/../y"}`), 0o600) },
	} {
		require.NoError(t, os.WriteFile(elsewhere, []byte(`{"name":"h:01234567"}`), 0o600))
		require.NoError(t, os.RemoveAll(file))
		require.NoError(t, plant(), name)
		now := whoIs(t, home)
		require.NotEqual(t, "h:01234567", now.Name, name)
		require.Empty(t, now.Former, name)
		require.Equal(t, now, whoIs(t, home), name)
		b, err := os.ReadFile(elsewhere)
		require.NoError(t, err)
		require.JSONEq(t, `{"name":"h:01234567"}`, string(b), name)
	}
}

// TestFolderSame: one folder is known by its device and inode for as long as the machine is up; after that, by its
// machine too, and by its path where the device has another number.
func TestFolderSame(t *testing.T) {
	t.Parallel()
	was := folder{Boot: "b", Machine: "m", Device: 1, Inode: 2, Path: "/p"}
	tests := map[string]struct {
		change func(*folder)
		want   bool
	}{
		"the same":                      {func(*folder) {}, true},
		"moved":                         {func(p *folder) { p.Path = "/q" }, true},
		"a container with another name": {func(p *folder) { p.Machine = "n" }, true},
		"copied":                        {func(p *folder) { p.Inode, p.Path = 3, "/q" }, false},
		"copied to the same path":       {func(p *folder) { p.Inode = 3 }, false},
		"another file system":           {func(p *folder) { p.Device = 3 }, false},
		"started again":                 {func(p *folder) { p.Boot = "c" }, true},
		"started again, and moved":      {func(p *folder) { p.Boot, p.Path = "c", "/q" }, true},
		"a device with a new number":    {func(p *folder) { p.Boot, p.Device = "c", 3 }, true},
		"both":                          {func(p *folder) { p.Boot, p.Device, p.Path = "c", 3, "/q" }, false},
		"another machine":               {func(p *folder) { p.Boot, p.Machine = "c", "n" }, false},
	}
	for name, tt := range tests {
		now := was
		tt.change(&now)
		require.Equal(t, tt.want, now.same(was), name)
		unknown := was
		now.Boot, unknown.Boot = "", ""
		require.Equal(t, now.Inode == 2 && now.Machine == "m" && (now.Device == 1 || now.Path == "/p"), now.same(unknown), name+", boot unknown")
	}
}

// FuzzIdentity: a name that is taken from the file is fit for the tracker.
func FuzzIdentity(f *testing.F) {
	f.Add([]byte(`{"name":"h:0123456789ab","folder":{"boot":"b","machine":"m","device":1,"inode":2,"path":"/p"}}`))
	f.Add([]byte(`{"name":"h:0123456789ab","former":"x\u0000"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if i, ok := parseIdentity(b); ok {
			require.Regexp(t, `\A[A-Za-z0-9.-]+:[0-9a-f]+\z`, i.Name)
			require.Regexp(t, `\A([A-Za-z0-9.-]+:[0-9a-f]+)?\z`, i.Former)
		}
	})
}
