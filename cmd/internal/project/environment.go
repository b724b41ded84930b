package project

import (
	"context"
	"slices"
	"strings"

	"github.com/beadsorch/orch/cmd/internal/cli"
	"github.com/beadsorch/orch/cmd/internal/config"
	"github.com/beadsorch/orch/orchestrator/harness/all"
	"github.com/beadsorch/orch/orchestrator/redact"
)

// systemNames are what any program needs of the environment. What is not named by one of these
// functions, or by the settings, no child sees.
func systemNames() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LC_*", "TZ", "XDG_*", "SSL_CERT_FILE", "SSL_CERT_DIR"}
}

func gitNames() []string {
	return []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}
}

// toolNames are for compilers and the like, and for the way out to the network.
func toolNames() []string {
	return []string{"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOTOOLCHAIN", "JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "NODE_EXTRA_CA_CERTS",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
}

func systemEnv(p cli.Process, more ...string) []string {
	return p.FilterEnv(append(systemNames(), more...)...)
}

// SystemEnv is what any program needs of the environment, and the variables that are named
// besides.
func (p *Project) SystemEnv(more ...string) []string { return systemEnv(p.Invocation.Process, more...) }

// AgentEnv is the whole environment of an agent: what the system and its tools need, a git
// identity, and what the settings let through.
func (p *Project) AgentEnv(ctx context.Context) []string {
	names := slices.Concat([]string{"TERM"}, gitNames(), toolNames(), p.Config.Agent.Env, p.Config.Sandbox.Env)
	if c, ok := all.Client(p.Config.Agent.Harness); ok {
		names = append(names, c.Env...)
	}
	env := append(p.SystemEnv(names...), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0",
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false")
	if _, err := p.Repo.Out(ctx, "var", "GIT_AUTHOR_IDENT"); err != nil || p.noIdentity(ctx) {
		env = append(env, "GIT_AUTHOR_NAME=orch", "GIT_AUTHOR_EMAIL=orch@localhost", "GIT_COMMITTER_NAME=orch", "GIT_COMMITTER_EMAIL=orch@localhost")
	}
	return env
}

// noIdentity reports whether git would refuse to commit for want of a name.
func (p *Project) noIdentity(ctx context.Context) bool {
	if p.Invocation.Getenv("GIT_AUTHOR_EMAIL") != "" && p.Invocation.Getenv("GIT_COMMITTER_EMAIL") != "" {
		return false
	}
	_, err := p.Repo.Out(ctx, "config", "user.email")
	return err != nil
}

// GateEnv is the whole environment of a gate's command.
func (p *Project) GateEnv() []string { return GateEnv(p.Invocation.Process, p.Config) }

// SetupEnv is the whole environment of a command that makes a worktree ready: that of the gate, without what looks secret.
func (p *Project) SetupEnv() []string {
	return slices.DeleteFunc(p.GateEnv(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return redact.LooksSecret(name) || slices.ContainsFunc(p.Config.Secrets, func(secret string) bool {
			prefix, open := strings.CutSuffix(secret, "*")
			return name == secret || open && strings.HasPrefix(name, prefix)
		})
	})
}

// GateEnv is what GateEnv of a project is, where there may be no repository.
func GateEnv(p cli.Process, c config.Config) []string {
	return systemEnv(p, slices.Concat(toolNames(), c.Agent.Env, c.Sandbox.Env)...)
}
