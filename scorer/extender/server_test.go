package extender

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

func TestConfig(t *testing.T) {
	answerer := newFakeAnswerer()
	for name, tc := range map[string]struct {
		config Config
		want   string
	}{
		"all defaults":                     {Config{Answerer: answerer}, ""},
		"no answerer":                      {Config{}, "Answerer is missing"},
		"a negative limit":                 {Config{Answerer: answerer, MaxBodyBytes: -1}, "MaxBodyBytes"},
		"a limit beyond 32 bits":           {Config{Answerer: answerer, MaxBodyBytes: 1 << 32}, "MaxBodyBytes"},
		"negative concurrency":             {Config{Answerer: answerer, MaxConcurrent: -1}, "MaxConcurrent"},
		"a negative budget":                {Config{Answerer: answerer, Budget: -1}, "negative duration"},
		"a certificate without its key":    {Config{Answerer: answerer, TLS: certs.Files{CertFile: "x"}}, "both"},
		"a client CA without certificate":  {Config{Answerer: answerer, TLS: certs.Files{ClientCAFile: "x"}}, "client CA"},
		"a missing certificate":            {Config{Answerer: answerer, TLS: certs.Files{CertFile: "x", KeyFile: "y"}}, "reading the certificate files"},
		"a listener needs no free address": {Config{Answerer: answerer, Address: "nowhere"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewServer(tc.config)
			if got := errText(err); !strings.Contains(got, tc.want) || (tc.want == "") != (err == nil) {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestRun verifies a server's life cycle: it serves, stops when its context
// ends, and waits for the request in progress.
func TestRun(t *testing.T) {
	judging, release := make(chan struct{}), make(chan struct{})
	answerer := newFakeAnswerer("a")
	answerer.before = func(*Pod) { close(judging); <-release }
	listener := listen(t)
	s := newTestServer(t, Config{Answerer: answerer, Listener: listener})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	replied := make(chan string, 1)
	go func() {
		resp, err := http.Post("http://"+listener.Addr().String()+"/filter", "application/json", strings.NewReader(`{"Pod":{},"NodeNames":["a"]}`))
		if err != nil {
			replied <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		replied <- string(body)
	}()
	<-judging
	stop()
	close(release)
	if got, want := <-replied, `{"NodeNames":["a"]}`+"\n"; got != want {
		t.Errorf("reply %q, want %q", got, want)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRunAddressTaken(t *testing.T) {
	listener := listen(t)
	s := newTestServer(t, Config{Answerer: newFakeAnswerer(), Address: listener.Addr().String()})
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "listening for kube-scheduler") {
		t.Errorf("error %v", err)
	}
}

// TestBusy verifies what happens to requests that arrive while others occupy all slots: at first
// they get neutral answers at once, later refusals.
func TestBusy(t *testing.T) {
	judging, release := make(chan struct{}), make(chan struct{})
	answerer := newFakeAnswerer("a", "b").reject(RejectHot, "a").score(9, "b")
	answerer.before = func(*Pod) { judging <- struct{}{}; <-release }
	s := newTestServer(t, Config{Answerer: answerer, MaxConcurrent: 1})
	body := []byte(`{"Pod":{},"NodeNames":["a","b"]}`)
	first := make(chan string, 1)
	go func() {
		_, reply := post(t, s, "/filter", body)
		first <- reply
	}()
	<-judging
	if _, got := post(t, s, "/filter", body); got != `{"NodeNames":["a","b"]}`+"\n" {
		t.Errorf("filter reply %q, want all names", got)
	}
	if _, got := post(t, s, "/prioritize", body); got != "[]\n" {
		t.Errorf("prioritize reply %q, want no scores", got)
	}

	// Requests whose bodies never end use up the share of one client.
	bodies := make([]*io.PipeWriter, 0, refuseFactor)
	done := make(chan struct{})
	for range refuseFactor/clientsShare - 1 {
		reader, writer := io.Pipe()
		bodies = append(bodies, writer)
		go func() {
			r := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, "/filter", reader)
			s.ServeHTTP(httptest.NewRecorder(), r)
			done <- struct{}{}
		}()
		_, _ = writer.Write([]byte("{")) // returns once the body is being read
	}
	if code, reply := post(t, s, "/filter", body); code != http.StatusServiceUnavailable {
		t.Errorf("status %d with %q, want 503", code, reply)
	}
	for _, w := range bodies {
		_ = w.CloseWithError(errors.New("gone"))
		<-done
	}
	close(release)
	if got, want := <-first, `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"`+RejectHot.Message()+`"}}`+"\n"; got != want {
		t.Errorf("first reply %q, want %q", got, want)
	}
}

// TestPanic verifies that a panic of the Answerer ends only one request.
func TestPanic(t *testing.T) {
	answerer := newFakeAnswerer("a")
	answerer.before = func(*Pod) { panic("boom") }
	s := newTestServer(t, Config{Answerer: answerer, MaxConcurrent: 1})
	body := []byte(`{"Pod":{},"NodeNames":["a"]}`)
	for _, path := range []string{"/filter", "/prioritize", "/filter"} {
		if code, reply := post(t, s, path, body); code != http.StatusInternalServerError || reply != "the scorer panicked: boom\n" {
			t.Errorf("%s: status %d with %q, want 500", path, code, reply)
		}
	}
	answerer.before = nil
	if code, reply := post(t, s, "/filter", body); code != http.StatusOK {
		t.Errorf("status %d with %q, want 200", code, reply)
	}
}

// TestClientGone verifies that nothing is booked for a client that has disconnected.
func TestClientGone(t *testing.T) {
	answerer := newFakeAnswerer("a")
	answerer.before = func(*Pod) { t.Error("the answerer was asked") }
	s := newTestServer(t, Config{Answerer: answerer})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/filter", strings.NewReader(`{"Pod":{},"NodeNames":["a"]}`))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", w.Code)
	}
}

// TestStatus verifies that a server serves only one report, and refers clients to the address of
// the others.
func TestStatus(t *testing.T) {
	status := Report(func(r *http.Request) (any, error) {
		switch r.URL.RawQuery {
		case "early":
			return nil, errors.New("not yet")
		case "none":
			return nil, fmt.Errorf("%w: x", ErrNotFound)
		}
		return map[string]int{"a": 1}, nil
	})
	s := newTestServer(t, Config{Answerer: newFakeAnswerer(), Status: status})
	const elsewhere = " are not served here, but at --report-address of the same process\n"
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/status":            {http.StatusOK, `{"a":1}` + "\n"},
		"/status?early":      {http.StatusServiceUnavailable, "not yet\n"},
		"/status?none":       {http.StatusNotFound, "not found: x\n"},
		"/nodes":             {http.StatusNotFound, "reports such as /nodes" + elsewhere},
		"/explain/node/a":    {http.StatusNotFound, "reports such as /explain" + elsewhere},
		"/explain/%00%ff/..": {http.StatusNotFound, "reports such as /explain" + elsewhere},
		"/debug/pprof/":      {http.StatusNotFound, "no such path: \"/debug/pprof/\"\n"},
		"/metrics":           {http.StatusNotFound, "no such path: \"/metrics\"\n"},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want.code || w.Body.String() != want.body {
			t.Errorf("%s: status %d with %q, want %+v", path, w.Code, w.Body, want)
		}
	}
	if code, _ := post(t, s, "/status", nil); code != http.StatusMethodNotAllowed {
		t.Errorf("POST /status: status %d, want 405", code)
	}
}

// runServer runs a server until the test ends and returns its address.
func runServer(t *testing.T, config Config) string {
	t.Helper()
	config.Listener = listen(t)
	s := newTestServer(t, config)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return config.Listener.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
