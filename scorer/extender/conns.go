package extender

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// The most connections, of all clients and of one. kube-scheduler has two.
const (
	maxConnections      = 512
	maxConnectionsOfOne = 128
)

// boundedListener bounds how many connections are open. Where all are taken, a
// client that has fewer than another takes the oldest of the one with most.
type boundedListener struct {
	net.Listener

	mu sync.Mutex
	// open has each client's connections, oldest first.
	open map[netip.Addr][]*boundedConn
	all  int
}

type boundedConn struct {
	net.Conn
	listener *boundedListener
	client   netip.Addr
}

// Bounded returns a listener that bounds how many connections are open, of all
// clients and of each address.
func Bounded(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, open: map[netip.Addr][]*boundedConn{}}
}

// Accept implements net.Listener. Connections for which there is no room it
// closes.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		bounded := &boundedConn{Conn: conn, listener: l, client: clientOf(conn.RemoteAddr().String())}
		yields, ok := l.enter(bounded)
		if yields != nil {
			_ = yields.Close()
		}
		if ok {
			return bounded, nil
		}
		_ = conn.Close()
	}
}

// enter adds a connection if there is room, and returns the one that has to
// yield to it, if any.
func (l *boundedListener) enter(c *boundedConn) (yields *boundedConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := len(l.open[c.client])
	if own >= maxConnectionsOfOne {
		return nil, false
	}
	if l.all >= maxConnections {
		var most []*boundedConn
		for _, conns := range l.open {
			if len(conns) > len(most) {
				most = conns
			}
		}
		if len(most) <= own+1 {
			return nil, false
		}
		yields = most[0]
		l.leave(yields)
	}
	l.open[c.client] = append(l.open[c.client], c)
	l.all++
	return yields, true
}

// leave removes a connection, unless it was removed before.
func (l *boundedListener) leave(c *boundedConn) {
	conns := l.open[c.client]
	i := slices.Index(conns, c)
	if i < 0 {
		return
	}
	l.all--
	if len(conns) == 1 {
		delete(l.open, c.client)
		return
	}
	l.open[c.client] = slices.Delete(conns, i, i+1)
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.leave(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// clientOf returns the address of a client. All without one share the zero
// address.
func clientOf(address string) netip.Addr {
	parsed, _ := netip.ParseAddrPort(address)
	return parsed.Addr().Unmap()
}
