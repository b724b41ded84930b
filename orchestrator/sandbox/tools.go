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
	return []string{"go/pkg/mod", ".cache/go-build", ".npm", ".cache/yarn", ".cache/pip", ".cache/uv", ".cache/pnpm", ".cargo/registry", ".cargo/git/db", ".cargo/git/checkouts", ".m2/repository", ".gradle/caches"}
}

// WithTools is the place with the toolchains and caches of the home, and with the folders of a PATH that are in it. Folders that hold
// something that is to be hidden are left out.
func (p Place) WithTools(path []string) Place {
	p.Read = slices.Clone(p.Read)
	for _, folder := range toolchains() {
		p.Read = append(p.Read, filepath.Join(p.Home, folder))
	}
	p.Caches = slices.Clone(p.Caches)
	for _, folder := range caches() {
		p.Caches = append(p.Caches, filepath.Join(p.Home, folder))
	}
	secret := slices.Concat([]string{p.Home, p.CommonDir, p.Checkout, p.Siblings}, p.Hide)
	for _, dir := range path {
		open := filepath.IsAbs(dir) && filepath.Clean(dir) == dir && below(dir, p.Home)
		if open && !slices.ContainsFunc(secret, func(s string) bool { return s != "" && (s == dir || below(s, dir) || s != p.Home && below(dir, s)) }) {
			p.Read = append(p.Read, dir)
		}
	}
	return p
}
