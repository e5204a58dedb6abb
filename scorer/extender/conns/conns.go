// Package conns bounds the connections of a server, so that no client keeps
// others out by opening connections.
package conns

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

const (
	// The maximum number of connections, in total and per client. kube-scheduler
	// has two.
	maxConnections      = 512
	maxConnectionsOfOne = 128
	// fewConnections is the number of connections without a reply that a client may have
	// before it counts as having more than others.
	fewConnections = 4
)

// boundedListener bounds the number of open connections. At the bound, a new connection
// replaces another one.
type boundedListener struct {
	net.Listener

	mu sync.Mutex
	// open holds the connections, oldest first.
	open    []*boundedConn
	clients map[netip.Addr]*connected
	// uses counts uses of connections, in place of a clock.
	uses uint64
}

// connected holds the number of connections that a client has, and how many of them never
// got a reply.
type connected struct{ open, unproven int }

type boundedConn struct {
	net.Conn
	listener *boundedListener
	client   netip.Addr
	// used is the value of uses at the last request or reply; 0 before the first
	// reply.
	used uint64
}

// Bounded returns a listener that bounds the number of open connections, in
// total and per address. Its server's ConnState must be Used.
func Bounded(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, clients: map[netip.Addr]*connected{}}
}

// Used records that a connection is in use. It serves as a server's ConnState. A reply
// shows that the client does more than connect, and so does a certificate that the
// handshake has verified.
func Used(conn net.Conn, state http.ConnState) {
	if state != http.StateActive && state != http.StateIdle {
		return
	}
	proven := state == http.StateIdle
	if secured, ok := conn.(*tls.Conn); ok && !proven {
		proven = len(secured.ConnectionState().VerifiedChains) > 0
	}
	for {
		if bounded, ok := conn.(*boundedConn); ok {
			bounded.listener.use(bounded, proven)
			return
		}
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		conn = outer.NetConn()
	}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	bounded := &boundedConn{Conn: conn, listener: l, client: ClientOf(conn.RemoteAddr().String())}
	if yields := l.enter(bounded); yields != nil {
		_ = yields.Conn.Close()
	}
	return bounded, nil
}

// enter adds a connection and returns the connection that has to yield to it, if any. It
// prefers a connection of the same client.
func (l *boundedListener) enter(c *boundedConn) (yields *boundedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	client := l.clients[c.client]
	switch {
	case client != nil && client.open >= maxConnectionsOfOne:
		yields = l.first(func(other *boundedConn) bool { return other.client == c.client })
	case len(l.open) >= maxConnections:
		yields = l.first(func(*boundedConn) bool { return true })
	}
	if yields != nil {
		l.leave(yields)
	}
	if client = l.clients[c.client]; client == nil {
		client = &connected{}
		l.clients[c.client] = client
	}
	client.open++
	client.unproven++
	l.open = append(l.open, c)
	return yields
}

// first returns the first connection to yield. Among connections that never got a reply,
// this is the oldest one of the client with most of them. If all got replies, it is the
// one that has been unused for the longest time.
func (l *boundedListener) first(of func(*boundedConn) bool) (first *boundedConn) {
	most := 0
	for _, c := range l.open {
		if !of(c) {
			continue
		}
		unproven := max(l.clients[c.client].unproven, fewConnections)
		if first == nil || c.used < first.used || c.used == 0 && first.used == 0 && unproven > most {
			first, most = c, unproven
		}
	}
	return first
}

func (l *boundedListener) use(c *boundedConn, proven bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	client := l.clients[c.client]
	if client == nil || c.used == 0 && !proven || !slices.Contains(l.open, c) {
		return
	}
	if c.used == 0 {
		client.unproven--
	}
	l.uses++
	c.used = l.uses
}

// leave removes a connection, unless it was removed before.
func (l *boundedListener) leave(c *boundedConn) {
	i := slices.Index(l.open, c)
	if i < 0 {
		return
	}
	l.open = slices.Delete(l.open, i, i+1)
	client := l.clients[c.client]
	if client.open--; client.open == 0 {
		delete(l.clients, c.client)
	}
	if c.used == 0 {
		client.unproven--
	}
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.leave(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// ClientOf returns the address of a client. All clients without an address
// share the zero address.
func ClientOf(address string) netip.Addr {
	parsed, _ := netip.ParseAddrPort(address)
	return parsed.Addr().Unmap()
}
