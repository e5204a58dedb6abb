package kube

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// forwarding is an API server that forwards data for one pod, by SPDY, to an address on this
// machine.
func forwarding(t *testing.T, to string) *Connection {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/evenkeel/pods/evenkeel-1/portforward" {
			http.Error(w, "pods/portforward is forbidden", http.StatusForbidden)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			t.Error(err)
			return
		}
		streams := make(chan httpstream.Stream, 16)
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if connection == nil {
			return
		}
		defer connection.Close()
		for {
			select {
			case <-connection.CloseChan():
				return
			case s := <-streams:
				go serveStream(t, s, to)
			}
		}
	}))
	t.Cleanup(server.Close)
	c, err := Connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serveStream connects a stream as a kubelet does.
func serveStream(t *testing.T, s httpstream.Stream, to string) {
	defer s.Close()
	if s.Headers().Get(v1.StreamType) == v1.StreamTypeError { // there is no error
		return
	}
	if port := s.Headers().Get(v1.PortHeader); port != "8889" {
		t.Errorf("port %s is forwarded to, want 8889", port)
	}
	connection, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	go func() { _, _ = io.Copy(connection, s) }()
	_, _ = io.Copy(s, connection)
}

// A pod's port can be read through the API server, but not after use has returned.
func TestForward(t *testing.T) {
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "of "+r.URL.Path) }))
	t.Cleanup(pod.Close)
	c := forwarding(t, strings.TrimPrefix(pod.URL, "http://"))
	var left string
	err := c.Forward(t.Context(), "evenkeel", "evenkeel-1", 8889, func(ctx context.Context, address string) error {
		left = address
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/nodes", nil)
		if err != nil {
			return err
		}
		request.Close = true
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "of /nodes" {
			t.Errorf("answer %q, error %v", body, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if connection, err := net.DialTimeout("tcp", left, time.Second); err == nil {
		_ = connection.Close()
		t.Errorf("%s is still forwarded", left)
	}
}

// A user who is not allowed to forward gets an error that says so.
func TestForwardForbidden(t *testing.T) {
	c := forwarding(t, "127.0.0.1:1")
	err := c.Forward(t.Context(), "shop", "web-1", 8889, func(context.Context, string) error {
		t.Error("it is used")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "forwarding a port of pod shop/web-1: ") || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("error %v, want that it is forbidden", err)
	}
}

// If the pod is lost, the user of its port gets an error that says so.
func TestForwardLost(t *testing.T) {
	lose := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost { // WebSockets, which are tried first
			http.Error(w, "only SPDY", http.StatusForbidden)
			return
		}
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			t.Error(err)
			return
		}
		connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(httpstream.Stream, <-chan struct{}) error { return nil })
		if connection != nil {
			<-lose
			_ = connection.Close()
		}
	}))
	t.Cleanup(server.Close)
	c, err := Connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Forward(t.Context(), "evenkeel", "evenkeel-1", 8889, func(ctx context.Context, _ string) error {
		close(lose)
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Error("the loss is not reported")
		}
		return nil
	})
	if !errors.Is(err, portforward.ErrLostConnectionToPod) || !strings.Contains(err.Error(), "evenkeel/evenkeel-1") {
		t.Errorf("error %v", err)
	}
}
