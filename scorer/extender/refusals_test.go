package extender

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// At the shipped verbosity, strangers cannot fill the log, neither with broken handshakes nor with
// refused requests, however long their paths are.
func TestStrangersFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := refusals.First
		refusals = rate.Sometimes{First: before, Interval: refusals.Interval}
		var out bytes.Buffer
		logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(2)))
		s := newTestServer(t, Config{Answerer: newFakeAnswerer("a")})
		server := s.httpServer(klog.NewContext(t.Context(), logger))
		path := "/" + strings.Repeat("x", 10_000)
		refused := func() (lines int) {
			out.Reset()
			for range 1000 {
				server.ErrorLog.Print("http: TLS handshake error from 10.0.0.1:1: EOF")
				r := httptest.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodGet, path, nil)
				s.ServeHTTP(httptest.NewRecorder(), r)
			}
			return strings.Count(out.String(), "\n")
		}
		got := []int{refused()}
		if out.Len() > 100_000 {
			t.Errorf("%d bytes are logged", out.Len())
		}
		time.Sleep(time.Minute)
		got = append(got, refused(), refused())
		if diff := cmp.Diff([]int{before, 1, 0}, got); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}
