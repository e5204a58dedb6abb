package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/cluster"
)

// usedAlone makes cmp ignore the expectations in readings.
func usedAlone() cmp.Option {
	return cmp.Options{cmpopts.IgnoreFields(PodUsage{}, "Expected", "PeakMilliCores", "MeasuredIn", "Assumed"), cmpopts.IgnoreFields(NodeUsage{}, "Expected", "PeakMilliCores")}
}

const (
	gib = 1 << 30
	mib = 1 << 20
)

// epoch returns the start of every test's store.
func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func at(second int) time.Time { return epoch().Add(time.Duration(second) * time.Second) }

func amounts(cpuMilli, memoryMiB int64) cluster.Amounts {
	return cluster.Amounts{cluster.CPU: cpuMilli, cluster.Memory: memoryMiB * mib}
}

// testConfig samples every 15 s; a request counts at 85 % of its CPU and 70 %
// of its memory.
func testConfig() Config {
	return Config{
		SampleInterval: 15 * time.Second,
		MaxAge:         90 * time.Second,
		MinWindow:      75 * time.Second,
		Estimate:       Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: amounts(250, 200)},
	}
}

func newStore(t testing.TB, change ...func(*Config)) *Store {
	t.Helper()
	config := testConfig()
	for _, c := range change {
		c(&config)
	}
	store, err := NewStore(config, epoch())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// wanting adds windows by name to last and avg_5m.
func wanting(t testing.TB, names ...string) func(*Config) {
	t.Helper()
	windows := make([]Window, len(names))
	for i, name := range names {
		windows[i] = window(t, name)
	}
	return func(c *Config) { c.Windows = windows }
}

func signalling(metrics ...Metric) func(*Config) { return func(c *Config) { c.Signals = metrics } }

func window(t testing.TB, name string) Window {
	t.Helper()
	w, err := ParseWindow(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// aPod returns a pod that has run on n1 since long before the epoch. It belongs
// to the ReplicaSet "web" and requests 1 core and 1 GiB.
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

// nodeWith returns a ready node of 32 cores and 256 GiB with pods.
func nodeWith(name string, pods ...*cluster.Pod) *cluster.NodePods {
	return &cluster.NodePods{
		Node: cluster.Node{Name: name, Allocatable: cluster.Amounts{32000, 256 * gib}, Ready: true, Schedulable: true},
		Pods: pods,
	}
}

func snapshotOf(nodes ...*cluster.NodePods) *cluster.Snapshot { return &cluster.Snapshot{Nodes: nodes} }

// told builds a Batch that is received at a second. Whatever is added was measured at that second
// unless measuredAt changes it.
type told struct {
	second int
	Batch
}

func readAt(second int) *told { return readBy("test", second) }

func readBy(source string, second int) *told {
	return &told{second, Batch{Source: source, Received: at(second)}}
}

func (b *told) measuredAt(second int) *told {
	b.second = second
	return b
}

// node adds a node with its last cpu and memory values.
func (b *told) node(name string, used cluster.Amounts) *told {
	b.Nodes = append(b.Nodes, NodeSample{name, LastReadings(at(b.second), used)})
	return b
}

// means adds a node with its five-minute means of cpu and memory.
func (b *told) means(name string, used cluster.Amounts) *told {
	b.node(name, used)
	for i := range b.Nodes[len(b.Nodes)-1].Readings {
		b.Nodes[len(b.Nodes)-1].Readings[i].Window = Avg5m
	}
	return b
}

// reading adds a reading to the node that was added last, or to a new node.
func (b *told) reading(name string, metric Metric, window Window, value float64) *told {
	if n := len(b.Nodes); n == 0 || b.Nodes[n-1].Name != name {
		b.Nodes = append(b.Nodes, NodeSample{Name: name})
	}
	sample := &b.Nodes[len(b.Nodes)-1]
	sample.Readings = append(sample.Readings, Reading{Metric: metric, Window: window, At: at(b.second), Value: value})
	return b
}

func (b *told) pod(name string, used cluster.Amounts) *told {
	b.Pods = append(b.Pods, PodSample{Namespace: "ns", Name: name, Last: Sample{at(b.second), used}})
	return b
}

func (b *told) podMean(name string, used cluster.Amounts) *told {
	b.Pods = append(b.Pods, PodSample{Namespace: "ns", Name: name, Avg5m: Sample{at(b.second), used}})
	return b
}

// feed ingests the same usage of node n1 and of its pods every 15 s, from second from to second to,
// inclusive.
func feed(store *Store, snapshot *cluster.Snapshot, from, to int, node cluster.Amounts, pods map[string]cluster.Amounts) {
	for second := from; second <= to; second += 15 {
		r := readAt(second).node("n1", node)
		for name, used := range pods {
			r.pod(name, used)
		}
		store.Ingest(snapshot, r.Batch)
	}
}

// both repeats a usage for the two windows of every View.
func both(used cluster.Amounts) []cluster.Amounts { return []cluster.Amounts{used, used} }

// node1 returns the first node of a view at a second.
func node1(store *Store, snapshot *cluster.Snapshot, second int) *NodeUsage {
	return &store.View(snapshot, at(second), nil).Nodes[0]
}

// counts returns the problems of the source "test" without their examples.
func counts(problems map[string]Problems) map[Cause]int {
	found := map[Cause]int{}
	for cause, problem := range problems["test"] {
		found[cause] = problem.Count
	}
	return found
}
