package extender

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// TestLogBodies verifies that requests are logged only if enabled, and that long ones are
// truncated.
func TestLogBodies(t *testing.T) {
	for name, tc := range map[string]struct {
		log  bool
		body string
		want string
	}{
		"a short one":     {true, `{"Pod":{},"NodeNames":["a"]}`, `{"Pod":{},"NodeNames":["a"]}`},
		"a long one":      {true, `{"Pod":{},"NodeNames":["` + strings.Repeat("é", 5000) + `"]}`, strings.Repeat("é", 2036) + "…"},
		"one that is bad": {true, "\xff{", "{"},
		"not asked for":   {false, `{"Pod":{},"NodeNames":["a"]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			s := newTestServer(t, Config{Answerer: newFakeAnswerer("a"), LogBodies: tc.log})
			r := httptest.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodPost, "/filter", strings.NewReader(tc.body))
			s.ServeHTTP(httptest.NewRecorder(), r)
			buffered, ok := logger.GetSink().(ktesting.Underlier)
			if !ok {
				t.Fatal("the logger keeps nothing")
			}
			got := ""
			for _, entry := range buffered.GetBuffer().Data() {
				if entry.Message == "Request received" {
					got, _ = entry.ParameterKVList[len(entry.ParameterKVList)-1].(string)
				}
			}
			if !strings.HasSuffix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("logged %q, want %q", got, tc.want)
			}
		})
	}
}
