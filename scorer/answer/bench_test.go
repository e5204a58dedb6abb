package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

const benchNodes = 5000

// BenchmarkHandler answers requests through the extender's HTTP handler, based on an observation of
// 5,000 nodes, a third of them hot. It measures an ordinary pod with nothing in flight and with 100
// moves in flight, and a pod of these moves' owner.
func BenchmarkHandler(b *testing.B) {
	for _, kind := range []string{"quiet", "busy", "sibling"} {
		bridge := benchBridge(b)
		if kind != "quiet" {
			for n := range 100 {
				bridge.record(n, nodeName(n), nodeName(n+1))
			}
		}
		for _, path := range []string{"/filter", "/prioritize"} {
			for _, names := range []int{100, 500, 5000} {
				b.Run(fmt.Sprintf("%s%s/names=%d", kind, path, names), func(b *testing.B) {
					benchmarkHandler(b, bridge, path, benchRequest(b, names, kind == "sibling"))
				})
			}
		}
	}
}

func benchmarkHandler(b *testing.B, bridge *bridge, path string, body []byte) {
	server, err := extender.NewServer(extender.Config{Answerer: bridge.Answerer})
	if err != nil {
		b.Fatal(err)
	}
	reader, w := bytes.NewReader(body), &discard{header: http.Header{}}
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, nil)
	request.Body, request.ContentLength = io.NopCloser(reader), int64(len(body))
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		server.ServeHTTP(w, request)
	}
	if w.code != 0 {
		b.Fatalf("status %d", w.code)
	}
}

func benchBridge(b *testing.B) *bridge {
	bridge := newBridge(b)
	for i := range benchNodes {
		bridge.node(nodeName(i), int64(i%90)*100)
	}
	bridge.observe()
	return bridge
}

func nodeName(i int) string { return fmt.Sprintf("ip-10-%d-%d-%d.compute", i/65536, i/256%256, i%256) }

// benchRequest returns a request with node names, as kube-scheduler sends it. A sibling belongs to
// the owner of the moves.
func benchRequest(b *testing.B, names int, sibling bool) []byte {
	b.Helper()
	yes, nodes := true, make([]string, names)
	for i := range nodes {
		nodes[i] = nodeName(i * (benchNodes / names))
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other-x", UID: "other-x"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m"), v1.ResourceMemory: resource.MustParse("512Mi")},
		}}}},
	}
	if sibling {
		pod.UID, pod.Labels = "web-x", map[string]string{"pod-template-hash": "h1"}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: &yes}}
	}
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
	if err != nil {
		b.Fatal(err)
	}
	return body
}

// discard is a reusable ResponseWriter.
type discard struct {
	header http.Header
	code   int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(code int)        { d.code = code }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
