package apifault

import (
	"net"
	"sync"
)

// gate holds back the bytes of all connections in both directions while it is shut, like
// a network that drops packets. Connections stay open, and the kernel accepts new ones,
// but nothing is received. When the gate opens, the held bytes arrive.
type gate struct {
	mu sync.Mutex
	// open is closed while bytes may pass.
	open chan struct{}
	shut bool
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// set shuts or opens the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case shut == g.shut:
	case shut:
		g.open = make(chan struct{})
	default:
		close(g.open)
	}
	g.shut = shut
}

func (g *gate) passage() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// gated is a listener whose connections pass through a gate.
type gated struct {
	net.Listener
	gate *gate
}

// Accept implements net.Listener.
func (l gated) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, gate: l.gate, closed: make(chan struct{})}, nil
}

type connection struct {
	net.Conn
	gate   *gate
	closed chan struct{}
	once   sync.Once
}

func (c *connection) wait() {
	select {
	case <-c.gate.passage():
	case <-c.closed:
	}
}

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wait()
	return n, err
}

// Write implements net.Conn.
func (c *connection) Write(b []byte) (int, error) {
	c.wait()
	return c.Conn.Write(b)
}

// Close implements net.Conn. It also ends waiting.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
