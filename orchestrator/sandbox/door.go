package sandbox

// Door is a way out of a sandbox that has no network but a loopback of its own. What sets the sandbox up makes sockets on that loopback
// and hands them out to who waits at a socket of the file system; nobody who runs within can do that again.
type Door struct {
	// Proxy has a proxy on [ProxyPort], and a resolver of names.
	Proxy bool `json:"proxy,omitempty"`
	// Ports are ports that something outside answers on.
	Ports []int `json:"ports,omitempty"`
}

const (
	// DoorAt is where the folder with the socket is.
	DoorAt = "/run/orch/door"
	// DoorSocket is its name.
	DoorSocket = "s"
	// DoorResolver is the name of the file there that configures resolvers of names, with ResolverConfig in it.
	DoorResolver = "resolv.conf"
	// ProxyPort is the port of the proxy on the loopback of a sandbox.
	ProxyPort = 3128
	// namePort is that of the resolver.
	namePort = 53
)

// DoorSockets is how many sockets are handed out: for a proxy that of the resolver and that of the proxy, then one for each port.
func DoorSockets(proxy bool, ports []int) int {
	if proxy {
		return 2 + len(ports)
	}
	return len(ports)
}

// ResolverConfig is the configuration of resolvers where the only one is that of a [Door].
const ResolverConfig = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
