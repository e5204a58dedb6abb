package fanout

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
)

const limit = 1000

// patience is the timeout for answers that arrive, and hurry for those that do not.
const patience, hurry = 30 * time.Second, 500 * time.Millisecond

// ask sends one request to a server that answers with a handler.
func ask(t *testing.T, timeout time.Duration, handler http.HandlerFunc) (text string, err error) {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	f := newFanout(t, Config{Client: server.Client(), Timeout: timeout, MaxResponseBytes: limit}, nil)
	errs := f.Ask(t.Context(), []Request{{Node: "n1", URL: server.URL}}, func(_ int, _ bool, body io.Reader) error {
		all, err := io.ReadAll(body)
		text = string(all)
		return err
	})
	return text, errs[0]
}

// Each of these faults of a server is counted under its cause.
func TestAskOfBadServers(t *testing.T) {
	cases := map[string]struct {
		handler http.HandlerFunc
		cause   usage.Cause
		want    string
	}{
		"one byte too many": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", limit+1)) },
			usage.Unreadable, "longer than 1000 bytes",
		},
		"a small answer that unpacks to a large one": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				zip := gzip.NewWriter(w)
				_, _ = io.WriteString(zip, strings.Repeat("x", 1<<20))
				_ = zip.Close()
			}, usage.Unreadable, "longer than 1000 bytes",
		},
		"an answer that stops, and ends when it is hung up on": {
			func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "half")
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}, usage.Unreachable, "no answer within 500ms",
		},
		"fewer bytes than promised": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "10")
				_, _ = io.WriteString(w, "half")
			}, usage.Unreachable, "cut off: unexpected EOF",
		},
		"a redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
			},
			usage.Unreachable, "301 Moved Permanently",
		},
		"an error without end": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				for {
					if _, err := io.WriteString(w, strings.Repeat("e", 1<<16)); err != nil {
						return
					}
				}
			}, usage.Unreachable, "500 Internal Server Error: eee",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := patience
			if strings.Contains(tc.want, hurry.String()) {
				timeout = hurry
			}
			_, err := ask(t, timeout, tc.handler)
			if err == nil || !strings.Contains(err.Error(), tc.want) || Cause(err) != tc.cause {
				t.Errorf("error %v of cause %s, want %q of %s", err, Cause(err), tc.want, tc.cause)
			}
			if err != nil && len(err.Error()) > 2*saidBytes {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestAskReadsAnAnswerOfTheLimit(t *testing.T) {
	text, err := ask(t, patience, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", limit)) })
	if err != nil || len(text) != limit {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// If nothing listens at an address, the error contains the address but not the URL.
func TestAskOfNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	f := newFanout(t, Config{Client: &http.Client{}}, nil)
	errs := f.Ask(t.Context(), []Request{{Node: "n1", URL: "http://" + address + "/secret"}, {Node: "n2", URL: "http://%zz"}, {Node: "n3", Err: errNoAddress}}, ignore)
	if !strings.Contains(errs[0].Error(), "connection refused") || strings.Contains(errs[0].Error(), "secret") {
		t.Errorf("error %v", errs[0])
	}
	if errs[1] == nil || !errors.Is(errs[2], errNoAddress) {
		t.Errorf("errors %v", errs[1:])
	}
}

// A cancelled context ends the round at once, and no further node is asked.
func TestAskIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	f := newFanout(t, Config{Concurrency: 1}, func(r *http.Request) (*http.Response, error) {
		asked++
		cancel()
		return hang(r)
	})
	errs := f.Ask(ctx, requestsOf("n0", "n1", "n2"), ignore)
	for i, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("n%d: %v, want the cancellation", i, err)
		}
	}
	if asked != 1 {
		t.Errorf("%d were asked, want 1", asked)
	}
}
