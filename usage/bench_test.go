package usage

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

const benchPods = 30

// fleet is a cluster with 30 pods on each node, as many workloads as nodes, and one reading of it.
func fleet(nodes int) (*cluster.Snapshot, *Batch) {
	snapshot, batch := &cluster.Snapshot{}, &Batch{Source: "test"}
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		node := nodeWith(name)
		batch.Nodes = append(batch.Nodes, NodeSample{Name: name, Sample: Sample{Used: amounts(16000, 100_000)}})
		for k := range benchPods {
			pod := aPod(fmt.Sprintf("workload-%05d-%02d-x7k2p", i, k), owner(fmt.Sprintf("%036d", (i+k)%nodes)), uid(fmt.Sprintf("%032d-%03d", i, k)))
			pod.Node = name
			node.Pods = append(node.Pods, pod)
			batch.Pods = append(batch.Pods, PodSample{Namespace: "ns", Name: pod.Name, Sample: Sample{Used: amounts(500, 3000)}})
		}
		snapshot.Nodes = append(snapshot.Nodes, node)
	}
	return snapshot, batch
}

// measuredAt turns the reading into one of another second.
func (b *Batch) measuredAt(second int) Batch {
	b.Received = at(second)
	for i := range b.Nodes {
		b.Nodes[i].At = at(second)
	}
	for i := range b.Pods {
		b.Pods[i].At = at(second)
	}
	return *b
}

// filled returns a store with a whole window of samples, and the second of the last.
func filled(b *testing.B, snapshot *cluster.Snapshot, batch *Batch) (*Store, int) {
	b.Helper()
	store, second := newStore(b), 0
	for ; second <= 330; second += 15 {
		store.Ingest(batch.measuredAt(second), snapshot)
	}
	return store, second - 15
}

func BenchmarkIngest(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			snapshot, batch := fleet(nodes)
			store, second := filled(b, snapshot, batch)
			b.ReportAllocs()
			for b.Loop() {
				second += 15
				if skipped := store.Ingest(batch.measuredAt(second), snapshot); skipped != (Skipped{}) {
					b.Fatal(skipped)
				}
			}
		})
	}
}

func BenchmarkView(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			snapshot, batch := fleet(nodes)
			store, second := filled(b, snapshot, batch)
			b.ReportAllocs()
			for b.Loop() {
				if view := store.View(snapshot, at(second), nil); !view.Nodes[0].Known() {
					b.Fatal(view.Nodes[0].Unknown)
				}
			}
		})
	}
}

// BenchmarkStoreMemory reports what a store with a full window, and a view of it, hold per pod; nodes' share included.
func BenchmarkStoreMemory(b *testing.B) {
	snapshot, batch := fleet(1000)
	pods := float64(len(batch.Pods))
	for b.Loop() {
		empty := heap()
		store, second := filled(b, snapshot, batch)
		full := heap()
		view := store.View(snapshot, at(second), nil)
		b.ReportMetric((full-empty)/pods, "store-B/pod")
		b.ReportMetric((heap()-full)/pods, "view-B/pod")
		runtime.KeepAlive(store)
		runtime.KeepAlive(view)
	}
	runtime.KeepAlive(batch)
}

// heap returns the bytes in use.
func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
