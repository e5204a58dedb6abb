package extender

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/scorer/extender/conns"
)

// Listen serves on an address until the context ends, and then lets requests finish. It
// serves HTTPS if secured is given, otherwise HTTP. If the address is empty or "0", it
// serves nothing. what describes the pages in errors.
func Listen(ctx context.Context, address, what string, handler http.Handler, secured ...*tls.Config) error {
	if address == "" || address == "0" {
		<-ctx.Done()
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serving %s: %w", what, err)
	}
	listener = conns.Bounded(listener)
	if len(secured) > 0 {
		listener = tls.NewListener(listener, secured[0])
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16, ConnState: conns.Used,
		ErrorLog: ErrorLog(klog.FromContext(ctx)),
	}
	if err := Serve(ctx, server, listener, 5*time.Second); err != nil {
		return fmt.Errorf("serving %s: %w", listener.Addr(), err)
	}
	return nil
}
