package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

const (
	// balanceTime bounds one request to a backend. kube-scheduler gives up much earlier.
	balanceTime = 5 * time.Second
	// schedulerPatience is the httpTimeout of the shipped configuration.
	schedulerPatience = 200 * time.Millisecond
	// balanceBytes bounds a request and a reply, which contain node names and one pod.
	balanceBytes = 8 << 20
)

// Answer is a backend's answer to kube-scheduler's /filter request for a pod.
type Answer struct {
	Backend string
	// Asked holds the nodes in the request, Kept the nodes in the reply.
	Asked, Kept []string
}

// Balancer receives kube-scheduler's requests and sends each to the next backend. This is
// stricter than a Service: the same replica never answers two consecutive requests.
type Balancer struct {
	backends []string
	client   *http.Client
	next     atomic.Uint64
	// asked counts kube-scheduler's requests, late those that were answered too late or not
	// at all.
	asked, late atomic.Int64

	mu      sync.Mutex
	answers map[string][]Answer // answers of /filter by pod UID
}

// Balance serves at Listen until the case ends. It also serves the first backend's
// reports.
func (f *Fixture) Balance(backends ...string) *Balancer {
	f.T.Helper()
	f.T.Cleanup(evenkeel.ReportBehind(Listen(), backends[0]))
	ctx := context.WithoutCancel(f.T.Context())
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", Listen())
	if err != nil {
		f.T.Fatal(err)
	}
	b := &Balancer{
		backends: backends, answers: map[string][]Answer{},
		client: &http.Client{Timeout: balanceTime, Transport: &http.Transport{MaxIdleConnsPerHost: len(backends) * 16}},
	}
	server := &http.Server{Handler: b, ReadHeaderTimeout: balanceTime}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	f.T.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
		b.client.CloseIdleConnections()
	})
	return b
}

// ServeHTTP forwards one request to the next backend.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, balanceBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	backend := b.backends[int(b.next.Add(1)%uint64(len(b.backends)))] // fits, because it is less than the number of backends
	began := time.Now()
	code, reply, err := b.forward(r, backend, request)
	if r.Method == http.MethodPost {
		b.asked.Add(1)
		if err != nil || code != http.StatusOK || time.Since(began) > schedulerPatience {
			b.late.Add(1)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if code == http.StatusOK && r.URL.Path == "/filter" {
		b.note(backend, request, reply)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(reply) // an error means that the client has disconnected
}

func (b *Balancer) forward(r *http.Request, backend string, body []byte) (code int, reply []byte, err error) {
	url := "http://" + backend + r.URL.RequestURI()
	request, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("forwarding a request to %s: %w", backend, err)
	}
	request.Header = r.Header.Clone()
	response, err := b.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("forwarding a request to %s: %w", backend, err)
	}
	defer response.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(response.Body, balanceBytes))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the reply of %s: %w", backend, err)
	}
	return response.StatusCode, reply, nil
}

// note records an answer. It ignores anything that is not a request and reply of /filter,
// because kube-scheduler itself complains about that.
func (b *Balancer) note(backend string, request, reply []byte) {
	var asked extenderv1.ExtenderArgs
	var kept extenderv1.ExtenderFilterResult
	if json.Unmarshal(request, &asked) != nil || json.Unmarshal(reply, &kept) != nil {
		return
	}
	if asked.Pod == nil || asked.NodeNames == nil || kept.NodeNames == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	uid := string(asked.Pod.UID)
	b.answers[uid] = append(b.answers[uid], Answer{Backend: backend, Asked: *asked.NodeNames, Kept: *kept.NodeNames})
}

// Late returns how many requests kube-scheduler has sent, and how many of them were
// answered too late or not at all.
func (b *Balancer) Late() (late, asked int64) { return b.late.Load(), b.asked.Load() }

// Answers returns the answers about a pod, oldest first.
func (b *Balancer) Answers(podUID string) []Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.answers[podUID])
}
