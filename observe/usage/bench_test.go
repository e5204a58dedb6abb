package usage

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

const benchPods = 30

// benchWindows returns the windows of the shipped policy, and a set of windows that reach far back.
func benchWindows() map[string][]string {
	return map[string][]string{
		"short": {"p50_5m"},
		"day":   {"p50_5m", "max_avg_1h", "max_avg_1d", "p95_1h"},
	}
}

// fleet returns a cluster with 30 pods on each node and as many workloads as
// nodes, and one reading of it.
func fleet(nodes int) (*cluster.Snapshot, *Batch) {
	snapshot, batch := &cluster.Snapshot{}, &Batch{Source: "test"}
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		node := nodeWith(name)
		batch.Nodes = append(batch.Nodes, NodeSample{Name: name, Readings: LastReadings(epoch(), amounts(16000, 100_000))})
		for k := range benchPods {
			pod := aPod(fmt.Sprintf("workload-%05d-%02d-x7k2p", i, k), owner(fmt.Sprintf("%036d", (i+k)%nodes)), uid(fmt.Sprintf("%032d-%03d", i, k)))
			pod.Node, pod.Created, pod.Started = name, at(-48*3600), at(-48*3600)
			pod.Owner.Name, pod.TemplateHash = fmt.Sprintf("workload-%05d-5d4f8c7b9", (i+k)%nodes), "5d4f8c7b9"
			node.Pods = append(node.Pods, pod)
			batch.Pods = append(batch.Pods, PodSample{Namespace: "ns", Name: pod.Name, Last: Sample{Used: amounts(500, 3000)}})
		}
		snapshot.Nodes = append(snapshot.Nodes, node)
	}
	return snapshot, batch
}

// measuredAt returns a copy of the reading that was measured at another second, with pods or of the
// nodes alone.
func (b *Batch) measuredAt(second int, pods bool) Batch {
	b.Received = at(second)
	for i := range b.Nodes {
		for k := range b.Nodes[i].Readings {
			b.Nodes[i].Readings[k].At = at(second)
			b.Nodes[i].Readings[k].Value += float64(second % 7)
		}
	}
	for i := range b.Pods {
		b.Pods[i].Last.At = at(second)
	}
	batch := *b
	if !pods {
		batch.Pods = nil
	}
	return batch
}

// filled returns a store with every window full, and the second of the last
// sample.
func filled(b *testing.B, windows []string, snapshot *cluster.Snapshot, batch *Batch) (*Store, int) {
	b.Helper()
	store, second := newStore(b, wanting(b, windows...)), 0
	spans := store.Spans()
	for i, span := range spans {
		until := 0
		if i+1 < len(spans) {
			until = -int(spans[i+1].Since / time.Second)
		}
		for past := -int(span.Since / time.Second); past < until; past += int(span.Step / time.Second) {
			store.Ingest(snapshot, batch.measuredAt(past, false))
		}
	}
	for ; second <= 330; second += 15 {
		store.Ingest(snapshot, batch.measuredAt(second, true))
	}
	return store, second - 15
}

func eachFleet(b *testing.B, run func(*testing.B, *Store, *cluster.Snapshot, *Batch, int)) {
	for _, nodes := range []int{100, 1000, 5000} {
		for name, windows := range benchWindows() {
			b.Run(fmt.Sprintf("nodes=%d/windows=%s", nodes, name), func(b *testing.B) {
				snapshot, batch := fleet(nodes)
				store, second := filled(b, windows, snapshot, batch)
				runtime.GC()
				b.ReportAllocs()
				run(b, store, snapshot, batch, second)
			})
		}
	}
}

func BenchmarkIngest(b *testing.B) {
	eachFleet(b, func(b *testing.B, store *Store, snapshot *cluster.Snapshot, batch *Batch, second int) {
		for b.Loop() {
			second += 15
			if problems := store.Ingest(snapshot, batch.measuredAt(second, true)); len(problems["test"]) > 0 {
				b.Fatal(problems)
			}
		}
	})
}

func BenchmarkView(b *testing.B) {
	eachFleet(b, func(b *testing.B, store *Store, snapshot *cluster.Snapshot, _ *Batch, second int) {
		for b.Loop() {
			if view := store.View(snapshot, at(second), nil); !view.Nodes[0].Known() {
				b.Fatal(view.Nodes[0].Unknown)
			}
		}
	})
}

// BenchmarkStoreMemory reports the memory of a store with full windows and of a view of it, per
// node without its pods and per pod.
func BenchmarkStoreMemory(b *testing.B) {
	const nodes = 1000
	for name, windows := range benchWindows() {
		b.Run("windows="+name, func(b *testing.B) {
			snapshot, batch := fleet(nodes)
			bare := &cluster.Snapshot{}
			for _, node := range snapshot.Nodes {
				bare.Nodes = append(bare.Nodes, &cluster.NodePods{Node: node.Node})
			}
			alone := *batch
			alone.Pods = nil
			for b.Loop() {
				store, view := held(b, windows, snapshot, batch)
				bareStore, bareView := held(b, windows, bare, &alone)
				b.ReportMetric(bareStore/nodes, "store-B/node")
				b.ReportMetric(bareView/nodes, "view-B/node")
				b.ReportMetric((store-bareStore)/nodes/benchPods, "store-B/pod")
				b.ReportMetric((view-bareView)/nodes/benchPods, "view-B/pod")
			}
		})
	}
}

// held returns the bytes held by a store with full windows, and by a view of
// it.
func held(b *testing.B, windows []string, snapshot *cluster.Snapshot, batch *Batch) (store, view float64) {
	b.Helper()
	empty := heap()
	full, second := filled(b, windows, snapshot, batch)
	filled := heap()
	read := full.View(snapshot, at(second), nil)
	seen := heap()
	runtime.KeepAlive(full)
	runtime.KeepAlive(read)
	return filled - empty, seen - filled
}

// heap returns the bytes in use.
func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
