package protect

// names is what a command names: files, and recipes of other files.
type names struct {
	files    []string
	always   []string // count also when they are new
	scripts  []string // of the files, what a shell runs
	lists    []string // of the files, what has the names of files that are run
	globs    []string // what they match is run, and counts also when it is new
	targets  []string // of make, that are no files
	recipes  []recipe
	includes []include
}

func (n *names) add(more names) {
	n.files, n.always, n.recipes = append(n.files, more.files...), append(n.always, more.always...), append(n.recipes, more.recipes...)
	n.includes = append(n.includes, more.includes...)
	n.scripts, n.lists, n.globs, n.targets = append(n.scripts, more.scripts...), append(n.lists, more.lists...), append(n.globs, more.globs...), append(n.targets, more.targets...)
}

// run adds a file that is run, if p is a path.
func (n *names) run(p string) {
	if p != "" {
		n.files, n.scripts = append(n.files, p), append(n.scripts, p)
	}
}

func (n *names) empty() bool {
	return len(n.files)+len(n.always)+len(n.lists)+len(n.globs)+len(n.targets)+len(n.recipes) == 0
}
