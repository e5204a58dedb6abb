package extender

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/internal/testkit"
)

var benchSizes = []int{100, 500, 1000, 5000}

// spreadAnswerer returns an Answerer that rejects every tenth node and gives the others different
// scores.
func spreadAnswerer(names []string) Answerer {
	j := newFakeAnswerer(names...)
	for i := range names {
		j.scores[i] = int8(i % (maxScore + 1))
		if i%10 == 0 {
			j.rejects[i] = RejectHot
		}
	}
	return indexedAnswerer{j}
}

func benchServer(b *testing.B, names []string) *Server {
	b.Helper()
	s, err := NewServer(Config{Answerer: spreadAnswerer(names)})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkHandler measures only the handler. The benchmarks of scorer/answer measure it over a
// connection, and compare it with a handler that decides nothing.
func BenchmarkHandler(b *testing.B) {
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, size := range benchSizes {
			names := nodeNames(size)
			body := namesRequest(b, realisticPod(), names...)
			b.Run(fmt.Sprintf("%s/names=%d", path[1:], size), func(b *testing.B) { benchHandler(b, names, path, body) })
		}
		names := nodeNames(500)
		body := marshal(b, extenderv1.ExtenderArgs{Pod: realisticPod(), Nodes: nodeList(names)})
		b.Run(path[1:]+"/nodes=500", func(b *testing.B) { benchHandler(b, names, path, body) })
	}
}

func benchHandler(b *testing.B, names []string, path string, body []byte) {
	s, w := benchServer(b, names), &discardWriter{header: http.Header{}}
	reader := bytes.NewReader(body)
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, nil)
	r.Body, r.ContentLength = io.NopCloser(reader), int64(len(body))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(body)
		s.ServeHTTP(w, r)
	}
	if w.code != 0 {
		b.Fatalf("status %d", w.code)
	}
}

func nodeList(names []string) *v1.NodeList {
	list := &v1.NodeList{}
	for _, name := range names {
		list.Items = append(list.Items, realisticNode(name))
	}
	return list
}

// BenchmarkDecode measures reading a request without answering it.
func BenchmarkDecode(b *testing.B) {
	for kind, body := range map[string][]byte{
		"names=1":    namesRequest(b, realisticPod(), nodeNames(1)...),
		"names=5000": namesRequest(b, realisticPod(), nodeNames(5000)...),
		"nodes=500":  marshal(b, extenderv1.ExtenderArgs{Pod: realisticPod(), Nodes: nodeList(nodeNames(500))}),
	} {
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			var r request
			for b.Loop() {
				if err := r.decode(body, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// discardWriter is a reusable ResponseWriter.
type discardWriter struct {
	header http.Header
	code   int
	bytes  int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(code int)        { w.code = code }
func (w *discardWriter) Write(b []byte) (int, error) { w.bytes += len(b); return len(b), nil }

// realisticNode returns a node of about 4 kB.
func realisticNode(name string) v1.Node { return testkit.Node(name) }
