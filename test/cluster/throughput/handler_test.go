package throughput

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// post sends a request to a handler and returns its status and body.
func post(t *testing.T, h http.Handler, path string, body []byte) (int, []byte) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body)))
	return recorder.Code, recorder.Body.Bytes()
}

func handler(t *testing.T, kind Handler) http.Handler {
	t.Helper()
	h, err := NewHandler(kind)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Both kinds of handler keep every node and give each the same score, as kube-scheduler reads the
// answers.
func TestHandlers(t *testing.T) {
	// The pod itself contains NodeNames, ahead of the ones that count.
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"a": `"NodeNames":["no"]`, "b": "]"}}}
	for _, kind := range []Handler{Decoding, Echoing} {
		for _, names := range [][]string{{"a"}, {"node-1", "node-2", "node-3.example"}, {}} {
			h := handler(t, kind)
			body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})
			if err != nil {
				t.Fatal(err)
			}
			code, reply := post(t, h, "/filter", body)
			var filtered extenderv1.ExtenderFilterResult
			if err := json.Unmarshal(reply, &filtered); err != nil || code != http.StatusOK {
				t.Fatalf("%s: status %d, %v: %s", kind, code, err, reply)
			}
			if diff := cmp.Diff(extenderv1.ExtenderFilterResult{NodeNames: &names}, filtered); diff != "" {
				t.Errorf("%s: filter (-want +got):\n%s", kind, diff)
			}
			code, reply = post(t, h, "/prioritize", body)
			list, want := extenderv1.HostPriorityList{}, extenderv1.HostPriorityList{}
			if err := json.Unmarshal(reply, &list); err != nil || code != http.StatusOK {
				t.Fatalf("%s: status %d, %v: %s", kind, code, err, reply)
			}
			for _, name := range names {
				want = append(want, extenderv1.HostPriority{Host: name, Score: 5})
			}
			if diff := cmp.Diff(want, list); diff != "" {
				t.Errorf("%s: prioritize (-want +got):\n%s", kind, diff)
			}
			_, page := post(t, h, MetricsPath, nil)
			if asked, _ := measure.Metric(string(page), AskedMetric, ""); asked != 2 {
				t.Errorf("%s: asked %v times, want 2", kind, asked)
			}
			if CPU(string(page)) <= 0 {
				t.Errorf("%s: no processor time in:\n%s", kind, page)
			}
		}
	}
}

func TestHandlersRefuse(t *testing.T) {
	bodies := map[string]string{
		"nothing": "", "no JSON": "{", "no names": `{"Pod":{}}`, "names without an end": `{"NodeNames":["a"`,
	}
	for name, body := range bodies {
		for _, kind := range []Handler{Decoding, Echoing} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				h := handler(t, kind)
				if code, reply := post(t, h, "/filter", []byte(body)); code != http.StatusBadRequest {
					t.Errorf("status %d: %s", code, reply)
				}
				_, page := post(t, h, MetricsPath, nil)
				if asked, _ := measure.Metric(string(page), AskedMetric, ""); asked != 0 {
					t.Errorf("what was refused counts: %v", asked)
				}
			})
		}
	}
	if _, err := NewHandler(Evenkeel); err == nil {
		t.Error("made a handler that is Evenkeel's own")
	}
}

// kube-scheduler reads one JSON value and closes the body. With chunked encoding, the end of the
// body would stay unread, and the connection would be closed.
func TestHandlersKeepTheConnection(t *testing.T) {
	names := strings.Split(strings.Repeat("a-node-with-a-name ", 500), " ")
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: &v1.Pod{}, NodeNames: &names})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Handler{Decoding, Echoing} {
		server := httptest.NewServer(handler(t, kind))
		for _, path := range []string{"/filter", "/prioritize"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			length, err := io.Copy(io.Discard, response.Body)
			if err != nil || response.ContentLength != length {
				t.Errorf("%s%s: Content-Length %d of %d bytes, %v", kind, path, response.ContentLength, length, err)
			}
			_ = response.Body.Close()
		}
		server.Close()
	}
}
