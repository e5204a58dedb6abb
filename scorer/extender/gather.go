package extender

import (
	"net"
	"net/http"
	"sync"
)

// gatherUpTo is the longest reply, in bytes without its header, that is sent in
// one piece. A longer reply fills the socket's buffer, so its reader should be
// able to start early.
const gatherUpTo = 32 << 10

// gathering is a connection that sends a reply in one piece. net/http sends the
// first 4 KiB separately, which wakes the waiting client twice and takes longer
// than evaluating 500 nodes.
//
// With TLS, it is the layer below TLS and gathers TLS records.
type gathering struct {
	net.Conn

	// mu guards the other fields, because TLS may also write by itself, for example when
	// the client changes keys.
	mu sync.Mutex
	// on is true while a reply is being written. held is the part written so far.
	on   bool
	held []byte
}

// NetConn returns the underlying connection.
func (c *gathering) NetConn() net.Conn { return c.Conn }

// Write keeps a reply until it is complete.
func (c *gathering) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.on {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

func (c *gathering) gather() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = true
}

// release sends what was gathered if the reply is complete.
func (c *gathering) release(complete bool) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if complete {
		_, err = c.Conn.Write(c.held)
	}
	c.on, c.held = false, c.held[:0]
	return err
}

// reply writes a response and sends it.
func (c *gathering) reply(w http.ResponseWriter, body []byte) error {
	c.gather()
	_, err := w.Write(body)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if sent := c.release(err == nil); err == nil {
		err = sent
	}
	if err != nil {
		_ = c.Close() // the client would mistake the next reply for the rest of this one
	}
	return err
}

// gatheringListener accepts gathering connections.
type gatheringListener struct{ net.Listener }

// Accept implements net.Listener.
func (l gatheringListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gathering{Conn: conn}, nil
}
