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
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/status/live"
)

// answeringOffline is a process that answers kube-scheduler over a fake API server.
func answeringOffline(t *testing.T, change func(*flags.Options)) (*process, *answering) {
	t.Helper()
	p, err := newProcess(t.Context(), offline(t, fake.NewClientset(), byUsage, change))
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAnswering(p, answer.NewAnswerer(p.observer, time.Now), live.New(p.observer, nil, p.pause, p.current().terms()))
	if err != nil {
		t.Fatal(err)
	}
	return p, a
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
			p, a := answeringOffline(t, func(o *flags.Options) { o.Observe = tc.observe })
			call := func(handler http.Handler, method, path, body string) string {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
				if w.Code != http.StatusOK {
					t.Errorf("%s %s: status %d: %s", method, path, w.Code, w.Body)
				}
				return w.Body.String()
			}
			p.observer.Store().SetPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}})
			call(a.server, http.MethodPost, "/filter", `{"Pod":{"metadata":{"uid":"p"}},"NodeNames":["a"]}`)
			for whom, handler := range map[string]http.Handler{"strangers": a.server, "users": a.pages.Handler(t.Context())} {
				var got told
				if err := json.Unmarshal([]byte(call(handler, http.MethodGet, "http://localhost/status?pod=p", "")), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("status for %s (-want +got):\n%s", whom, diff)
				}
			}
			if tc.observe {
				if reply := call(a.pages.Handler(t.Context()), http.MethodGet, "http://localhost/shadow", ""); !strings.Contains(reply, `"recent":[]`) {
					t.Errorf("placements: %s", reply)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := a.compare(ctx); err != nil {
				t.Errorf("stopped with %v", err)
			}
		})
	}
}
