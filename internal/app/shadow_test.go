package app

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// silent is a usage source that reports nothing.
type silent struct{}

func (silent) Name() string { return "silent" }
func (silent) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	return usage.Batch{}, nil
}

// extenderApp is as much of a process as its extender needs.
func extenderApp(t *testing.T, options Options) *App {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Name: "default"}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	watching, err := observer.New(observer.Config{
		Sources: []observer.Source{silent{}}, Lines: set, SampleInterval: time.Second, Now: time.Now,
		Usage: usage.Config{SampleInterval: time.Second, MaxAge: time.Minute, MinWindow: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &App{
		options: options, registry: prometheus.NewRegistry(), observer: watching, policies: &announce.Policies{}, kube: &kube.Connection{Clock: servertime.New(time.Now)}, begun: time.Now(),
		answerer: steering.NewAnswerer(watching, time.Now),
	}
	a.active.Store(&generation{load: &policy.LoadPolicy{}})
	return a
}

// With --observe the Shadow counts the requests and no pod counts as steered;
// without it the Answerer counts them.
func TestExtenderServer(t *testing.T) {
	type told struct {
		Asked  int64
		Shadow *struct{ Asked, Pending int64 }
	}
	cases := map[string]struct {
		observe bool
		want    told
	}{
		"answering in earnest": {want: told{Asked: 1}},
		"observing":            {observe: true, want: told{Shadow: &struct{ Asked, Pending int64 }{1, 1}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := extenderApp(t, Options{Observe: tc.observe})
			server, pages, compare, err := a.extenderServer()
			if err != nil {
				t.Fatal(err)
			}
			call := func(handler http.Handler, method, path, body string) string {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
				if w.Code != http.StatusOK {
					t.Errorf("%s %s: status %d: %s", method, path, w.Code, w.Body)
				}
				return w.Body.String()
			}
			a.observer.Store().SetPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}})
			call(server, http.MethodPost, "/filter", `{"Pod":{"metadata":{"uid":"p"}},"NodeNames":["a"]}`)
			for whom, handler := range map[string]http.Handler{"strangers": server, "users": pages.Handler(t.Context())} {
				var got told
				if err := json.Unmarshal([]byte(call(handler, http.MethodGet, "http://localhost/status?pod=p", "")), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("status for %s (-want +got):\n%s", whom, diff)
				}
			}
			if tc.observe {
				if reply := call(pages.Handler(t.Context()), http.MethodGet, "http://localhost/shadow", ""); !strings.Contains(reply, `"recent":[]`) {
					t.Errorf("placements: %s", reply)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := compare(ctx); err != nil {
				t.Errorf("stopped with %v", err)
			}
		})
	}
}
