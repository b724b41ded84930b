package trust

import (
	"bytes"
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
	"strconv"
	"strings"
	"syscall"

	"github.com/beadsorch/orch/cmd/internal/project"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/orchestrator/fault"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/redact"
	"github.com/beadsorch/orch/orchestrator/text"
)

// Bounds of what is looked at of one source.
const (
	maxClientFiles = 2000
	maxClientFile  = 4 << 20  // bytes
	maxClientTotal = 32 << 20 // bytes, in a commit
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
	for _, name := range all.Files() {
		err := fs.WalkDir(root.FS(), name, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case len(items) > maxClientFiles:
				return fmt.Errorf("there are more than %d of them", maxClientFiles)
			case d.IsDir() && d.Name() == "node_modules":
				items = append(items, plan.Item{Part: plan.Settings, Kind: "client file", Name: name, Text: "a folder of programs, which is not looked into"})
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
	out, err := w.Repo.Out(ctx, append([]string{"ls-tree", "-r", "-z", "-l", "--full-tree", string(commit), "--"}, all.Files()...)...)
	if err != nil {
		return nil, fmt.Errorf("looking for the clients' files: %w", err)
	}
	entries, err := entriesOf(out)
	if err != nil {
		return nil, fmt.Errorf("looking for the clients' files in %s: %w", rev, err)
	}
	var ids []string
	for _, e := range entries {
		if e.small() {
			ids = append(ids, e.id)
		}
	}
	blobs, err := w.Repo.Blobs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("reading the clients' files in %s: %w", rev, err)
	}
	for _, e := range entries {
		item, err := e.item(blobs)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// entry is one file in a tree.
type entry struct {
	mode, kind, id, name string
	size                 int // bytes; of a blob
}

// small reports whether it is a blob that is read.
func (e entry) small() bool { return e.kind == "blob" && e.size <= maxClientFile }

// entriesOf are those of a list of a tree, with sizes. It fails where there are more than are looked at.
func entriesOf(list string) (entries []entry, err error) {
	total := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		about, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 4 {
			continue
		}
		e := entry{mode: fields[0], kind: fields[1], id: fields[2], name: name}
		if e.kind == "blob" {
			if e.size, err = strconv.Atoi(fields[3]); err != nil {
				return nil, fmt.Errorf("the size of %s: %w", name, err)
			}
		}
		if e.small() {
			total += e.size
		}
		entries = append(entries, e)
	}
	if len(entries) > maxClientFiles || total > maxClientTotal {
		return nil, fmt.Errorf("there are more than %d of them, or more than %d bytes", maxClientFiles, maxClientTotal)
	}
	return entries, nil
}

// item is the file in the question; blobs has what small ones contain.
func (e entry) item(blobs map[string][]byte) (plan.Item, error) {
	i := plan.Item{Part: plan.Settings, Kind: "client file", Name: e.name, Text: "a submodule at " + e.id}
	switch content, read := blobs[e.id]; {
	case e.kind != "blob":
		return i, nil
	case !e.small():
		i.Text = fmt.Sprintf("a file of %d bytes that the client may run; it is too large to be looked at: %s", e.size, e.id)
		return i, nil
	case !read:
		return i, fmt.Errorf("reading %s: git does not have %s", e.name, e.id)
	case e.mode == "120000":
		i.Text = "a link to " + string(content)
		return i, nil
	default:
		return clientItem(e.name, content), nil
	}
}

// clientItem is one file: what it says where that is settings, else that it is a program and how large, and the hash of it.
func clientItem(name string, text []byte) plan.Item {
	i := plan.Item{Part: plan.Settings, Kind: "client file", Name: name}
	size := len(text)
	text = bytes.TrimRight(text, "\n") // git's output is taken without them
	var doc any
	switch isJSON := strings.HasPrefix(path.Ext(name), ".json"); {
	case isJSON && json.Unmarshal(text, &doc) == nil:
		if canonical, err := json.Marshal(doc); err == nil {
			text = canonical // neither spaces nor the order of keys matter
		}
		i.Text = strings.Join(leaves(doc, ""), "\n")
	case isJSON, isSettings(name):
		i.Text = withoutValues(string(text))
	default:
		i.Text = fmt.Sprintf("a file of %d bytes that the client may run; read it before you allow it", size)
	}
	sum := sha256.Sum256(text)
	i.Detail = "sha256 " + hex.EncodeToString(sum[:])
	return i
}

// isSettings reports whether a file is settings, and no program: what is in it is shown in full, since any key may
// settle what a client runs, or with which environment.
func isSettings(name string) bool {
	switch path.Ext(name) {
	case ".toml", ".yaml", ".yml", ".env", ".rules", ".ini", ".conf":
		return true
	}
	return strings.HasPrefix(path.Base(name), ".env")
}

// withoutValues is a text of settings without the values of names that look secret.
func withoutValues(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		key, value, set := strings.Cut(line, "=")
		name := strings.Trim(strings.TrimPrefix(strings.TrimSpace(key), "export "), ` "'`)
		if _, isWord := strings.CutPrefix(name, "#"); set && !isWord && redact.LooksSecret(name) && !strings.ContainsAny(value, "[{") {
			line = key + "= " + hidden + "\n"
		}
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n")
}

// hidden stands for the value of a variable that looks secret; the hash of the file settles it.
const hidden = "[redacted]"

// leaves lists all that a document says, each value with where it stands; a command has its arguments.
func leaves(doc any, at string) (out []string) {
	switch v := doc.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			where := strings.TrimPrefix(at+"."+plainKey(key), ".")
			value, isText := v[key].(string)
			args, hasArgs := argsOf(v)
			switch {
			case key == "command" && isText && hasArgs:
				out = append(out, where+": "+strings.TrimSpace(value+" "+text.ShellWords(args)))
			case key == "args" && hasArgs: // said with the command
			case isText && isEnvironment(at) && redact.LooksSecret(key):
				out = append(out, where+": "+hidden)
			default:
				out = append(out, leaves(v[key], where)...)
			}
		}
	case []any:
		if words, ok := texts(v); ok {
			return append(out, at+": "+text.ShellWords(words))
		}
		for n, item := range v {
			out = append(out, leaves(item, fmt.Sprintf("%s[%d]", at, n))...)
		}
	case string:
		out = append(out, strings.TrimPrefix(at+": ", ": ")+v)
	default:
		value, err := json.Marshal(v)
		if err != nil {
			panic(err) // it came from JSON
		}
		out = append(out, strings.TrimPrefix(at+": ", ": ")+string(value))
	}
	return out
}

// plainKey is a key as it is shown: one that could be taken for something else is quoted.
func plainKey(key string) string {
	if key == "" || strings.ContainsAny(key, ".:[ \n\r\t") {
		return strconv.Quote(key)
	}
	return key
}

// isEnvironment reports whether what stands below a place are variables, or the headers of requests.
func isEnvironment(at string) bool {
	switch last := at[strings.LastIndex(at, ".")+1:]; strings.ToLower(last) {
	case "env", "environment", "headers":
		return true
	}
	return false
}

// argsOf are the arguments of an object that has a command.
func argsOf(v map[string]any) (args []string, ok bool) {
	_, isText := v["command"].(string)
	list, isList := v["args"].([]any)
	if !isText || !isList {
		return nil, false
	}
	return texts(list)
}

// texts are the items of a list of texts; ok is false where it has others, or none.
func texts(list []any) (out []string, ok bool) {
	for _, item := range list {
		word, isText := item.(string)
		if !isText {
			return nil, false
		}
		out = append(out, word)
	}
	return out, len(out) > 0
}
