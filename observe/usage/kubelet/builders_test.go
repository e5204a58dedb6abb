package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
)

const gib = 1 << 30

// noon is when the tests' kubelets measured, and clock when their answers arrive.
var (
	noon  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock = noon.Add(3 * time.Second)
)

func aPod(namespace, name string) *cluster.Pod {
	return &cluster.Pod{UID: "uid-" + name, Namespace: namespace, Name: name, Node: "n1"}
}

// aNode returns a node of 4 cores and 16 GiB.
func aNode(name string, pods ...*cluster.Pod) *cluster.NodePods {
	capacity := cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 16 * gib}
	return &cluster.NodePods{Node: cluster.Node{Name: name, Capacity: capacity, Ready: true}, Pods: pods}
}

func last(metric usage.Metric, at time.Time, value float64) usage.Reading {
	return usage.Reading{Metric: metric, Window: usage.Last, At: at, Value: value}
}

func podSample(namespace, name string, at time.Time, cpuMilli, memoryBytes int64) usage.PodSample {
	used := cluster.Amounts{cluster.CPU: cpuMilli, cluster.Memory: memoryBytes}
	return usage.PodSample{Namespace: namespace, Name: name, Last: usage.Sample{At: at, Used: used}}
}

// kubelets serves all nodes of a cluster from one TLS server, and distinguishes requests by the
// dialled address.
type kubelets struct {
	t      *testing.T
	server *httptest.Server
	byHost map[string]http.Handler

	mu    sync.Mutex
	asked []string
}

func newKubelets(t *testing.T) *kubelets {
	t.Helper()
	k := &kubelets{t: t, byHost: map[string]http.Handler{}}
	k.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		k.mu.Lock()
		k.asked = append(k.asked, r.Host+r.URL.RequestURI())
		handler := k.byHost[host]
		k.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	k.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that hang up are tested on purpose
	k.server.StartTLS()
	t.Cleanup(k.server.Close)
	return k
}

// add serves a node at a separate address.
func (k *kubelets) add(node *cluster.NodePods, handler http.Handler) *cluster.NodePods {
	node.Node.InternalIP = fmt.Sprintf("10.0.0.%d", len(k.byHost)+1)
	k.serve(node, handler)
	return node
}

// serve changes how a node answers.
func (k *kubelets) serve(node *cluster.NodePods, handler http.Handler) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byHost[node.Node.InternalIP] = handler
}

// requests returns the requests since the last call.
func (k *kubelets) requests() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := k.asked
	k.asked = nil
	return asked
}

// client returns a client that trusts the CA of these kubelets, whose certificate is for
// example.com.
func (k *kubelets) client(change ...func(*http.Transport)) *http.Client {
	k.t.Helper()
	transport := k.server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.ServerName = "example.com"
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, k.server.Listener.Addr().String())
	}
	k.t.Cleanup(transport.CloseIdleConnections)
	for _, c := range change {
		c(transport)
	}
	return &http.Client{Transport: transport}
}

// source returns a Source that reads these kubelets.
func (k *kubelets) source(change ...func(*settings)) *Source {
	k.t.Helper()
	config := newSettings()
	for _, c := range change {
		c(&config)
	}
	source, err := sourceOf(config, k.client())
	if err != nil {
		k.t.Fatal(err)
	}
	return source
}

// newSettings returns the default settings.
func newSettings() settings {
	config := settings{
		Env:              access.Env{Now: func() time.Time { return clock }, Timeout: 5 * time.Second, Interval: 15 * time.Second},
		maxResponseBytes: maxResponseBytes,
	}
	config.Config = *new(Config).Default().(*Config)
	return config
}

// body returns a handler that serves one text at any path.
func body(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

// status returns a handler that answers with a status only.
func status(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "Forbidden (subresource=stats)", code) })
}

// paths returns a handler that answers by path.
func paths(byPath map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range byPath {
		mux.Handle("GET "+path, handler)
	}
	return mux
}

// fullSummary returns the summary of a kubelet with PSI for a node with the
// given number of pods, each with two containers.
func fullSummary(tb testing.TB, pods int) []byte {
	tb.Helper()
	cpu := func() *statsapi.CPUStats {
		return &statsapi.CPUStats{
			Time: metav1.NewTime(noon), UsageNanoCores: new(uint64(100_500_000)), UsageCoreNanoSeconds: new(uint64(987_654_321_000)),
			PSI: &statsapi.PSIStats{Some: statsapi.PSIData{Total: 123456789, Avg10: 1.5, Avg60: 2.25, Avg300: 3.75}},
		}
	}
	memory := func() *statsapi.MemoryStats {
		return &statsapi.MemoryStats{
			Time: metav1.NewTime(noon), UsageBytes: new(uint64(3 * gib)), WorkingSetBytes: new(uint64(2 * gib)),
			RSSBytes: new(uint64(gib)), PageFaults: new(uint64(123456)), MajorPageFaults: new(uint64(12)), PSI: cpu().PSI,
		}
	}
	fs := &statsapi.FsStats{
		Time: metav1.NewTime(noon), AvailableBytes: new(uint64(50 * gib)), CapacityBytes: new(uint64(100 * gib)), UsedBytes: new(uint64(gib)),
		InodesFree: new(uint64(6000000)), Inodes: new(uint64(6400000)), InodesUsed: new(uint64(77)),
	}
	ioStats := &statsapi.IOStats{Time: metav1.NewTime(noon), PSI: cpu().PSI}
	container := func(name string) statsapi.ContainerStats {
		return statsapi.ContainerStats{
			Name: name, StartTime: metav1.NewTime(noon), CPU: cpu(), Memory: memory(), IO: ioStats, Rootfs: fs, Logs: fs,
			Swap: &statsapi.SwapStats{Time: metav1.NewTime(noon), SwapUsageBytes: new(uint64(0))},
		}
	}
	summary := statsapi.Summary{Node: statsapi.NodeStats{
		NodeName: "n1", StartTime: metav1.NewTime(noon), CPU: cpu(), Memory: memory(), IO: ioStats, Fs: fs,
		SystemContainers: []statsapi.ContainerStats{container("kubelet"), container("runtime"), container("pods")},
	}}
	summary.Node.Memory.AvailableBytes = new(uint64(13 * gib))
	for i := range pods {
		name := "pod-" + strconv.Itoa(i)
		summary.Pods = append(summary.Pods, statsapi.PodStats{
			PodRef:     statsapi.PodReference{Namespace: "shop", Name: name, UID: "uid-" + name},
			StartTime:  metav1.NewTime(noon),
			Containers: []statsapi.ContainerStats{container("main"), container("sidecar")},
			CPU:        cpu(), Memory: memory(), IO: ioStats,
			Network:          &statsapi.NetworkStats{Time: metav1.NewTime(noon), InterfaceStats: statsapi.InterfaceStats{Name: "eth0", RxBytes: new(uint64(1 << 33))}},
			VolumeStats:      []statsapi.VolumeStats{{Name: "kube-api-access-x2x4z", FsStats: *fs}},
			EphemeralStorage: fs,
			ProcessStats:     &statsapi.ProcessStats{ProcessCount: new(uint64(7))},
		})
	}
	text, err := json.Marshal(&summary)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// manyPods returns the node of fullSummary.
func manyPods(pods int) *cluster.NodePods {
	node := aNode("n1")
	for i := range pods {
		node.Pods = append(node.Pods, aPod("shop", "pod-"+strconv.Itoa(i)))
	}
	return node
}
