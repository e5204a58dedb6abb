//go:build !race

// Under the race detector pools drop items at random, so counting is
// meaningless.

package extender

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAllocations verifies that a request costs the same few allocations
// whatever the number of names.
func TestAllocations(t *testing.T) {
	const most = 12 // 10, plus a garbage collection in between
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, size := range []int{100, 5000} {
			names := nodeNames(size)
			s := newTestServer(t, Config{Answerer: spreadAnswerer(names)})
			body := namesRequest(t, realisticPod(), names...)
			reader := strings.NewReader("")
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, nil)
			r.Body, r.ContentLength = io.NopCloser(reader), int64(len(body))
			w := &discardWriter{header: http.Header{}}
			text := string(body)
			allocs := testing.AllocsPerRun(20, func() {
				reader.Reset(text)
				s.ServeHTTP(w, r)
			})
			if allocs > most || w.code != 0 {
				t.Errorf("%s with %d names: %.0f allocations, want at most %d (status %d)", path, size, allocs, most, w.code)
			}
		}
	}
}
