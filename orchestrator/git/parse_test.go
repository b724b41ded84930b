package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tree = "0123456789012345678901234567890123456789"

func TestParseMerge(t *testing.T) {
	t.Parallel()
	m, err := parseMerge(tree + "\x00")
	require.NoError(t, err)
	require.Equal(t, Merged{Tree: tree}, m)

	m, err = parseMerge(tree + "\x00\x00" + "1\x00a\x00Auto-merging\x00Auto-merging a\n\x00")
	require.NoError(t, err)
	require.Equal(t, Merged{Tree: tree, Messages: []string{"Auto-merging a"}}, m)

	m, err = parseMerge(tree + "\x00a\x00b c\x00\x00" + "2\x00a\x00b c\x00CONFLICT (contents)\x00both\n\x00")
	require.NoError(t, err)
	require.Equal(t, Merged{Tree: tree, Files: []string{"a", "b c"}, Messages: []string{"both"}}, m)

	for _, bad := range []string{"", "tree", tree[1:], tree + "\x00\x00x\x00", tree + "\x00\x009\x00a\x00", tree + "\x00\x00-1\x00a\x00b\x00c\x00"} {
		_, err := parseMerge(bad)
		require.Error(t, err, "%q", bad)
	}
}

func FuzzParseMerge(f *testing.F) {
	f.Add(tree + "\x00a\x00\x001\x00a\x00CONFLICT (contents)\x00both\n\x00")
	f.Add(tree + "\x00\x00")
	f.Fuzz(func(t *testing.T, out string) {
		m, err := parseMerge(out)
		if err != nil {
			return
		}
		require.Equal(t, out[:len(m.Tree)], m.Tree)
		for _, name := range m.Files {
			require.NotEmpty(t, name)
			require.Contains(t, out, "\x00"+name)
		}
	})
}

func FuzzParseChanges(f *testing.F) {
	f.Add(":100644 000000 aa 00 D\x00a b\x00:000000 120000 00 bb A\x00c\nd\x001\t2\ta b\x00-\t-\tc\nd\x00")
	f.Add(":100644 000000 aa 00 D\x00")
	f.Add("1\t2\tpath\x00-\t-\tbinary\tname\x00")
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, out string) {
		changes, err := parseChanges(out)
		if err != nil {
			return
		}
		for _, c := range changes {
			require.NotEmpty(t, c.Path)
		}
		require.LessOrEqual(t, len(changes), strings.Count(out, "\x00")+1)
	})
}

// FuzzParseConfig: whatever git prints, what is kept names no program that Drivers does not tell,
// and git's own file gets nothing that could begin another setting.
func FuzzParseConfig(f *testing.F) {
	f.Add("filter.a.b.clean\ntr a b\x00core.bare\x00core.autocrlf\ninput\x00")
	f.Add("extensions.partialclone\no]\n[core]\nfsmonitor=x\x00remote.o.promisor\ntrue\x00=\n\x00.\n\x00")
	f.Fuzz(func(t *testing.T, out string) {
		all := parseConfig(out)
		var kept []setting
		for _, s := range all {
			require.NotEmpty(t, s.section)
			require.NotEmpty(t, s.name)
			if !keepsSetting(s, true) {
				continue
			}
			kept = append(kept, s)
			require.NotContains(t, []string{"core.fsmonitor", "core.hookspath", "core.pager", "core.editor", "core.worktree", "gpg.program", "diff.external"}, s.key())
			require.NotContains(t, []string{"alias", "include", "includeif", "extensions", "protocol", "pager", "safe"}, s.section)
		}
		for _, d := range driversOf(kept) {
			require.Contains(t, out, d.Command)
		}
		lines := strings.Split(strings.TrimSpace(formatConfig(all, false)), "\n")
		require.LessOrEqual(t, len(lines), 7)
		for _, line := range lines[2:] {
			require.Regexp(t, `^\tbare = false$|^\[extensions\]$|^\t(objectformat|compatobjectformat|partialclone) = [-0-9A-Za-z_.]+$`, line)
		}
	})
}

// FuzzScratchName: a name that is no scratch folder's is nobody's, so only its age counts.
func FuzzScratchName(f *testing.F) {
	f.Add("git-1-1-00000000-1")
	f.Add("merge-" + owner() + "1")
	f.Fuzz(func(t *testing.T, name string) {
		if alive, known := ownerAlive(name); !known {
			require.False(t, alive)
		}
	})
}
