package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// toolchains are files and folders of a home in which compilers, interpreters and what was installed with them are, or settings of theirs that
// hold no secrets.
func toolchains() []string {
	return []string{
		"sdk", "go/bin", ".gvm", ".goenv", ".config/go/env",
		".rustup", ".cargo/bin", ".cargo/config.toml", ".cargo/config",
		".nvm", ".config/nvm", ".volta", ".fnm", ".local/share/fnm", ".nodenv", ".n", ".npm-global", ".yarn/bin", ".config/yarn/global", ".local/share/pnpm", ".bun/bin", ".bun/install/global", ".deno/bin",
		".pyenv", ".local/lib", ".local/share/pipx", ".local/pipx", ".local/share/uv", ".local/share/pypoetry", ".virtualenvs", ".local/share/virtualenvs",
		".conda/envs", "miniconda3", "miniforge3", "anaconda3", "mambaforge", ".pixi",
		".rbenv", ".rvm", ".local/share/gem", ".gem/ruby",
		".sdkman", ".jdks", ".jenv", ".local/share/coursier", ".dotnet", ".local/share/mise", ".asdf", ".proto", ".nix-profile",
		".opam", ".ghcup", ".cabal/bin", ".local/share/swiftly", ".juliaup", ".elan", "Android/Sdk",
	}
}

// caches are folders of a home that compilers and the like write again where they are gone.
func caches() []string {
	return append([]string{
		"go/pkg/mod", ".cache/go-build", ".cache/golangci-lint", ".cache/staticcheck",
		".npm", ".cache/yarn", ".yarn/berry/cache", ".cache/pnpm", ".local/share/pnpm/store", ".bun/install/cache", ".cache/deno", ".cache/node", ".cache/opencode",
		".cache/pip", ".cache/uv", ".cache/pypoetry", ".cache/pre-commit",
		".m2/repository", ".m2/wrapper", ".gradle/caches", ".gradle/wrapper", ".ivy2/cache", ".cache/coursier", ".nuget/packages", ".composer/cache", ".cache/composer", ".pub-cache/hosted",
		".ccache", ".cache/ccache", ".cache/sccache", ".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress", ".cache/electron",
	}, legible()...)
}

// legible are the caches of which their tools make use also where they can only read them.
func legible() []string {
	return []string{".cargo/registry", ".cargo/git/db", ".cargo/git/checkouts"}
}

// located are the variables that name the place of a toolchain, with the folders in it.
func located() map[string][]string {
	return map[string][]string{"RUSTUP_HOME": {""}, "PYENV_ROOT": {""}, "NVM_DIR": {""}, "JAVA_HOME": {""}, "VIRTUAL_ENV": {""}, "CARGO_HOME": {"bin", "config.toml", "config"}, "GOPATH": {"bin"}}
}

// moved are the variables that name the place of a cache, with the folders in it.
func moved() map[string][]string {
	return map[string][]string{"GOCACHE": {""}, "GOMODCACHE": {""}, "GOPATH": {"pkg/mod"}, "CARGO_HOME": {"registry", "git/db", "git/checkouts"}, "XDG_CACHE_HOME": {"go-build", "pip", "uv", "yarn"}}
}

// Link is what a command finds in its home as a link, unless something else is there.
type Link struct {
	// At is its path below the home.
	At string `json:"at"`
	// To is where it leads, absolute.
	To string `json:"to"`
	// Written says that it leads to a cache of which its tool makes no use where it cannot write it; such a link is not made there.
	Written bool `json:"written,omitempty"`
}

// WithTools is the place with the toolchains and caches of the home, those that variables name elsewhere, and with the folders of PATH. What is
// not there, and folders that hold something that is to be hidden, are left out. A part of the home that is a link to elsewhere is one for the command too.
func (p Place) WithTools(getenv func(string) string) Place {
	p.Read, p.Caches, p.Links = slices.Clone(p.Read), slices.Clone(p.Caches), slices.Clone(p.Links)
	for _, folder := range toolchains() {
		if to, ok := p.tool(filepath.Join(p.Home, folder)); ok {
			p.Read = append(p.Read, to)
			p.Links = append(p.Links, Link{At: folder, To: to})
			p = p.Ask("a toolchain", to)
		}
	}
	for _, folder := range caches() {
		if to, ok := p.tool(filepath.Join(p.Home, folder)); ok {
			p.Caches = append(p.Caches, to)
			p.Links = append(p.Links, Link{At: folder, To: to, Written: !slices.Contains(legible(), folder)})
			p = p.Ask("a cache of a toolchain", to)
		}
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if p.opens(dir) {
			p.Read = append(p.Read, dir)
			p = p.Ask("a folder of PATH", dir)
		}
	}
	tools, caches := p.named(located(), getenv), p.named(moved(), getenv)
	p.Read, p.Caches = append(p.Read, tools...), append(p.Caches, caches...)
	p = p.Ask("a toolchain that a variable names", tools...).Ask("a cache that a variable names", caches...)
	return p
}

// tool is where a part of the home really is; ok says that it is there and may be open.
func (p Place) tool(at string) (to string, ok bool) {
	to, err := filepath.EvalSymlinks(at)
	return to, err == nil && p.opens(to)
}

// named are the folders of places that variables name.
func (p Place) named(variables map[string][]string, getenv func(string) string) (paths []string) {
	for variable, folders := range variables {
		for _, folder := range folders {
			if at := getenv(variable); filepath.IsAbs(at) && p.opens(filepath.Join(at, folder)) {
				paths = append(paths, filepath.Join(at, folder))
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// opens reports whether a folder may be open: it is not hidden itself, and nothing is to be hidden in it.
func (p Place) opens(dir string) bool {
	secret := slices.Concat([]string{p.Home, p.CommonDir, p.Checkout, p.Siblings, p.Temp, p.TempAt}, p.Hide, commonlyHidden())
	return filepath.IsAbs(dir) && filepath.Clean(dir) == dir && dir != "/" && !slices.ContainsFunc(secret, func(s string) bool {
		return s != "" && (s == dir || below(s, dir))
	}) && !slices.ContainsFunc(append([]string{p.CommonDir, p.Checkout, p.Siblings}, p.Hide...), func(s string) bool { return s != "" && below(dir, s) })
}

// link makes the links in the home of this process; mounts says that caches can be written. It is done within the bounds, since a command that
// ran before may have left there what leads elsewhere. What cannot be made is the command's own doing, and only it misses it.
func (p Policy) link(home string, mounts bool) {
	for _, l := range p.Links {
		if l.Written && !mounts {
			continue
		}
		at := filepath.Join(home, l.At)
		if os.MkdirAll(filepath.Dir(at), 0o700) == nil {
			_ = os.Symlink(l.To, at) // where nothing is
		}
	}
}
