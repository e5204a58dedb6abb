package usage

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

const (
	gib = 1 << 30
	mib = 1 << 20
)

// epoch is when every test's store begins.
func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func at(second int) time.Time { return epoch().Add(time.Duration(second) * time.Second) }

func amounts(cpuMilli, memoryMiB int64) cluster.Amounts {
	return cluster.Amounts{cluster.CPU: cpuMilli, cluster.Memory: memoryMiB * mib}
}

// testConfig samples every 15 s; a request counts with 85 % of its CPU and 70 % of its memory.
func testConfig() Config {
	return Config{
		SampleInterval: 15 * time.Second,
		MaxAge:         90 * time.Second,
		MinWindow:      75 * time.Second,
		Estimate:       Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: amounts(250, 200)},
	}
}

func newStore(t testing.TB) *Store {
	t.Helper()
	store, err := NewStore(testConfig(), epoch())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// aPod has run on n1 since long before the epoch, as one of the ReplicaSet "web", requesting 1 core and 1 GiB.
func aPod(name string, change ...func(*cluster.Pod)) *cluster.Pod {
	pod := &cluster.Pod{
		UID: "uid-" + name, Namespace: "ns", Name: name, Node: "n1",
		Owner:    cluster.Owner{UID: "web", Kind: "ReplicaSet", Name: "web"},
		Requests: amounts(1000, 1024),
		Created:  at(-3600), Started: at(-3600),
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func uid(uid string) func(*cluster.Pod) { return func(p *cluster.Pod) { p.UID = uid } }

func owner(uid string) func(*cluster.Pod) { return func(p *cluster.Pod) { p.Owner.UID = uid } }

func startedAt(second int) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Created, p.Started = at(second), at(second) }
}

func notStarted(p *cluster.Pod) { p.Started = time.Time{} }

func terminating(p *cluster.Pod) { p.Terminating = true }

// nodeWith is a ready node of 32 cores and 256 GiB with pods.
func nodeWith(name string, pods ...*cluster.Pod) *cluster.NodePods {
	return &cluster.NodePods{
		Node: cluster.Node{Name: name, Allocatable: cluster.Amounts{32000, 256 * gib}, Ready: true, Schedulable: true},
		Pods: pods,
	}
}

func snapshotOf(nodes ...*cluster.NodePods) *cluster.Snapshot { return &cluster.Snapshot{Nodes: nodes} }

// readings is a Batch in the making, measured and received at a second.
type readings struct {
	second int
	Batch
}

func readAt(second int) *readings {
	return &readings{second, Batch{Source: "test", Received: at(second)}}
}

func (r *readings) node(name string, used cluster.Amounts) *readings {
	r.Nodes = append(r.Nodes, NodeSample{name, Sample{at(r.second), used}})
	return r
}

func (r *readings) pod(name string, used cluster.Amounts) *readings {
	r.Pods = append(r.Pods, PodSample{"ns", name, Sample{at(r.second), used}})
	return r
}

// feed ingests the same usage of node n1 and of its pods every 15 s from one second up to and with another.
func feed(store *Store, snapshot *cluster.Snapshot, from, to int, node cluster.Amounts, pods map[string]cluster.Amounts) {
	for second := from; second <= to; second += 15 {
		r := readAt(second).node("n1", node)
		for name, used := range pods {
			r.pod(name, used)
		}
		store.Ingest(r.Batch, snapshot)
	}
}
