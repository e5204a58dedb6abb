// Package conns bounds the connections of a server, so that nobody keeps others
// out by connecting.
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
	// The most connections, of all clients and of one. kube-scheduler has two.
	maxConnections      = 512
	maxConnectionsOfOne = 128
	// fewConnections is how many connections without an answer make no client one
	// that has more than others.
	fewConnections = 4
)

// boundedListener bounds how many connections are open. Where all are taken a
// new one takes the place of another.
type boundedListener struct {
	net.Listener

	mu sync.Mutex
	// open are the connections, oldest first.
	open    []*boundedConn
	clients map[netip.Addr]*connected
	// uses counts when connections were used, in place of a clock.
	uses uint64
}

// connected is how many connections a client has, and how many of them were
// never answered.
type connected struct{ open, unproven int }

type boundedConn struct {
	net.Conn
	listener *boundedListener
	client   netip.Addr
	// used is the count of uses at the last request or reply; 0 before the first
	// reply.
	used uint64
}

// Bounded returns a listener that bounds how many connections are open, of all
// clients and of each address. ConnState of its server has to be Used.
func Bounded(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, clients: map[netip.Addr]*connected{}}
}

// Used notes that a connection is in use, as ConnState of a server. A reply shows
// that its client does more than connect, and so does a certificate that the
// handshake has checked.
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

// enter adds a connection and returns the one that has to yield to it, if any:
// of its client's or of all.
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

// first returns the first connection to yield: of those that were never answered
// the oldest of the client with most of them, else the one that has been unused
// for longest.
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

// ClientOf returns the address of a client. All without one share the zero
// address.
func ClientOf(address string) netip.Addr {
	parsed, _ := netip.ParseAddrPort(address)
	return parsed.Addr().Unmap()
}
