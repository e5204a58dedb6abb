package extender

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// maxConnectionAge bounds how long a connection is used, so that a client must
// prove its identity again and balancers can redistribute connections. A client
// that learns from a reply that the connection will be closed loses no request.
const maxConnectionAge = 5 * time.Minute

// connection is what is known about a request's connection.
type connection struct {
	*gathering
	opened time.Time
	// by is the server's Identity for this connection; nil without TLS.
	by *certs.Identity
}

// connectionKey is the context key of a connection.
type connectionKey struct{}

// withConnection adds a connection to the context of its requests. The handshake comes
// later, so it may use a newer Identity. certificates is nil without TLS.
func withConnection(ctx context.Context, conn net.Conn, certificates *certs.Keeper) context.Context {
	c := &connection{opened: time.Now()}
	if secured, ok := conn.(*tls.Conn); ok {
		conn, c.by = secured.NetConn(), certificates.Current()
	}
	var gathers bool
	if c.gathering, gathers = conn.(*gathering); !gathers {
		return ctx
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns a request's connection, or nil if the server has none.
func connectionOf(r *http.Request) *connection {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return c
}

// ageing closes connections after a reply if they are old or were opened with
// certificates that have changed since. certificates is nil without TLS.
func ageing(next http.Handler, certificates *certs.Keeper) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := connectionOf(r); c != nil && (time.Since(c.opened) > maxConnectionAge || c.by != nil && c.by != certificates.Current()) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// send writes a response, in one piece if it is short and the connection
// supports gathering.
func send(w http.ResponseWriter, r *http.Request, body []byte) error {
	if c := connectionOf(r); c != nil && len(body) <= gatherUpTo {
		return c.reply(w, body)
	}
	_, err := w.Write(body)
	return err
}
