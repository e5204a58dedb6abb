package observer

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
)

// timed is a Source that adds up the time that its reads take.
type timed struct {
	*prometheus.Source
	took time.Duration
}

// Sample implements Source.
func (s *timed) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	began := time.Now()
	batch, err := s.Source.Sample(ctx, snapshot)
	s.took += time.Since(began)
	return batch, err
}

// newDock returns a harbor with a whole fleet that reads a Prometheus server as the shipped policy
// does.
func newDock(b *testing.B, nodes, pods int) (*harbor, *oracle, *timed) {
	b.Helper()
	server, source := newOracle(b, nodes, pods), &timed{}
	median := usage.Window{Kind: usage.KindQuantile, Percentile: 50, Over: usage.Avg5m.Over}
	h := newHarbor(b, func(_ *harbor, config *Config) {
		settings := new(prometheus.Config).Default().(*prometheus.Config)
		settings.Address = server.URL
		read, err := settings.New(&access.Env{
			REST: &rest.Config{}, Timeout: time.Minute, QueriesPerSecond: 1000, Now: config.Now,
			Windows: []usage.Window{usage.Avg5m, median}, Metrics: []usage.Metric{usage.CPU, usage.Memory},
		})
		if err != nil {
			b.Fatal(err)
		}
		source.Source = read.(*prometheus.Source)
		config.Sources = []Source{source}
		config.Lines = shippedLines(b, usage.Avg5m, median)
		config.Usage.Windows, config.HotWindows = []usage.Window{median}, []usage.Window{usage.Avg5m, median}
	})
	h.fleet(nodes, pods)
	for i := range nodes {
		h.Store().SetNode(berth(i))
	}
	return h, server, source
}

// berth returns a node like a typical cloud node, with an address and labels.
func berth(i int) *v1.Node {
	labels := map[string]string{}
	for k := range 14 {
		labels[fmt.Sprintf("topology.example.com/property-%02d", k)] = fmt.Sprintf("value-%d-%d", k, i%3)
	}
	labels["kubernetes.io/hostname"] = nameOf(i)
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("128Gi")}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(i), Labels: labels},
		Status: v1.NodeStatus{
			Allocatable: amounts, Capacity: amounts,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
			Addresses:  []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: addressOf(i)}, {Type: v1.NodeHostName, Address: nameOf(i)}},
		},
	}
}

// shippedLines returns the shipped lines of cpu and memory for windows.
func shippedLines(b *testing.B, windows ...usage.Window) *thresholds.Set {
	b.Helper()
	var rules []thresholds.Rule
	for _, w := range windows {
		rules = append(rules,
			thresholds.Rule{Metric: usage.CPU, Window: w, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
			thresholds.Rule{Metric: usage.Memory, Window: w, Levels: thresholds.Levels{Low: 60, Reject: 75, Evict: 80, Leave: 75}})
	}
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: rules}}, 3)
	if err != nil {
		b.Fatal(err)
	}
	return set
}

// turn takes a sample, and fails if anything is missing from it.
func (h *harbor) turn(b *testing.B, server *oracle, pods int) {
	h.Observer.Sample(b.Context())
	latest := h.Latest()
	source, all := latest.Sources[0], server.nodes*pods
	if source.Err != nil || latest.Fresh != server.nodes || source.Pods != all || !latest.podsCovered(100) || all > 0 && len(source.Problems) > 0 {
		b.Fatalf("%d of %d nodes known, %d pods reported, %v, %v", latest.Fresh, server.nodes, source.Pods, source.Problems, source.Err)
	}
}

// proceed lets 15 seconds pass.
func (h *harbor) proceed(server *oracle) {
	h.now = h.now.Add(h.at.config.SampleInterval)
	server.proceed(h.now)
}

// BenchmarkObservationFromPrometheus measures one whole observation: seven answers over loopback
// are parsed, matched, ingested, summarized in a View and judged. The time includes the server's
// time to send the answers.
func BenchmarkObservationFromPrometheus(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			h, server, source := newDock(b, nodes, benchPods)
			for range 24 { // until windows and rings are full
				h.proceed(server)
				h.turn(b, server, benchPods)
			}
			runtime.GC()
			source.took = 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				h.proceed(server)
				b.StartTimer()
				h.turn(b, server, benchPods)
			}
			b.ReportMetric(source.took.Seconds()*1000/float64(b.N), "source-ms/op")
			b.ReportMetric(float64(server.size())/(1<<20), "answers-MiB/op")
		})
	}
}

// BenchmarkMemoryFromPrometheus reports the memory held between two observations by windows, view,
// lines and board, but not by records.
func BenchmarkMemoryFromPrometheus(b *testing.B) {
	const nodes = 1000
	for b.Loop() {
		bare, full := heldFromPrometheus(b, nodes, 0), heldFromPrometheus(b, nodes, benchPods)
		b.ReportMetric(bare.records/nodes, "records-B/node")
		b.ReportMetric(bare.usage/nodes, "usage-B/node")
		b.ReportMetric((full.records-bare.records)/nodes/benchPods, "records-B/pod")
		b.ReportMetric((full.usage-bare.usage)/nodes/benchPods, "usage-B/pod")
	}
}

func heldFromPrometheus(b *testing.B, nodes, pods int) holding {
	b.Helper()
	before := heap()
	h, server, _ := newDock(b, nodes, pods)
	h.nodes = nil // used only by other tests
	records := heap()
	for range 24 {
		h.proceed(server)
		h.turn(b, server, pods)
	}
	all := heap()
	runtime.KeepAlive(server)
	runtime.KeepAlive(h)
	return holding{records: records - before - server.held(), usage: all - records}
}
