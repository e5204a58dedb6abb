package observer

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

const benchPods = 30

// fleet adds nodes with podsEach pods each, and as many workloads as nodes. Every object has its
// own copies of its strings, as if decoded.
func (h *harbor) fleet(nodes, podsEach int) {
	controller := true
	for i := range nodes {
		name := nameOf(i)
		h.node(name, 16_000)
		for k := range podsEach {
			owner := (i + k) % nodes
			pod := podOf(i, k, nodes)
			h.Store().SetPod(&v1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: fmt.Sprintf("n%s", "s"), Name: pod, UID: types.UID(fmt.Sprintf("0b8d9f0e-2c44-4f6e-%06d-%09d", k, i)),
					Labels: map[string]string{"pod-template-hash": fmt.Sprintf("6c9f4d7%d", owner%10)},
					OwnerReferences: []metav1.OwnerReference{{
						Kind: fmt.Sprintf("Replica%s", "Set"), Name: fmt.Sprintf("workload-%05d-6c9f4d7b8", owner),
						UID: types.UID(fmt.Sprintf("5e1c2a3b-4d5e-6f70-8192-%012d", owner)), Controller: &controller,
					}},
				},
				Spec: v1.PodSpec{NodeName: string([]byte(name)), Containers: []v1.Container{{Resources: v1.ResourceRequirements{
					Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")},
				}}}},
				Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: h.now.Add(-time.Hour)}},
			})
		}
	}
}

func nameOf(i int) string {
	return fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", i/256, i%256)
}

// podOf names pod k of node i.
func podOf(i, k, nodes int) string {
	return fmt.Sprintf("workload-%05d-6c9f4d7b8-%02d%03d", (i+k)%nodes, k, i%1000)
}

// BenchmarkSample measures all work between the source's answer and the observation: ingesting a
// reading, combining it with the cluster, building the board and classifying the nodes.
func BenchmarkSample(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			h := newHarbor(b)
			h.fleet(nodes, benchPods)
			h.measureAll()
			h.pass(5 * time.Minute)
			batch, err := h.meter.Sample(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				h.now = h.now.Add(15 * time.Second)
				renew(&batch, h.now)
				h.store.Observe(func(snapshot *cluster.Snapshot) {
					h.at.usage.Ingest(snapshot, batch)
					h.publish(h.at.observation(snapshot, h.now, &reading{batches: []usage.Batch{batch}}, h.ledger.Expected()))
				})
			}
		})
	}
}

// renew gives a batch the current time.
func renew(batch *usage.Batch, now time.Time) {
	batch.Received = now
	for i := range batch.Nodes {
		for k := range batch.Nodes[i].Readings {
			batch.Nodes[i].Readings[k].At = now
		}
	}
	for i := range batch.Pods {
		batch.Pods[i].Last.At = now
	}
}

// BenchmarkMemory reports the memory per pod and per node that records, samples and the published
// observation hold.
func BenchmarkMemory(b *testing.B) {
	const nodes = 1000
	for b.Loop() {
		bare, full := held(b, nodes, 0), held(b, nodes, benchPods)
		b.ReportMetric(bare.records/nodes, "records-B/node")
		b.ReportMetric(bare.usage/nodes, "usage-B/node")
		b.ReportMetric((full.records-bare.records)/nodes/benchPods, "records-B/pod")
		b.ReportMetric((full.usage-bare.usage)/nodes/benchPods, "usage-B/pod")
	}
}

type holding struct{ records, usage float64 }

func held(b *testing.B, nodes, pods int) holding {
	before := heap()
	h := newHarbor(b)
	h.fleet(nodes, pods)
	records := heap()
	h.measureAll()
	h.pass(6 * time.Minute)
	h.nodes, h.pods = map[string]cluster.Amounts{}, nil
	all := heap()
	runtime.KeepAlive(h)
	return holding{records: records - before, usage: all - records}
}

// measureAll makes the source measure every pod.
func (h *harbor) measureAll() {
	h.store.Observe(func(snapshot *cluster.Snapshot) {
		for _, node := range snapshot.Nodes {
			for _, pod := range node.Pods {
				h.pods[pod.Name] = cluster.Amounts{500, 1 << 30}
			}
		}
	})
}

func heap() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
