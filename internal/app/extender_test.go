package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/status/live"
)

// The Answerer counts kube-scheduler's requests. With --observe, it counts none, so that no
// evicting process takes them as evidence of steering.
func TestExtenderServer(t *testing.T) {
	for observe, want := range map[bool]int64{false: 1, true: 0} {
		p, err := newProcess(t.Context(), offline(t, fake.NewClientset(), byUsage, func(o *flags.Options) { o.Observe = observe }))
		if err != nil {
			t.Fatal(err)
		}
		a, err := newAnswering(p, answer.NewAnswerer(p.observer, time.Now), live.New(p.observer, nil, p.pause, p.current().terms()))
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
		p.observer.Store().SetPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}})
		if reply := call(a.server, http.MethodPost, "/filter", `{"Pod":{"metadata":{"uid":"p"}},"NodeNames":["a"]}`); !strings.Contains(reply, `"a"`) {
			t.Errorf("--observe=%v: the node is not kept: %s", observe, reply)
		}
		for whom, handler := range map[string]http.Handler{"strangers": a.server, "users": a.pages.Handler(t.Context())} {
			var got struct{ Asked int64 }
			if err := json.Unmarshal([]byte(call(handler, http.MethodGet, "http://localhost/status?pod=p", "")), &got); err != nil {
				t.Fatal(err)
			}
			if got.Asked != want {
				t.Errorf("--observe=%v: %s see %d requests, want %d", observe, whom, got.Asked, want)
			}
		}
	}
}
