package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Probes depend on how long ago the last progress was. Readiness depends on whether watches have
// delivered their lists, not on usage.
func TestProbes(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	h := NewHealth(func() time.Time { return now })
	ask := func(handler http.HandlerFunc) int {
		recorder := httptest.NewRecorder()
		handler(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return recorder.Code
	}
	if got := ask(h.readyz); got != http.StatusServiceUnavailable {
		t.Errorf("readyz before the watches delivered = %d", got)
	}
	h.Ready()
	if got := ask(h.readyz); got != http.StatusOK {
		t.Errorf("readyz after the watches delivered = %d", got)
	}
	for range 3 { // a long, paced cycle with progress every four minutes
		now = now.Add(4 * time.Minute)
		if got := ask(h.Livez); got != http.StatusOK {
			t.Errorf("livez with progress 4 minutes ago = %d", got)
		}
		h.Progress()
	}
	now = now.Add(stuckAfter + time.Second)
	if got := ask(h.Livez); got != http.StatusServiceUnavailable {
		t.Errorf("livez without progress for %v = %d", stuckAfter+time.Second, got)
	}
}
