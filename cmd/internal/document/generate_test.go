package document

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/tracker"
)

// update writes what is made from the types, and the golden examples, instead of comparing.
var update = flag.Bool("update", false, "write docs/json.md, meanings.json and the golden examples")

// root is the module's folder.
var root = filepath.Join("..", "..", "..")

const module = "github.com/beadsorch/orch"

// TestEachFieldHasAMeaning, which is its comment, and meanings.json has them all.
func TestEachFieldHasAMeaning(t *testing.T) {
	t.Parallel()
	found := meaningsOf(t)
	text, err := json.MarshalIndent(found, "", " ")
	require.NoError(t, err)
	same(t, "meanings.json", append(text, '\n'))
}

// TestPage: docs/json.md says of each document what prints it, what its fields mean, and what
// it looks like.
func TestPage(t *testing.T) {
	t.Parallel()
	same(t, filepath.Join(root, "docs", "json.md"), page(t, meaningsOf(t)))
}

// TestOneTag: kinds with one tag agree in the type of each field that they share, and no kind is
// listed twice.
func TestOneTag(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	fields := map[string]reflect.Type{}
	for _, k := range Kinds() {
		require.False(t, names[k.Name()], "%s is listed twice", k.Name())
		names[k.Name()] = true
		require.Regexp(t, `^orch\.[a-z-]+/[1-9][0-9]*$`, k.Zero.Schema())
		require.NotEmpty(t, k.Commands, k.Name())
		for _, f := range Fields(reflect.TypeOf(k.Zero)) {
			key := k.Zero.Schema() + " " + f.Name
			require.True(t, fields[key] == nil || fields[key] == f.Type, "%s is of two types", key)
			fields[key] = f.Type
		}
	}
}

// TestKindsAreAll: each type with a tag is in the list.
func TestKindsAreAll(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, k := range Kinds() {
		listed[reflect.TypeOf(k.Zero).Name()] = true
	}
	seen := 0
	for _, file := range append(parse(t, "."), parse(t, "../cli")...) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "Schema" || f.Recv == nil {
				continue
			}
			seen++
			require.True(t, listed[f.Recv.List[0].Type.(*ast.Ident).Name], "%v is not in Kinds", f.Recv.List[0].Type)
		}
	}
	require.Equal(t, len(listed), seen)
}

// same compares a file with what it should hold.
func same(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, want, 0o644))
		return
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err, "go test ./cmd/internal/document -update makes it")
	require.Equal(t, string(want), string(got), "%s: go test ./cmd/internal/document -update makes it anew", path)
}

// values are the structs below a document that have fields of their own, each once, in the
// order in which they are met.
func values(t reflect.Type, seen *[]reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || slices.Contains(*seen, t) {
		return
	}
	*seen = append(*seen, t)
	for _, f := range Fields(t) {
		values(f.Type, seen)
	}
}

// meaningsOf are the comments of all fields.
func meaningsOf(t *testing.T) Meanings {
	t.Helper()
	var structs []reflect.Type
	for _, k := range Kinds() {
		values(reflect.TypeOf(k.Zero), &structs)
	}
	comments := map[string]map[string]string{}
	out := Meanings{}
	var missing []string
	for _, s := range structs {
		for _, f := range Fields(s) {
			pkg := f.owner.PkgPath()
			if comments[pkg] == nil {
				comments[pkg] = commentsOf(t, filepath.Join(root, strings.TrimPrefix(pkg, module)))
			}
			text := comments[pkg][f.owner.Name()+"."+f.name]
			if text == "" {
				missing = append(missing, f.key())
			}
			require.True(t, out[f.key()] == "" || out[f.key()] == text, "two fields are called %s", f.key())
			out[f.key()] = text
		}
	}
	require.Empty(t, missing, "fields without a comment")
	return out
}

// commentsOf are the comments of the fields of the structs of a package, by Type.Field: what
// stands above a field, else what stands behind it.
func commentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range parse(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					text := strings.Join(strings.Fields(f.Comment.Text()), " ")
					if f.Doc != nil {
						text = sentence(name.Name, f.Doc.Text())
					}
					out[spec.Name.Name+"."+name.Name] = text
				}
			}
			return true
		})
	}
	return out
}

// sentence is a comment without the name of its field, as one line with a capital and a full
// stop.
func sentence(name, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if rest, ok := strings.CutPrefix(text, name+" "); ok {
		verb, more, _ := strings.Cut(rest, " ")
		switch verb {
		case "is", "is,", "are":
			text = more
		case "says", "guesses", "counts", "names":
			text = strings.TrimPrefix(rest, "says that ")
		}
	}
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(strings.ToUpper(text[:1])+text[1:], ".") + "."
}

func parse(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	entries, err := fs.Glob(os.DirFS(dir), "*.go")
	require.NoError(t, err)
	for _, name := range entries {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	return files
}

const head = `# What orch prints as JSON

` + "`--json`" + ` on every command prints one document, also when the command fails. Its member
` + "`schema`" + ` is the tag of its kind: the name and the meaning of a field stay, or the number of the
tag rises. Fields may be added. ` + "`orch events`" + ` and ` + "`orch watch`" + ` print one document a line, an error too:
before the first run ` + "`orch events`" + ` prints none, and ` + "`orch watch`" + ` the status. The tools of
` + "`orch mcp`" + ` answer with the same documents.

A list with nothing in it is ` + "`[]`" + `, never null. Times are RFC 3339. A field that may be absent is marked ` + "`?`" + `; its meaning says when. What a value
is made of is in [Values](#values). This page is made from the types in
` + "`cmd/internal/document`" + `; the examples are what commands print in a repository made for it.

`

// page is docs/json.md.
func page(t *testing.T, meanings Meanings) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(head)
	var structs []reflect.Type
	b.WriteString("| document | printed by |\n|---|---|\n")
	for _, k := range Kinds() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", title(k), anchor(title(k)), commands(k))
	}
	for _, k := range Kinds() {
		own := reflect.TypeOf(k.Zero)
		structs = append(structs, own)
		golden, err := os.ReadFile(goldenFile(k))
		require.NoError(t, err, "%s has no golden example", k.Name())
		fmt.Fprintf(&b, "\n## %s\n\nPrinted by %s.\n\n", title(k), commands(k))
		table(&b, own, meanings)
		fmt.Fprintf(&b, "\n```json\n%s```\n", golden)
	}
	shown := len(structs)
	for _, s := range structs[:shown] {
		values(s, &structs)
		for _, f := range Fields(s) {
			values(f.Type, &structs)
		}
	}
	b.WriteString("\n# Values\n")
	named := map[string]reflect.Type{}
	for _, s := range structs[shown:] {
		require.Nil(t, named[s.Name()], "two types are called %s", s.Name())
		named[s.Name()] = s
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range named {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "\n## %s\n\n", valueTitle(named[name]))
		table(&b, named[name], meanings)
	}
	return b.Bytes()
}

func title(k Kind) string {
	if k.Variant == "" {
		return k.Zero.Schema()
	}
	return k.Zero.Schema() + ", " + k.Variant
}

func valueTitle(t reflect.Type) string { return "The value " + t.Name() }

// anchor is how a heading is linked to on the usual sites.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(title))
}

func commands(k Kind) string {
	var out []string
	for _, c := range k.Commands {
		if !strings.HasPrefix(c, "orch ") {
			out = append(out, c)
			continue
		}
		command, rest, more := strings.Cut(c, ",")
		if command = "`" + command + "`"; more {
			command += "," + rest
		}
		out = append(out, command)
	}
	return strings.Join(out, ", ")
}

// kept are the fields of a record of the embedded tracker that its type does not name, each with its type and its meaning.
var kept = map[string]string{
	"_type":      "string | \"issue\", as exports of beads have it",
	"comments":   "list | each with id, issue_id, author, text and created_at, as exports of beads have them",
	"created_by": "string | who made it, where the tracker tells",
	"started_at": "time | when it was first begun, UTC",
}

// TestKeptFields: the page names each field that the embedded tracker writes into a record by its name alone.
func TestKeptFields(t *testing.T) {
	t.Parallel()
	written := map[string]bool{}
	for _, file := range parse(t, filepath.Join(root, "beads")) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Keep" {
				name, ok := call.Args[0].(*ast.BasicLit)
				require.True(t, ok, "a name that this test cannot read")
				written[strings.Trim(name.Value, `"`)] = true
			}
			return true
		})
	}
	require.Equal(t, slices.Sorted(maps.Keys(kept)), slices.Sorted(maps.Keys(written)))
}

// table lists the fields of a struct.
func table(b *bytes.Buffer, s reflect.Type, meanings Meanings) {
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, f := range Fields(s) {
		mark := ""
		if f.Optional {
			mark = "?"
		}
		fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", f.Name, mark, typeName(f.Type), strings.ReplaceAll(meanings.Of(f), "|", `\|`))
	}
	if s == reflect.TypeFor[tracker.Issue]() { // which the embedded tracker writes, and keeps as it has read it
		for _, name := range slices.Sorted(maps.Keys(kept)) {
			fmt.Fprintf(b, "| `%s`? | %s |\n", name, kept[name])
		}
	}
}

// typeName is what a reader of JSON calls a type.
func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case t == reflect.TypeFor[time.Duration]():
		return "integer, nanoseconds"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "object of " + typeName(t.Elem())
	case reflect.Struct:
		return "[" + t.Name() + "](#" + anchor(valueTitle(t)) + ")"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Interface:
		return "any"
	}
	return "integer"
}

// goldenFile is where the example of a kind is.
func goldenFile(k Kind) string { return filepath.Join("testdata", "golden", k.Name()+".json") }
