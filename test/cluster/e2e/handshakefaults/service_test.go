package handshakefaults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

const (
	// patience is how long a backend may take before the next one is asked. Two attempts fit into
	// kube-scheduler's 200 ms.
	patience = 90 * time.Millisecond
	// banned is how long a replica that did not respond is skipped, as if its readiness probe had
	// failed.
	banned = 5 * time.Second
)

// service acts like a Service for kube-scheduler: one address, behind which replicas respond in
// turn. It skips replicas that do not respond.
type service struct {
	client http.Client

	mu       sync.Mutex
	backends []string
	next     int
	badUntil map[string]time.Time
	told     []string
}

// serve listens at the address that kube-scheduler asks until the case ends.
func (f *fixture) serve() *service {
	f.T.Helper()
	ctx := context.WithoutCancel(f.T.Context())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", stage.Listen())
	if err != nil {
		f.T.Fatal(err)
	}
	s := &service{badUntil: map[string]time.Time{}}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // always returns ErrServerClosed
	f.T.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		s.client.CloseIdleConnections()
		if f.T.Failed() {
			f.T.Logf("what the service saw:\n%s", strings.Join(s.told, "\n"))
		}
	})
	return s
}

func (s *service) Add(backend string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backends = append(s.backends, backend)
}

// Only removes all replicas but one.
func (s *service) Only(backend string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backends = []string{backend}
}

// ServeHTTP forwards a request to the next replica that responds.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	err = errors.New("there are no replicas")
	for _, backend := range s.turn() {
		var code int
		var answer []byte
		if code, answer, err = s.ask(r, backend, body); err == nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write(answer) // on an error, kube-scheduler has given up
			return
		}
	}
	s.tell("%s: nobody answers: %v", r.URL.Path, err)
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// turn returns the replicas, the next one first and the banned ones last.
func (s *service) turn() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	var turn, last []string
	for i := range s.backends {
		backend := s.backends[(s.next+i)%len(s.backends)]
		if time.Now().After(s.badUntil[backend]) {
			turn = append(turn, backend)
		} else {
			last = append(last, backend)
		}
	}
	return append(turn, last...)
}

// tell adds to the messages that are printed if the case fails.
func (s *service) tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
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
	s.tell("%s: %s says %.200s %v", r.URL.Path, backend, answer, err)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.badUntil[backend] = time.Now().Add(banned)
		return 0, nil, err
	}
	return response.StatusCode, answer, nil
}
