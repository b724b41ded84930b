package private_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/private"
)

// folder is a private folder beside a victim that has one file.
func folder(t *testing.T) (d *private.Dir, path, victim string) {
	t.Helper()
	top := t.TempDir()
	path, victim = filepath.Join(top, "ours"), filepath.Join(top, "victim")
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.Mkdir(victim, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(victim, "precious"), []byte("precious"), 0o600))
	d, err := private.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, path, victim
}

func untouched(t *testing.T, victim string) {
	t.Helper()
	entries, err := os.ReadDir(victim)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	text, err := os.ReadFile(filepath.Join(victim, "precious"))
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
}

// plants put something else where a/b/file belongs.
func plants(path, victim string) map[string]func(t *testing.T) {
	file := filepath.Join(path, "a", "b", "file")
	made := func(t *testing.T) { require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700)) }
	return map[string]func(t *testing.T){
		"link for a folder": func(t *testing.T) { require.NoError(t, os.Symlink(victim, filepath.Join(path, "a"))) },
		"link for the folder below": func(t *testing.T) {
			require.NoError(t, os.Mkdir(filepath.Join(path, "a"), 0o700))
			require.NoError(t, os.Symlink(victim, filepath.Join(path, "a", "b")))
		},
		"link for the file": func(t *testing.T) {
			made(t)
			require.NoError(t, os.Symlink(filepath.Join(victim, "precious"), file))
		},
		"hard link for the file": func(t *testing.T) {
			made(t)
			require.NoError(t, os.Link(filepath.Join(victim, "precious"), file))
		},
		"dangling link": func(t *testing.T) {
			made(t)
			require.NoError(t, os.Symlink(filepath.Join(victim, "new"), file))
		},
		"FIFO":           func(t *testing.T) { made(t); require.NoError(t, syscall.Mkfifo(file, 0o600)) },
		"FIFO on folder": func(t *testing.T) { require.NoError(t, syscall.Mkfifo(filepath.Join(path, "a"), 0o600)) },
		"folder": func(t *testing.T) {
			require.NoError(t, os.MkdirAll(filepath.Join(file, "full"), 0o700))
		},
		"file for a folder": func(t *testing.T) { require.NoError(t, os.WriteFile(filepath.Join(path, "a"), nil, 0o600)) },
	}
}

func TestWritesMakeTheirWay(t *testing.T) {
	for name := range plants("", "") {
		t.Run(name, func(t *testing.T) {
			d, path, victim := folder(t)
			plants(path, victim)[name](t)
			file := filepath.Join(path, "a", "b", "file")
			require.NoError(t, d.WriteFile(file, []byte("ours")))
			text, err := d.ReadFile(file, 100)
			require.NoError(t, err)
			require.Equal(t, "ours", string(text))
			untouched(t, victim)
		})
		t.Run(name+", created", func(t *testing.T) {
			d, path, victim := folder(t)
			plants(path, victim)[name](t)
			f, err := d.Create(filepath.Join("a", "b", "file"))
			require.NoError(t, err)
			_, err = f.WriteString("ours")
			require.NoError(t, err)
			require.NoError(t, f.Close())
			untouched(t, victim)
		})
	}
}

func TestReadsNeitherFollowNorWait(t *testing.T) {
	for name := range plants("", "") {
		if strings.HasPrefix(name, "hard") {
			continue // it is a file
		}
		t.Run(name, func(t *testing.T) {
			d, path, victim := folder(t)
			plants(path, victim)[name](t)
			_, err := d.ReadFile("a/b/file", 100)
			var unsafe *private.UnsafeError
			require.ErrorAs(t, err, &unsafe)
		})
	}
}

func TestReadFileIsBounded(t *testing.T) {
	d, _, _ := folder(t)
	require.NoError(t, d.WriteFile("f", []byte("12345")))
	_, err := d.ReadFile("f", 4)
	var unsafe *private.UnsafeError
	require.ErrorAs(t, err, &unsafe)
	_, err = d.ReadFile("f", 5)
	require.NoError(t, err)
}

func TestNamesOutsideAreRefused(t *testing.T) {
	d, path, victim := folder(t)
	for _, name := range []string{"../victim/precious", filepath.Join(victim, "precious"), path, "."} {
		require.Error(t, d.WriteFile(name, nil), name)
		require.Error(t, d.RemoveAll(name), name)
	}
	untouched(t, victim)
}

func TestRemoveAllStopsAtLinks(t *testing.T) {
	d, path, victim := folder(t)
	require.NoError(t, os.Symlink(victim, filepath.Join(path, "bin")))
	require.Error(t, d.RemoveAll("bin/deep"), "the folder is a link")
	require.NoError(t, d.MkdirAll("tree/closed"))
	require.NoError(t, os.Symlink(victim, filepath.Join(path, "tree", "closed", "link")))
	require.NoError(t, os.Chmod(filepath.Join(path, "tree", "closed"), 0))
	require.NoError(t, d.RemoveAll("tree"))
	require.NoError(t, d.RemoveAll("tree"), "nothing there")
	require.NoError(t, d.RemoveAll("bin"))
	untouched(t, victim)
}

// TestRemoveAllWhileFoldersAreSwapped has a daemon replace a folder by a link all the time.
func TestRemoveAllWhileFoldersAreSwapped(t *testing.T) {
	d, path, victim := folder(t)
	stop, done := make(chan struct{}), make(chan struct{})
	at := filepath.Join(path, "bin")
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Mkdir(at, 0o700)
			os.WriteFile(filepath.Join(at, "precious"), nil, 0o600)
			os.Rename(at, at+"-real")
			os.Symlink(victim, at)
			os.Remove(at)
			os.RemoveAll(at + "-real")
		}
	}()
	for range 300 {
		d.RemoveAll("bin/precious")
		d.WriteFile("bin/new", nil)
		d.RemoveAll("bin")
	}
	close(stop)
	<-done
	untouched(t, victim)
}

func TestRenameStaysBelow(t *testing.T) {
	d, path, victim := folder(t)
	require.NoError(t, d.WriteFile("a/f", []byte("x")))
	require.NoError(t, os.Symlink(victim, filepath.Join(path, "b")))
	require.NoError(t, d.Rename("a/f", "b/precious"))
	untouched(t, victim)
	text, err := d.ReadFile("b/precious", 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
}

// TestModes holds that nobody else can read or write what is made, in a child with the umask.
func TestModes(t *testing.T) {
	if at := os.Getenv("PRIVATE_TEST_AT"); at != "" {
		d, err := private.Open(at)
		require.NoError(t, err)
		require.NoError(t, d.WriteFile("a/b/file", []byte("x")))
		_, err = d.MkdirTemp("c", "t-")
		require.NoError(t, err)
		f, err := d.Create("made")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return
	}
	for _, umask := range []string{"000", "077", "777"} {
		t.Run(umask, func(t *testing.T) {
			at := t.TempDir()
			c := exec.CommandContext(t.Context(), "sh", "-c", "umask "+umask+"; exec \"$0\" -test.run '^TestModes$'", os.Args[0])
			c.Env = append(os.Environ(), "PRIVATE_TEST_AT="+at)
			out, err := c.CombinedOutput()
			require.NoError(t, err, string(out))
			seen := 0
			require.NoError(t, filepath.WalkDir(at, func(path string, e fs.DirEntry, err error) error {
				require.NoError(t, err)
				if path == at {
					return nil
				}
				seen++
				info, err := e.Info()
				require.NoError(t, err)
				want := fs.FileMode(0o600)
				if e.IsDir() {
					want = 0o700
				}
				require.Equal(t, want, info.Mode().Perm(), path)
				return nil
			}))
			require.Equal(t, 6, seen)
		})
	}
}

func TestMountsAreLeftAlone(t *testing.T) {
	d, path, victim := folder(t)
	at := filepath.Join(path, "tree", "a b")
	require.NoError(t, os.MkdirAll(at, 0o700))
	if err := mount(victim, at); err != nil {
		t.Skip("nothing can be mounted here: ", err)
	}
	t.Cleanup(func() { unmount(at) })
	err := d.RemoveAll("tree")
	var mounted *private.MountError
	require.ErrorAs(t, err, &mounted)
	require.Equal(t, at, mounted.At)
	untouched(t, victim)
}
