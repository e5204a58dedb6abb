package fanout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// transport answers in the process itself, so that the clock of a synctest bubble can advance.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func answer(r *http.Request, text string) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func hang(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func newFanout(t *testing.T, config Config, respond transport) *Fanout {
	t.Helper()
	if config.Client == nil {
		config.Client = &http.Client{Transport: respond}
	}
	if config.Concurrency == 0 {
		config.Concurrency = 25
	}
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Second
	}
	if config.RoundTimeout == 0 {
		config.RoundTimeout = 3 * config.Timeout
	}
	if config.MaxResponseBytes == 0 {
		config.MaxResponseBytes = 16 << 20
	}
	f, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// requestsOf makes requests to nodes named like their hosts.
func requestsOf(nodes ...string) []Request {
	requests := make([]Request, len(nodes))
	for i, node := range nodes {
		requests[i] = Request{Node: node, URL: "http://" + node + "/usage"}
	}
	return requests
}

func numbered(count int, prefix string) []string {
	nodes := make([]string, count)
	for i := range nodes {
		nodes[i] = prefix + strconv.Itoa(i)
	}
	return nodes
}

// ignore reads an answer and discards it.
func ignore(_ int, _ bool, body io.Reader) error {
	_, err := io.Copy(io.Discard, body)
	return err
}

// Answers are delivered in the order of the requests, and no more requests run at a time than
// allowed.
func TestAskKeepsOrderAndConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		f := newFanout(t, Config{Concurrency: 4}, func(r *http.Request) (*http.Response, error) {
			defer now.Add(-1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			if r.Header.Get("Accept") != "" {
				return nil, errors.New("an unexpected header")
			}
			time.Sleep(time.Millisecond)
			return answer(r, r.URL.Host)
		})
		nodes := numbered(40, "n")
		got := make([]string, len(nodes))
		errs := f.Ask(t.Context(), requestsOf(nodes...), func(i int, _ bool, body io.Reader) error {
			text, err := io.ReadAll(body)
			got[i] = string(text)
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(nodes, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if most.Load() != 4 {
			t.Errorf("%d at a time, want 4", most.Load())
		}
	})
}

// A node that hangs uses up its own timeout and delays no other node.
func TestAskWithOneSlowNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		f := newFanout(t, Config{Concurrency: 2, Timeout: 5 * time.Second}, func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "n0" {
				return hang(r)
			}
			last = time.Now()
			return answer(r, "")
		})
		started := time.Now()
		errs := f.Ask(t.Context(), requestsOf(numbered(20, "n")...), ignore)
		if took := time.Since(started); took != 5*time.Second {
			t.Errorf("the round took %v, want the slow node's timeout", took)
		}
		if held := last.Sub(started); held != 0 {
			t.Errorf("the others were held up for %v", held)
		}
		if !errors.Is(errs[0], context.DeadlineExceeded) || Cause(errs[0]) != usage.Unreachable || errors.Join(errs[1:]...) != nil {
			t.Errorf("errors %v, want the slow node's deadline", errs)
		}
	})
}

// A round ends in time however many nodes hang. The next round starts with the nodes that answered
// or were not asked. Those that hung get their turn as well, so that a recovered node is noticed.
func TestAskWithManyDeadNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		alive := func(host string) bool { return strings.HasPrefix(host, "live") }
		f := newFanout(t, Config{Concurrency: 2, Timeout: time.Second, RoundTimeout: 3 * time.Second}, func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			up := alive(r.URL.Host)
			mu.Unlock()
			if !up {
				return hang(r)
			}
			return answer(r, "")
		})
		requests := requestsOf(append(numbered(10, "dead"), numbered(3, "live")...)...)
		round := func() (read int) {
			started := time.Now()
			errs := f.Ask(t.Context(), requests, ignore)
			if took := time.Since(started); took > 3*time.Second {
				t.Errorf("the round took %v", took)
			}
			for i, err := range errs {
				if err == nil {
					read++
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", requests[i].Node, err)
				}
			}
			return read
		}
		if got := round(); got != 0 {
			t.Errorf("%d answers in the first round, want the dead to fill it", got)
		}
		for range 4 {
			if got := round(); got != 3 {
				t.Errorf("%d answers after the first round, want 3 of the living", got)
			}
		}
		mu.Lock()
		alive = func(host string) bool { return strings.HasPrefix(host, "live") || host == "dead9" }
		mu.Unlock()
		if got := max(round(), round(), round()); got != 4 {
			t.Errorf("%d answers after one recovered among the dead, want 4", got)
		}
		mu.Lock()
		alive = func(host string) bool { return host != "dead0" }
		mu.Unlock()
		best := 0
		for range 3 {
			best = max(best, round())
		}
		if best != 12 {
			t.Errorf("%d answers after all but one recovered, want 12", best)
		}
	})
}

// Only the nodes of the last round are remembered.
func TestAskForgetsNodes(t *testing.T) {
	f := newFanout(t, Config{}, func(r *http.Request) (*http.Response, error) { return answer(r, "") })
	f.Ask(t.Context(), requestsOf(numbered(100, "n")...), ignore)
	f.Ask(t.Context(), requestsOf("n1"), ignore)
	if len(f.marks) != 1 {
		t.Errorf("%d nodes are remembered, want 1", len(f.marks))
	}
	if errs := f.Ask(t.Context(), nil, ignore); len(errs) != 0 {
		t.Errorf("errors %v without a request", errs)
	}
}

// The fallback is asked only if the first URL is refused.
func TestAskFallsBack(t *testing.T) {
	cases := map[string]struct {
		first, second int
		want          []string
		err           string
	}{
		"served":          {first: 200, want: []string{"/first"}},
		"not found":       {first: 404, second: 200, want: []string{"/first", "/second"}},
		"forbidden":       {first: 403, second: 200, want: []string{"/first", "/second"}},
		"not recognised":  {first: 401, want: []string{"/first"}, err: "401 Unauthorized: no"},
		"broken":          {first: 500, want: []string{"/first"}, err: "500 Internal Server Error: no"},
		"neither is":      {first: 404, second: 403, want: []string{"/first", "/second"}, err: "404 Not Found: no; fallback: 403 Forbidden: no"},
		"no such content": {first: 204, want: []string{"/first"}, err: "204 No Content"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				code := tc.first
				if r.URL.Path == "/second" {
					code = tc.second
				}
				w.WriteHeader(code)
				_, _ = io.WriteString(w, "no\n\x1b")
			}))
			defer server.Close()
			f := newFanout(t, Config{Client: server.Client()}, nil)
			var fellBack bool
			errs := f.Ask(t.Context(), []Request{{Node: "n1", URL: server.URL + "/first", Fallback: server.URL + "/second"}},
				func(_ int, fallback bool, body io.Reader) error {
					fellBack = fallback
					return ignore(0, fallback, body)
				})
			if diff := cmp.Diff(tc.want, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if err := errs[0]; (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if want := tc.second == 200; fellBack != want {
				t.Errorf("fell back: %v, want %v", fellBack, want)
			}
		})
	}
}

// An error is counted once per node under its cause. The tally is an error only if all nodes
// failed.
func TestTally(t *testing.T) {
	refused, unreadable := errors.New("connection refused"), &ReadError{Err: errors.New("no JSON")}
	requests := requestsOf("n1", "n2")
	cases := map[string]struct {
		errs []error
		want usage.Problems
		err  string
	}{
		"all well": {errs: []error{nil, nil}},
		"one is down": {
			errs: []error{nil, refused}, want: usage.Problems{usage.Unreachable: {Count: 1, Examples: []string{`node "n2": connection refused`}}},
		},
		"all are wrong": {
			errs: []error{fmt.Errorf("twice: %w", unreadable), refused},
			want: usage.Problems{
				usage.Unreadable:  {Count: 1, Examples: []string{`node "n1": twice: no JSON`}},
				usage.Unreachable: {Count: 1, Examples: []string{`node "n2": connection refused`}},
			},
			err: `asking 2 nodes: none gave usage; node "n1": twice: no JSON`,
		},
		"there are none": {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got usage.Problems
			err := Tally(requests, tc.errs, &got)
			if (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// URL returns the URL at which a node serves an endpoint. The kubelet source's tests cover the
// other cases.
func TestURL(t *testing.T) {
	node := &cluster.Node{InternalIP: "10.0.0.1"}
	got, err := Endpoint{Scheme: "http", Port: 19101, Path: "/statistics?a=b"}.URL(node)
	if err != nil || got != "http://10.0.0.1:19101/statistics?a=b" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := (Endpoint{Scheme: "http", Path: "/"}).URL(node); err == nil {
		t.Error("port 0 is asked")
	}
}
