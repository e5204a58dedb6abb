package handshakefaults

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

const (
	// patience is how long a backend may take before the next one is asked: two fit into kube-scheduler's 200 ms.
	patience = 90 * time.Millisecond
	// banned is how long one that did not answer is not asked, as one that failed its readiness probe.
	banned = 5 * time.Second
)

// service is to kube-scheduler what a Service is: one address, and behind it replicas in turn, without those that do not
// answer.
type service struct {
	client http.Client

	mu       sync.Mutex
	backends []string
	next     int
	badUntil map[string]time.Time
}

// serve stands where kube-scheduler asks until the case ends.
func (f *fixture) serve(backends ...string) *service {
	f.T.Helper()
	ctx := context.WithoutCancel(f.T.Context())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", stage.Listen())
	if err != nil {
		f.T.Fatal(err)
	}
	s := &service{backends: backends, badUntil: map[string]time.Time{}}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // it ends with ErrServerClosed
	f.T.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		s.client.CloseIdleConnections()
	})
	return s
}

// Set changes which replicas there are.
func (s *service) Set(backends ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backends = backends
}

// ServeHTTP hands a request to the next replica that answers.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	err = errors.New("nobody is there")
	for _, backend := range s.turn() {
		var code int
		var answer []byte
		if code, answer, err = s.ask(r, backend, body); err == nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write(answer) // an error means that kube-scheduler has given up
			return
		}
	}
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// turn lists the replicas, the next one first, without the banned.
func (s *service) turn() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	var turn []string
	for i := range s.backends {
		backend := s.backends[(s.next+i)%len(s.backends)]
		if time.Now().After(s.badUntil[backend]) {
			turn = append(turn, backend)
		}
	}
	return turn
}

func (s *service) ask(r *http.Request, backend string, body []byte) (code int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, "http://"+backend+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err == nil {
		defer response.Body.Close()
		answer, err = io.ReadAll(response.Body)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.badUntil[backend] = time.Now().Add(banned)
		return 0, nil, err
	}
	return response.StatusCode, answer, nil
}
