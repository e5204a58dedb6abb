package answer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/internal/testkit"
)

// handlers are the servers that are compared:
//
//   - the extender;
//   - a handler that decodes with encoding/json into the Kubernetes types, decides nothing and answers;
//   - one that reads the request and answers nothing, which shows the cost of net/http, the kernel and the machine's noise;
//   - one without net/http and Go's poller, which shows the least that this machine needs.
var handlers = []string{"evenkeel", "plain", "bare", "socket"}

// BenchmarkLoopback measures requests about a pod of 6 kB over one kept-alive connection. The
// server is a separate process that knows 5,000 nodes, a tenth of them hot. Allocations are those
// of the server.
func BenchmarkLoopback(b *testing.B) {
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, size := range []int{100, 500, 1000, 5000} {
			names := testkit.NodeNames(size)
			body := loopbackBody(b, extenderv1.ExtenderArgs{Pod: testkit.Pod(), NodeNames: &names})
			for _, handler := range handlers {
				b.Run(fmt.Sprintf("%s/names=%d/%s", path[1:], size, handler), func(b *testing.B) {
					benchmarkLoopback(b, handler, path, body)
				})
			}
		}
	}
}

// BenchmarkWholeNodes is like BenchmarkLoopback, with 500 whole Node objects on the wire.
func BenchmarkWholeNodes(b *testing.B) {
	list := &v1.NodeList{}
	for _, name := range testkit.NodeNames(500) {
		list.Items = append(list.Items, testkit.Node(name))
	}
	body := loopbackBody(b, extenderv1.ExtenderArgs{Pod: testkit.Pod(), Nodes: list})
	for _, path := range []string{"/filter", "/prioritize"} {
		for _, handler := range handlers {
			b.Run(fmt.Sprintf("%s/nodes=500/%s", path[1:], handler), func(b *testing.B) { benchmarkLoopback(b, handler, path, body) })
		}
	}
}

func loopbackBody(b *testing.B, args extenderv1.ExtenderArgs) []byte {
	b.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

func benchmarkLoopback(b *testing.B, handler, path string, body []byte) {
	client := dial(b, startLoopback(b, handler))
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	for range 50 { // connections, pools and branch predictors need a few requests to warm up
		if err := client.ask(request); err != nil {
			b.Fatal(err)
		}
	}
	took := make([]time.Duration, 0, 1<<20)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the client allocates nothing, and must not be stopped to collect other garbage
	before := client.mallocs(b)
	for b.Loop() {
		start := time.Now()
		if err := client.ask(request); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	b.StopTimer()
	report(b, took, client.mallocs(b)-before)
}

func report(b *testing.B, took []time.Duration, mallocs uint64) {
	slices.Sort(took)
	half, most := float64(took[len(took)/2]), float64(took[len(took)*99/100])
	b.ReportMetric(half, "p50-ns")
	b.ReportMetric(most, "p99-ns")
	b.ReportMetric(most/half, "p99/p50")
	b.ReportMetric(float64(mallocs)/float64(len(took)), "server-allocs/op")
}

// startLoopback starts this test binary as a server until the benchmark ends, and returns its
// address.
func startLoopback(b *testing.B, handler string) string {
	b.Helper()
	server := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestLoopbackServer$")
	server.Env = append(os.Environ(), loopbackHandler+"="+handler)
	server.Stderr = os.Stderr
	hold, err := server.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = hold.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = server.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("reading the server's address: %v", err)
	}
	return strings.TrimSpace(line)
}
