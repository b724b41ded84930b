package trust

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/text"
)

// clientFiles are the files, and folders, by which an agent client runs programs, or lets its
// model run them unasked, below the root of a repository.
func clientFiles() []string {
	return []string{
		".claude/settings.json", ".claude/settings.local.json", ".mcp.json",
		".codex", ".gemini/settings.json", ".gemini/extensions",
		".opencode", "opencode.json", "opencode.jsonc",
		".github/hooks", ".github/copilot", ".copilot", ".vscode/mcp.json",
	}
}

// Bounds of what is looked at of one source.
const (
	maxClientFiles = 500
	maxClientFile  = 4 << 20 // bytes
)

// clientItems are those files in the main work tree, and in the tree of HEAD: a client in a
// worktree of orch's goes by those of the commit that it began from. What is there the same
// twice is one item.
func clientItems(ctx context.Context, w *project.Project) (items []plan.Item, err error) {
	if w.Repo.WorkTree() != "" {
		if items, err = filesIn(w.Repo.WorkTree()); err != nil {
			return nil, err
		}
	}
	more, err := filesOf(ctx, w, "HEAD")
	return append(items, more...), err
}

// filesIn are the client files below a folder, which nothing leads out of.
func filesIn(dir string) (items []plan.Item, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for the clients' files: %w", err)
	}
	defer root.Close()
	for _, name := range clientFiles() {
		err := fs.WalkDir(root.FS(), name, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case len(items) > maxClientFiles:
				return fmt.Errorf("there are more than %d of them", maxClientFiles)
			case d.IsDir() && d.Name() == "node_modules":
				items = append(items, clientItem(name, []byte("a folder of programs, which is not looked into")))
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			item, err := fileIn(root, name, d)
			items = append(items, item)
			return err
		})
		if err != nil && !errors.Is(err, syscall.ENOTDIR) {
			items = append(items, plan.Item{Part: plan.Settings, Kind: "client file", Name: name, Text: "cannot be looked at: " + err.Error()})
		}
	}
	return items, nil
}

func fileIn(root *os.Root, name string, d fs.DirEntry) (plan.Item, error) {
	if d.Type()&fs.ModeSymlink != 0 {
		to, err := root.Readlink(name)
		item := plan.Item{Part: plan.Settings, Kind: "client file", Name: name, Text: "a link to " + to}
		if text, readErr := os.ReadFile(filepath.Join(root.Name(), name)); readErr == nil && len(text) <= maxClientFile {
			item.Detail = clientItem(name, text).Detail
		}
		return item, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return plan.Item{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return plan.Item{Part: plan.Settings, Kind: "client file", Name: name, Text: "no plain file"}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxClientFile+1))
	if err == nil && len(text) > maxClientFile {
		err = fmt.Errorf("it has more than %d bytes", maxClientFile)
	}
	return clientItem(name, text), err
}

// unreadError is err where what git could not read may exist: a plan without it would be incomplete.
func unreadError(err error) error {
	if _, damaged := fault.Damaged(err); damaged {
		return err
	}
	return fault.Of(err)
}

// filesOf are the client files in the tree of a commit.
func filesOf(ctx context.Context, w *project.Project, rev string) (items []plan.Item, err error) {
	commit, err := w.Repo.Resolve(ctx, rev)
	if err != nil {
		return nil, unreadError(err) // else whoever needs it says so
	}
	if _, err := w.Repo.Tree(ctx, commit); err != nil {
		return nil, unreadError(err) // a broken reference; likewise
	}
	out, err := w.Repo.Out(ctx, append([]string{"ls-tree", "-r", "-z", "--full-tree", string(commit), "--"}, clientFiles()...)...)
	if err != nil {
		return nil, fmt.Errorf("looking for the clients' files: %w", err)
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 {
			continue
		}
		if len(items) > maxClientFiles {
			return nil, fmt.Errorf("there are more than %d files of clients in %s", maxClientFiles, rev)
		}
		item := plan.Item{Part: plan.Settings, Kind: "client file", Name: name, Text: "a submodule at " + fields[2]}
		if fields[1] == "blob" {
			text, err := w.Repo.Out(ctx, "cat-file", "blob", fields[2])
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			if item = clientItem(name, []byte(text)); fields[0] == "120000" {
				item = plan.Item{Part: plan.Settings, Kind: "client file", Name: name, Text: "a link to " + text}
			}
		}
		items = append(items, item)
	}
	return items, nil
}

// clientItem is one file: the commands in it, and the hash of what it says.
func clientItem(name string, text []byte) plan.Item {
	i := plan.Item{Part: plan.Settings, Kind: "client file", Name: name}
	text = bytes.TrimRight(text, "\n") // git's output is taken without them
	var doc any
	if err := json.Unmarshal(text, &doc); err == nil && path.Ext(name) == ".json" {
		if canonical, err := json.Marshal(doc); err == nil {
			text = canonical // neither spaces nor the order of keys matter
		}
		i.Text = strings.Join(commandsIn(doc, ""), "\n")
	}
	if path.Ext(name) == ".toml" {
		i.Text = strings.Join(runningLines(text), "\n")
	}
	sum := sha256.Sum256(text)
	i.Detail = "sha256 " + hex.EncodeToString(sum[:])
	return i
}

// runsText reports whether a client runs, loads or connects to the text of a key in its JSON.
func runsText(key string) bool {
	switch strings.ToLower(key) {
	case "command", "bash", "powershell", "url", "httpurl", "apikeyhelper", "awsauthrefresh", "awscredentialexport", "otelheadershelper", "plugin", "defaultmode":
		return true
	}
	return false
}

// commandsIn lists what a document of a client would have run, each with where it stands.
func commandsIn(doc any, at string) (out []string) {
	switch v := doc.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			where := strings.TrimPrefix(at+"."+key, ".")
			program, isText := v[key].(string)
			switch {
			case isText && runsText(key):
				if args, ok := v["args"].([]any); ok {
					program = cmp.Or(strings.TrimSpace(program+" "+text.ShellWords(stringsOf(args))), program)
				}
				out = append(out, where+": "+program)
			case key == "allow" || key == "command" || key == "plugin":
				if list, ok := v[key].([]any); ok {
					out = append(out, where+": "+text.ShellWords(stringsOf(list)))
					continue
				}
				fallthrough
			default:
				out = append(out, commandsIn(v[key], where)...)
			}
		}
	case []any:
		for n, item := range v {
			out = append(out, commandsIn(item, fmt.Sprintf("%s[%d]", at, n))...)
		}
	}
	return out
}

func stringsOf(list []any) (out []string) {
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

// runningLines are the lines of a TOML file that name what is run.
func runningLines(text []byte) (out []string) {
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		key, _, set := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if set && !strings.HasPrefix(key, "#") && slices.ContainsFunc([]string{"command", "args", "notify", "url", "sandbox_mode", "approval_policy"}, func(word string) bool {
			return key == word || strings.HasSuffix(key, "."+word)
		}) {
			out = append(out, line)
		}
	}
	return out
}
