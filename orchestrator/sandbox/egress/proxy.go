package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// serveProxy does what a client asks a proxy for.
func (w *Way) serveProxy(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		w.serveRequest(rw, r)
		return
	}
	to, err := w.reach(r.Context(), r.Host)
	if err != nil {
		say(rw, err)
		return
	}
	hijacker, ok := rw.(http.Hijacker)
	if !ok {
		_ = to.Close()
		return
	}
	from, buffered, err := hijacker.Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, err = io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
	if n := buffered.Reader.Buffered(); n > 0 && err == nil { // what came behind the request
		first, _ := buffered.Reader.Peek(n)
		_, err = to.Write(first)
	}
	if err != nil {
		_, _ = from.Close(), to.Close()
		return
	}
	w.join(from, to)
}

// serveRequest passes on a request for a URL that is not encrypted.
func (w *Way) serveRequest(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		http.Error(rw, "orch: this is a proxy, and answers only to what is asked of one", http.StatusBadRequest)
		return
	}
	transport := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 10 * time.Minute,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return w.reach(ctx, address) }}
	proxy := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.Host = p.In.Host }, Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, err error) { say(rw, err) }}
	proxy.ServeHTTP(rw, r)
}

// say answers that a host is not reached, and why.
func say(rw http.ResponseWriter, err error) {
	var refused *RefusedError
	if errors.As(err, &refused) {
		http.Error(rw, refused.Error(), http.StatusForbidden)
		return
	}
	http.Error(rw, "orch: "+err.Error(), http.StatusBadGateway)
}

// RefusedError says that a host may not be reached.
type RefusedError struct {
	// Host is its name, or its address.
	Host string
	// Why says it in a clause.
	Why string
}

// Error is a sentence that names the setting.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("orch: %s is not reached from this sandbox: %s", e.Host, e.Why)
}

// reach connects to a host with a port, if it is allowed: its name is resolved once, and the address that was checked is connected to.
func (w *Way) reach(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, "80"
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	named := matches(host, w.o.Named)
	if !named && !matches(host, w.o.Allow) {
		return nil, w.refusal(host, "it is not among the hosts that are allowed; sandbox: {network: {allow: ["+host+"]}} in your own settings allows it")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	addresses, err := w.resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%s is allowed, and is not reached: no address is known for this name: %w", host, err)
	}
	why := "it has no address"
	for _, text := range addresses {
		a, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		if why = forbidden(a, named, ownAddresses()); why != "" {
			continue
		}
		var to net.Conn
		if to, err = w.connect(ctx, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return to, nil
		}
		if why = ""; ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if why == "" {
		return nil, fmt.Errorf("%s does not answer at port %s", host, port)
	}
	return nil, w.refusal(host, why)
}

func (w *Way) refusal(host, why string) error {
	w.refuse(host, why)
	return &RefusedError{Host: host, Why: why}
}

func (w *Way) resolve(ctx context.Context, host string) ([]string, error) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{host}, nil
	}
	if w.o.Resolve != nil {
		return w.o.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupHost(ctx, host)
}

func (w *Way) connect(ctx context.Context, address string) (net.Conn, error) {
	if w.o.Reach != nil {
		return w.o.Reach(ctx, address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// matches reports whether one of the patterns stands for a host.
func matches(host string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = strings.ToLower(p)
		below, all := strings.CutPrefix(p, "*")
		return host == p || all && strings.HasPrefix(below, ".") && strings.HasSuffix(host, below) && len(host) > len(below)
	})
}

// metadata are the addresses at which clouds tell a machine its keys, where these are not link-local.
func metadata() []netip.Addr {
	return []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192")}
}

// forbidden says why an address is not connected to; "" where it is. named says that the person has named the host.
func forbidden(a netip.Addr, named bool, own []netip.Addr) string {
	a = embedded(a.Unmap().WithZone(""))
	switch {
	case slices.Contains(metadata(), a), a.IsLinkLocalUnicast():
		return "its address is one at which a cloud tells a machine its keys, or of this link alone"
	case a.IsLoopback(), a.IsUnspecified(), slices.Contains(own, a):
		return "its address is this machine's own; sandbox: {ports: [PORT]} in your own settings forwards a port of its loopback"
	case a.IsMulticast(), a.IsInterfaceLocalMulticast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "its address is that of several machines"
	case !named && (a.IsPrivate() || shared().Contains(a)):
		return "its address is one of a private network; sandbox: {network: {allow: [HOST]}} in your own settings allows a host that has one"
	}
	return ""
}

// shared is between a provider and its customers, as good as private.
func shared() netip.Prefix { return netip.MustParsePrefix("100.64.0.0/10") }

// embedded is the address of version 4 that one of version 6 leads to, or the address itself.
func embedded(a netip.Addr) netip.Addr {
	for _, translated := range []string{"64:ff9b::/96", "::/96"} {
		if p := netip.MustParsePrefix(translated); a.Is6() && p.Contains(a) && a != netip.IPv6Loopback() && a != netip.IPv6Unspecified() {
			b := a.As16()
			return netip.AddrFrom4([4]byte(b[12:]))
		}
	}
	if p := netip.MustParsePrefix("2002::/16"); a.Is6() && p.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// ownAddresses are those of this machine's interfaces.
func ownAddresses() (own []netip.Addr) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own
}

// join passes on what each of two sides says to the other, until one of them has ended both ways.
func (w *Way) join(a, b net.Conn) {
	if !w.keep(a) {
		_ = b.Close()
		return
	}
	defer w.drop(a)
	if !w.keep(b) {
		return
	}
	defer w.drop(b)
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			_ = half.CloseWrite()
			return
		}
		_, _ = to.Close(), from.Close()
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
}

// serveNames refuses at once whatever name is asked for: a client of the proxy needs none.
func (w *Way) serveNames(c net.PacketConn) {
	packet := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(packet)
		if err != nil {
			return
		}
		if name, answer, ok := refuseName(packet[:n]); ok {
			if host := strings.ToLower(strings.TrimSuffix(name, ".")); !matches(host, w.o.Allow) && !matches(host, w.o.Named) {
				w.refuse(host, "it is not among the hosts that are allowed")
			} else {
				w.refuse(host, "it is allowed by the proxy alone, which this program does not use (HTTPS_PROXY)")
			}
			_, _ = c.WriteTo(answer, from)
		}
	}
}

// refuseName is the answer to a question for a name that refuses it; ok is false for what is no question.
func refuseName(packet []byte) (name string, answer []byte, ok bool) {
	var p dnsmessage.Parser
	h, err := p.Start(packet)
	if err != nil || h.Response {
		return "", nil, false
	}
	q, err := p.Question()
	if err != nil {
		return "", nil, false
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RCode: dnsmessage.RCodeRefused}, Questions: []dnsmessage.Question{q}}
	answer, err = reply.Pack()
	return q.Name.String(), answer, err == nil
}
