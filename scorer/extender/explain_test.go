package extender

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Explanations have every path below theirs, whatever its last element, and no
// other. What does not exist differs from what is unavailable now.
func TestExplain(t *testing.T) {
	s := newTestServer(t, Config{
		Answerer: newFakeAnswerer("a"),
		Explain: Report(func(r *http.Request) (any, error) {
			switch r.URL.Path {
			case "/explain/node/filter":
				return "filter", nil
			case "/explain/node/busy":
				return nil, errors.New("ask again")
			}
			return nil, fmt.Errorf("%w: %.20q", ErrNotFound, r.URL.Path)
		}),
	})
	for _, tc := range []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, "/explain/node/filter", http.StatusOK},
		{http.MethodPost, "/explain/node/filter", http.StatusMethodNotAllowed},
		{http.MethodGet, "/explain/node/busy", http.StatusServiceUnavailable},
		{http.MethodGet, "/explain/node/b", http.StatusNotFound},
		{http.MethodGet, "/explain/%00%ff/../x", http.StatusNotFound},
		{http.MethodGet, "/explain", http.StatusNotFound},
		{http.MethodGet, "/prefix/explain/node/filter", http.StatusMethodNotAllowed}, // a verb below kube-scheduler's urlPrefix
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, "http://host"+tc.path, http.NoBody))
		if w.Code != tc.code {
			t.Errorf("%s %s: status %d with %q, want %d", tc.method, tc.path, w.Code, w.Body, tc.code)
		}
	}
	none := newTestServer(t, Config{Answerer: newFakeAnswerer("a")})
	w := httptest.NewRecorder()
	none.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/explain/node/a", http.NoBody))
	if w.Code != http.StatusNotFound {
		t.Errorf("nothing is explained here: status %d, want 404", w.Code)
	}
}
