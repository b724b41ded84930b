package cell

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/orchestrator/engine"
	"github.com/beadsorch/orch/orchestrator/sandbox"
	"github.com/beadsorch/orch/orchestrator/sandbox/egress"
)

// Out is what of the network is let through, at a level that has a network of its own.
type Out struct {
	// Agents is what agents have: "" is the network as it is.
	Agents Mode
	// Hosts are those that all need, such as where packages come from: see [egress.Options].
	Hosts []string
	// Named are hosts that the person has named.
	Named []string
	// Ports are ports of this machine's loopback that are forwarded where there is no network.
	Ports []int
}

// Mode is how much of the network there is.
type Mode string

// The modes.
const (
	// Open is the network as it is.
	Open Mode = ""
	// Listed is hosts of a list, by a proxy.
	Listed Mode = "listed"
	// None is none but a loopback of its own.
	None Mode = "none"
)

// mode is what commands have that want n. A setup fetches in any case.
func (o Out) mode(n engine.Network) Mode {
	switch {
	case n == engine.Loopback:
		return None
	case n == engine.Fetching && o.Agents == None:
		return Open
	}
	return o.Agents
}

// mode is what commands have that want n; without a network there is nothing to choose.
func (c *Cells) mode(n engine.Network) Mode {
	if !c.Place.Network {
		return None
	}
	return c.Out.mode(n)
}

// openWay opens the way out of the cell, if it has one.
func (n *cell) openWay(wanted engine.Network) (err error) {
	mode := n.of.mode(wanted)
	n.network = mode == Open
	if n.network || !n.of.Box.Level.Mounts() || mode == None && len(n.of.Out.Ports) == 0 {
		return nil
	}
	n.door = filepath.Join(n.folder, "door")
	if err := makeFolders(n.door); err != nil {
		return err
	}
	n.listed = mode == Listed
	n.way, err = egress.Open(n.door, egress.Options{Proxy: n.listed, Allow: slices.Concat(n.of.Out.Hosts, n.needs.Hosts), Named: n.of.Out.Named, Ports: n.of.Out.Ports})
	return err
}

// closeWay closes it, and keeps what was refused.
func (n *cell) closeWay() error {
	if n.way == nil {
		return nil
	}
	err := n.way.Close()
	if refused := n.way.Refused(); len(refused) > 0 && n.attempt != "" {
		if recording := n.recordRefused(refused); recording != nil {
			err = recording
		}
	}
	n.way = nil
	return err
}

// proxyVariables are those by which programs find the proxy.
func proxyVariables() (env []string) {
	at := fmt.Sprintf("http://127.0.0.1:%d", sandbox.ProxyPort)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		env = append(env, name+"="+at)
	}
	const local = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+local, "no_proxy="+local, "ALL_PROXY=", "all_proxy=", "NODE_USE_ENV_PROXY=1")
}
