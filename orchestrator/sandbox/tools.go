package sandbox

import (
	"path/filepath"
	"slices"
)

// toolchains are folders of a home in which compilers, interpreters and what was installed with them are, and nothing of the
// person's beside that.
func toolchains() []string {
	return []string{".nvm", ".volta", ".fnm", ".local/share/fnm", ".local/share/mise", ".asdf", ".pyenv", ".rbenv", ".sdkman", ".rustup", ".cargo/bin", ".bun/bin", ".deno/bin",
		".dotnet", ".local/share/uv", ".local/share/pnpm", ".npm-global", "go/bin", "sdk"}
}

// caches are folders of a home that compilers and the like write again where they are gone.
func caches() []string {
	return []string{"go/pkg/mod", ".cache/go-build", ".npm", ".cache/yarn", ".cache/pip", ".cache/uv", ".cache/pnpm", ".cache/opencode", ".cargo/registry", ".cargo/git/db", ".cargo/git/checkouts", ".m2/repository", ".gradle/caches"}
}

// WithTools is the place with the toolchains and caches of the home, those that variables name elsewhere, and with the folders of PATH. Folders
// that hold something that is to be hidden are left out.
func (p Place) WithTools(getenv func(string) string) Place {
	p.Read, p.Caches = slices.Clone(p.Read), slices.Clone(p.Caches)
	for _, folder := range toolchains() {
		p.Read = append(p.Read, filepath.Join(p.Home, folder))
		p = p.Ask("a toolchain", filepath.Join(p.Home, folder))
	}
	for _, folder := range caches() {
		p.Caches = append(p.Caches, filepath.Join(p.Home, folder))
		p = p.Ask("a cache of a toolchain", filepath.Join(p.Home, folder))
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if p.opens(dir) {
			p.Read = append(p.Read, dir)
			p = p.Ask("a folder of PATH", dir)
		}
	}
	for variable, folders := range moved() {
		for _, folder := range folders {
			if at := getenv(variable); filepath.IsAbs(at) && p.opens(filepath.Join(at, folder)) {
				p.Caches = append(p.Caches, filepath.Join(at, folder))
				p = p.Ask("the cache that "+variable+" names", filepath.Join(at, folder))
			}
		}
	}
	return p
}

// moved are the variables that name the place of a cache, with the folders in it.
func moved() map[string][]string {
	return map[string][]string{"GOCACHE": {""}, "GOMODCACHE": {""}, "GOPATH": {"pkg/mod"}, "CARGO_HOME": {"registry", "git/db", "git/checkouts"}, "XDG_CACHE_HOME": {"go-build", "pip", "uv", "yarn"}}
}

// opens reports whether a folder may be open: it is not hidden itself, and nothing is to be hidden in it.
func (p Place) opens(dir string) bool {
	secret := slices.Concat([]string{p.Home, p.CommonDir, p.Checkout, p.Siblings, p.Temp, p.TempAt}, p.Hide, commonlyHidden())
	return filepath.IsAbs(dir) && filepath.Clean(dir) == dir && dir != "/" && !slices.ContainsFunc(secret, func(s string) bool {
		return s != "" && (s == dir || below(s, dir))
	}) && !slices.ContainsFunc(append([]string{p.CommonDir, p.Checkout, p.Siblings}, p.Hide...), func(s string) bool { return s != "" && below(dir, s) })
}
