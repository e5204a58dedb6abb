package extender

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// flood keeps connections open that send this request, from the given number of addresses of
// Linux's loopback network, until the test ends. It returns once all of them have been opened.
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
				select { // leave the machine some time for other work
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

// attack sends a request as far as the server accepts it, and waits until the
// server ends the connection.
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

// unfinished returns a request whose body lacks its last byte.
func unfinished(size int) []byte {
	head := fmt.Sprintf("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", size)
	return append([]byte(head), bytes.Repeat([]byte{' '}, size-2)...)
}

// steered verifies that the Answerer answers a well-behaved client the given number of times.
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

// Slow requests from others do not keep kube-scheduler from getting its answers. There are more of
// them than the server handles at a time, from one address or many.
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

// Connections that others open without sending requests, however many and from however many
// addresses, neither keep new clients out nor end a connection that is being answered.
func TestOpenConnectionsShutNobodyOut(t *testing.T) {
	address := runServer(t, Config{Answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a")})
	flood(t, address, 512, 1, []byte("POST /filter"))
	for range 3 {
		steered(t, address, 50, "")
	}
}

// This also holds for connections that do not get as far as a certificate.
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
