package extender

import (
	"context"
	"net"
	"net/http"
)

// gatherUpTo is the longest reply, in bytes without its header, that is sent in
// one piece. A longer one fills the socket's buffer, so its reader should start
// early.
const gatherUpTo = 32 << 10

// gathering is a connection that sends a reply in one piece. net/http sends the
// first 4 KiB separately, which wakes the waiting client twice and takes longer
// than evaluating 500 nodes.
type gathering struct {
	net.Conn
	// on is set while one goroutine writes a reply; held is what it has written
	// so far.
	on   bool
	held []byte
}

// Write keeps a reply until it is complete.
func (c *gathering) Write(p []byte) (int, error) {
	if !c.on {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

// reply writes a response and sends it.
func (c *gathering) reply(w http.ResponseWriter, body []byte) error {
	c.on = true
	_, err := w.Write(body)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	c.on = false
	if err == nil {
		_, err = c.Conn.Write(c.held)
	}
	if err != nil {
		_ = c.Conn.Close() // the client would take the next reply for the rest of this one
	}
	c.held = c.held[:0]
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

// connKey is the context key of a request's gathering connection.
type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*gathering); ok {
		return context.WithValue(ctx, connKey{}, c)
	}
	return ctx
}

// send writes a response, in one piece if it is short and the connection
// gathers.
func send(w http.ResponseWriter, r *http.Request, body []byte) error {
	if c, ok := r.Context().Value(connKey{}).(*gathering); ok && len(body) <= gatherUpTo {
		return c.reply(w, body)
	}
	_, err := w.Write(body)
	return err
}
