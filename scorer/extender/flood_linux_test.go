package extender

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
	"github.com/evenkeel/evenkeel/scorer/extender/conns"
)

// flood keeps connections open that send this request, from this many addresses
// of Linux' loopback net, until the test ends. It returns once all have been
// opened.
func flood(t *testing.T, server string, addresses, each int, request []byte) (opened *atomic.Int64) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var attackers sync.WaitGroup
	t.Cleanup(func() { stop(); attackers.Wait() })
	opened = &atomic.Int64{}
	for i := range addresses * each {
		n := 2 + i%addresses
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(n>>8), byte(n))}}
		attackers.Go(func() {
			for ctx.Err() == nil {
				attack(ctx, &dialer, server, request, opened)
				select { // the machine is to be left some time for others than strangers
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	for opened.Load() < int64(addresses*each) {
		<-time.After(time.Millisecond)
	}
	return opened
}

// attack sends a request as far as it is taken, and waits until the server has
// enough of it.
func attack(ctx context.Context, dialer *net.Dialer, server string, request []byte, opened *atomic.Int64) {
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return
	}
	unblock := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer unblock()
	defer func() { _ = conn.Close() }()
	opened.Add(1)
	_, _ = conn.Write(request)
	_, _ = io.Copy(io.Discard, conn)
}

// unfinished is a request whose body lacks its last byte.
func unfinished(size int) []byte {
	head := fmt.Sprintf("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", size)
	return append([]byte(head), bytes.Repeat([]byte{' '}, size-2)...)
}

// steered makes sure that a well-behaved client is answered by the Answerer, as
// often as given.
func steered(t *testing.T, server string, times int, padding string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var slowest time.Duration
	defer func() { t.Logf("answered %d requests, the slowest in %v", times, slowest) }()
	for i := range times {
		started := time.Now()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+server+"/filter", strings.NewReader(`{"Pod":{},"NodeNames":["a","b"]`+padding+`}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		slowest = max(slowest, time.Since(started))
		want := `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"` + RejectHot.Message() + `"}}` + "\n"
		if string(body) != want || err != nil {
			t.Fatalf("request %d: status %d with %q (%v), want %q", i, response.StatusCode, body, err, want)
		}
	}
}

// Slow requests of others, as many as are answered at a time and more, from one
// address and from many, leave every request of kube-scheduler answered.
func TestSlowRequestsSilenceNobody(t *testing.T) {
	for name, tc := range map[string]struct{ addresses, each int }{
		"of one client":   {1, 64},
		"of many clients": {50, 4},
	} {
		t.Run(name, func(t *testing.T) {
			address := runServer(t, Config{Answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a")})
			flood(t, address, tc.addresses, tc.each, unfinished(1000))
			steered(t, address, 100, "")
		})
	}
}

// Connections that others only open, as many as there may be and from as many
// addresses, keep no new client out and end none that is answered.
func TestOpenConnectionsShutNobodyOut(t *testing.T) {
	address := runServer(t, Config{Answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a")})
	flood(t, address, 512, 1, []byte("POST /filter"))
	for range 3 {
		steered(t, address, 50, "")
	}
}

// The same holds before a client can show its certificate.
func TestOpenConnectionsShutNoCertificateOut(t *testing.T) {
	pki := newPKI(t)
	address := runServer(t, Config{
		Answerer: newFakeAnswerer("a", "b"), TLS: certs.Files{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
	})
	flood(t, address, 512, 1, nil)
	for range 3 {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pki.roots, Certificates: []tls.Certificate{pki.pair}}}
		client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
		for range 20 {
			ask(t, client, "https://"+address+"/filter", []byte(`{"Pod":{},"NodeNames":["a","b"]}`))
		}
		client.CloseIdleConnections()
	}
}

// Large bodies of others, 2 GB in all, take no more than the budget, and leave
// every request of kube-scheduler answered, large ones too.
func TestLargeBodiesAreBounded(t *testing.T) {
	const most = 512 << 20 // of heap, with what is not collected yet, and this test's own
	listener := listen(t)
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a"), Listener: listener})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	peak := newPeak(s.verbs.limits)
	flood(t, listener.Addr().String(), 8, 8, unfinished(31<<20))
	for range 5 {
		steered(t, listener.Addr().String(), 5, "")
		steered(t, listener.Addr().String(), 1, `,"x":"`+strings.Repeat("y", 3<<20)+`"`)
	}
	held, heap := peak.stop()
	t.Logf("bodies took %d MiB at most, the heap %d MiB", held>>20, heap>>20)
	if limit := s.verbs.limits.bytes.all; held > limit || held < limit/4 {
		t.Errorf("bodies took %d bytes at most, want some and no more than %d", held, limit)
	}
	if heap > most {
		t.Errorf("the heap had %d bytes at most, want no more than %d", heap, most)
	}
}

// peak watches how much bodies and the heap take.
type peak struct {
	held   int64
	heap   uint64
	ending chan struct{}
	ended  chan struct{}
}

func newPeak(l *limits) *peak {
	p := &peak{ending: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		for {
			select {
			case <-p.ending:
				return
			case <-time.After(5 * time.Millisecond):
			}
			l.mu.Lock()
			held, _ := l.taken(conns.ClientOf(""), (*hold).size)
			l.mu.Unlock()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			p.held, p.heap = max(p.held, held), max(p.heap, memory.HeapInuse)
		}
	}()
	return p
}

func (p *peak) stop() (held int64, heap uint64) {
	close(p.ending)
	<-p.ended
	return p.held, p.heap
}
