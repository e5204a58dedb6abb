package extender

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

var benchSizes = []int{100, 500, 1000, 5000}

// spreadJudge rejects every tenth node and spreads the scores.
func spreadJudge(names []string) Judge {
	j := newFakeJudge(names...)
	for i := range names {
		j.scores[i] = int8(i % (maxScore + 1))
		if i%10 == 0 {
			j.rejects[i] = RejectHot
		}
	}
	return indexedJudge{j}
}

// plainHandler is what the figures are compared with: it decodes with
// encoding/json into the Kubernetes types, decides nothing and answers.
func plainHandler(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderArgs
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var reply any = extenderv1.ExtenderFilterResult{Nodes: args.Nodes, NodeNames: args.NodeNames}
	if r.URL.Path == "/prioritize" {
		list := extenderv1.HostPriorityList{}
		if args.NodeNames != nil {
			for _, name := range *args.NodeNames {
				list = append(list, extenderv1.HostPriority{Host: name, Score: 5})
			}
		} else {
			for i := range args.Nodes.Items {
				list = append(list, extenderv1.HostPriority{Host: args.Nodes.Items[i].Name, Score: 5})
			}
		}
		reply = list
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

func benchServer(b *testing.B, names []string) *Server {
	b.Helper()
	s, err := NewServer(Config{Judge: spreadJudge(names)})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkLoopback measures a request over a kept-alive connection, seen by a
// client that costs next to nothing itself.
func BenchmarkLoopback(b *testing.B) {
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, size := range benchSizes {
			names := nodeNames(size)
			body := namesRequest(b, realisticPod(), names...)
			b.Run(fmt.Sprintf("%s/names=%d/evenkeel", path[1:], size), func(b *testing.B) {
				benchLoopback(b, benchServer(b, names), path, body)
			})
			b.Run(fmt.Sprintf("%s/names=%d/plain", path[1:], size), func(b *testing.B) {
				benchLoopback(b, http.HandlerFunc(plainHandler), path, body)
			})
		}
	}
}

// BenchmarkWholeNodes is the same with whole Node objects on the wire.
func BenchmarkWholeNodes(b *testing.B) {
	names := nodeNames(500)
	list := &v1.NodeList{}
	for _, name := range names {
		list.Items = append(list.Items, realisticNode(name))
	}
	body := marshal(b, extenderv1.ExtenderArgs{Pod: realisticPod(), Nodes: list})
	for _, path := range []string{"/filter", "/prioritize"} {
		b.Run(path[1:]+"/nodes=500/evenkeel", func(b *testing.B) { benchLoopback(b, benchServer(b, names), path, body) })
		b.Run(path[1:]+"/nodes=500/plain", func(b *testing.B) { benchLoopback(b, http.HandlerFunc(plainHandler), path, body) })
	}
}

func benchLoopback(b *testing.B, h http.Handler, path string, body []byte) {
	server := httptest.NewServer(h)
	defer server.Close()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, len(body))
	request = append(request, body...)
	replies := bufio.NewReaderSize(conn, 64<<10)
	took := make([]time.Duration, 0, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		if err := swallowReply(replies); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
}

// swallowReply reads one HTTP reply, by length or in chunks.
func swallowReply(r *bufio.Reader) error {
	length, first := -1, true
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("status %q", line)
		}
		first = false
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
	}
	if length >= 0 {
		_, err := r.Discard(length)
		return err
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if _, err := r.Discard(int(size) + 2); err != nil || size == 0 {
			return err
		}
	}
}

// BenchmarkHandler measures the handler alone.
func BenchmarkHandler(b *testing.B) {
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, size := range benchSizes {
			names := nodeNames(size)
			body := namesRequest(b, realisticPod(), names...)
			b.Run(fmt.Sprintf("%s/names=%d", path[1:], size), func(b *testing.B) {
				s := benchServer(b, names)
				w := &discardWriter{header: http.Header{}}
				reader := bytes.NewReader(body)
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, nil)
				r.Body, r.ContentLength = io.NopCloser(reader), int64(len(body))
				b.ReportAllocs()
				for b.Loop() {
					reader.Reset(body)
					s.ServeHTTP(w, r)
				}
				if w.code != 0 {
					b.Fatalf("status %d", w.code)
				}
			})
		}
	}
}

// BenchmarkDecode measures reading a request without answering it.
func BenchmarkDecode(b *testing.B) {
	body := namesRequest(b, realisticPod(), nodeNames(5000)...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var r request
	for b.Loop() {
		if err := r.decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

// discardWriter is a ResponseWriter to be used again and again.
type discardWriter struct {
	header http.Header
	code   int
	bytes  int
}

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) WriteHeader(code int)        { w.code = code }
func (w *discardWriter) Write(b []byte) (int, error) { w.bytes += len(b); return len(b), nil }

// realisticNode is a node of about 4 kB.
func realisticNode(name string) v1.Node {
	n := v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
		Status:     v1.NodeStatus{Capacity: resourceList("32", "128Gi"), Allocatable: resourceList("31", "120Gi")},
	}
	for i := range 12 {
		n.Labels[fmt.Sprintf("node.example.com/label-%02d", i)] = "some-value"
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{
			Names:     []string{fmt.Sprintf("registry.example.com/image-%02d@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", i)},
			SizeBytes: 123456789,
		})
	}
	for _, kind := range []v1.NodeConditionType{v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{
			Type: kind, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientResources", Message: "kubelet has what it needs",
		})
	}
	return n
}
