package egress_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/beadsorch/orch/orchestrator/command"
	"github.com/beadsorch/orch/orchestrator/proc"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/egress"
	"github.com/beadsorch/orch/orchestrator/sandbox/sandboxtest"
)

// TestMain lets the test binary be a guard, and a sandbox.
func TestMain(m *testing.M) { sandboxtest.Main(m) }

// world is a sandbox with a way out to a server that plays every host of the internet.
type world struct {
	t     *testing.T
	place sandbox.Place
	box   sandbox.Box
	way   *egress.Way
	run   command.Runner
}

// addresses are what the names of the test have.
func addresses(host string) ([]string, error) {
	known := map[string][]string{
		"allowed.test": {"203.0.113.1"}, "a.below.test": {"203.0.113.2"}, "refused.test": {"203.0.113.3"},
		"keys.test": {"169.254.169.254"}, "keys6.test": {"fd00:ec2::254"}, "mapped.test": {"::ffff:169.254.169.254"}, "translated.test": {"64:ff9b::a9fe:a9fe"},
		"rebound.test": {"127.0.0.1"}, "own.test": {"0.0.0.0"}, "private.test": {"10.1.2.3"}, "named.test": {"10.1.2.3"}, "several.test": {"127.0.0.1", "203.0.113.1"},
	}
	if a := known[host]; a != nil {
		return a, nil
	}
	return nil, errors.New("no such host")
}

func newWorld(t *testing.T, l sandbox.Level, o egress.Options) *world {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { fmt.Fprintf(rw, "%s %s\n", r.Host, r.URL.Path) }))
	t.Cleanup(server.Close)
	o.Resolve = func(_ context.Context, host string) ([]string, error) { return addresses(host) }
	o.Reach = func(ctx context.Context, address string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(address); !strings.HasPrefix(host, "203.0.113.") && host != "10.1.2.3" {
			return nil, errors.New("connected to what was not to be: " + address)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(server.URL, "http://"))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	bwrap, _ := exec.LookPath("bwrap")
	w := &world{t: t, run: proc.New(proc.Options{Guard: []string{self, "guard"}, Grace: 30 * time.Second}).RunGuarded}
	for _, b := range sandbox.Boxes(self, bwrap) {
		if b.Level == l {
			w.box = b
		}
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(path string) string { return filepath.Join(top, path) }
	long := strings.Repeat("a-long-name-", 12) // longer than the name of a socket may be
	for _, dir := range []string{"repo/.git/objects", "trees/1", "shadow/borrowed", "home", "private", "tmp", long} {
		require.NoError(t, os.MkdirAll(at(dir), 0o700))
	}
	require.NoError(t, os.WriteFile(at("trees/1/.git"), nil, 0o600))
	w.place = sandbox.Place{Worktree: at("trees/1"), CommonDir: at("repo/.git"), Shadow: at("shadow"), Checkout: at("repo"), Siblings: at("trees"),
		Home: at("home"), PrivateHome: at("private"), Temp: at("tmp"), Program: self}.Real()
	policy, err := sandbox.New(w.place)
	require.NoError(t, err)
	if err := w.box.Try(t.Context(), w.run, policy); err != nil {
		sandboxtest.Skip(t, string(l), err.Error())
	}
	w.place.Door, w.place.DoorTo, w.place.Resolver = at(long), sandbox.Door{Proxy: o.Proxy, Ports: o.Ports}, "/etc/resolv.conf"
	w.place = w.place.Real()
	w.way, err = egress.Open(w.place.Door, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.way.Close()) })
	return w
}

// in runs a shell script in the sandbox.
func (w *world) in(script string, args ...string) string {
	w.t.Helper()
	policy, err := sandbox.New(w.place)
	require.NoError(w.t, err)
	proxy := fmt.Sprintf("http://127.0.0.1:%d", sandbox.ProxyPort)
	c, err := w.box.Wrap(command.Cmd{Argv: append([]string{"sh", "-c", script, "sh"}, args...), Env: []string{"PATH=" + os.Getenv("PATH"), "http_proxy=" + proxy, "https_proxy=" + proxy, "HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "NODE_USE_ENV_PROXY=1"}}, policy)
	require.NoError(w.t, err)
	res, err := w.run(w.t.Context(), c)
	require.NoError(w.t, err, string(res.Stderr))
	return string(res.Stdout)
}

// eachLevel runs a test at each level that has a network of its own.
func eachLevel(t *testing.T, test func(t *testing.T, l sandbox.Level)) {
	t.Helper()
	for _, l := range sandbox.Levels() {
		if !l.Mounts() {
			continue
		}
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			sandboxtest.Few(t, string(l))
			test(t, l)
		})
	}
}

// TestProxy: from within, hosts are reached that are allowed, by CONNECT and without; of others it is said why not, and which setting helps; whatever name
// leads there, addresses of this machine, of a cloud's keys and of private networks are not connected to.
func TestProxy(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, l sandbox.Level) {
		w := newWorld(t, l, egress.Options{Proxy: true, Named: []string{"named.test"},
			Allow: []string{"allowed.test", "*.below.test", "keys.test", "keys6.test", "mapped.test", "translated.test", "rebound.test", "own.test", "private.test", "several.test", "169.254.169.254", "gone.test"}})
		hosts := []string{"allowed.test", "a.below.test", "named.test", "several.test", "ALLOWED.test.",
			"refused.test", "below.test", "keys.test", "keys6.test", "mapped.test", "translated.test", "rebound.test", "own.test", "private.test", "169.254.169.254", "127.0.0.1:1", "gone.test", "notbelow.test"}
		out := w.in(`for h; do
				echo "$h $(curl -s -o /tmp/body -w '%{http_code}' "http://$h/path" </dev/null) $(curl -s -p -o /dev/null -w '%{http_connect}' "http://$h/path") $(head -1 /tmp/body | cut -c1-300)"
			done`, hosts...)
		for n, line := range strings.Split(strings.TrimSpace(out), "\n") {
			host := hosts[n]
			switch {
			case n < 5:
				require.Regexp(t, "^"+host+" 200 200 .* /path$", line)
			case host == "gone.test":
				require.Contains(t, line, " 502 502 orch: gone.test is allowed, and is not reached: no address is known for this name: no such host")
			default:
				require.Contains(t, line, " 403 403 orch: ", line)
				require.Regexp(t, "is not reached from this sandbox: ", line)
			}
		}
		require.Contains(t, out, "sandbox: {network: {allow: [refused.test]}}")
		refused := map[string]int{}
		for _, r := range w.way.Refused() {
			refused[r.Host] = r.Count
			require.NotEmpty(t, r.Why)
		}
		require.Equal(t, 2, refused["refused.test"])
		require.Equal(t, 2, refused["169.254.169.254"])
		require.NotContains(t, refused, "allowed.test")
	})
}

// TestNames: a name is refused at once, and noted.
func TestNames(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, l sandbox.Level) {
		w := newWorld(t, l, egress.Options{Proxy: true, Allow: []string{"allowed.test"}})
		require.Equal(t, sandbox.ResolverConfig+"none\n", w.in(`cat /etc/resolv.conf; getent ahosts outside.test || echo none; getent ahosts allowed.test`+" || true"))
		refused := w.way.Refused()
		require.Len(t, refused, 2)
		require.Contains(t, refused[0].Why, "HTTPS_PROXY")
		require.Equal(t, "outside.test", refused[1].Host)
	})
}

// TestClose: a way out that was closed as soon as it stood is closed without an error.
func TestClose(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, l sandbox.Level) {
		for range 5 {
			w := newWorld(t, l, egress.Options{Proxy: true})
			require.Empty(t, w.in("true"))
			require.NoError(t, w.way.Close())
		}
	})
}

// TestPorts: a port of this machine's loopback is found on that of the sandbox, and no other; a server within takes a port that is taken outside.
func TestPorts(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, l sandbox.Level) {
		var ports []int
		for _, name := range []string{"forwarded", "other"} {
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(name + "\n")) }))
			t.Cleanup(server.Close)
			port, err := strconv.Atoi(server.URL[strings.LastIndexByte(server.URL, ':')+1:])
			require.NoError(t, err)
			ports = append(ports, port)
		}
		w := newWorld(t, l, egress.Options{Ports: ports[:1]})
		require.Equal(t, "forwarded\nforwarded\nrefused\n", w.in(`curl -s --noproxy '*' "127.0.0.1:$1"; curl -s --noproxy '*' "127.0.0.1:$1"; curl -s --noproxy '*' "127.0.0.1:$2" || echo refused`,
			strconv.Itoa(ports[0]), strconv.Itoa(ports[1])))
		require.Empty(t, w.way.Refused())
	})
}

// TestOnce: nobody but what sets the sandbox up is let in.
func TestOnce(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, l sandbox.Level) {
		w := newWorld(t, l, egress.Options{Proxy: true})
		require.Equal(t, "there\nrefused\n", w.in(`test -S /run/orch/door/s && echo there; curl -s --noproxy '*' --unix-socket /run/orch/door/s http://x/ || echo refused`))
	})
}

// TestNode: a program of node's own way to ask for things goes by the proxy.
func TestNode(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		sandboxtest.Skip(t, "node", "it is not installed")
	}
	version, err := exec.CommandContext(t.Context(), node, "--version").Output()
	require.NoError(t, err)
	if major, err := strconv.Atoi(strings.Split(strings.TrimPrefix(string(version), "v"), ".")[0]); err != nil || major < 24 {
		t.Skip("node goes by the variables of a proxy from version 24 on")
	}
	eachLevel(t, func(t *testing.T, l sandbox.Level) {
		w := newWorld(t, l, egress.Options{Proxy: true, Allow: []string{"allowed.test"}})
		out := w.in(node + ` -e 'const f = async u => { const r = await fetch(u); console.log(r.status, (await r.text()).trim().slice(0, 40)) }; f("http://allowed.test/x").then(() => f("http://refused.test/x"))'`)
		require.Contains(t, out, "200 allowed.test /x\n403 orch: refused.test")
	})
}
