package answer

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// bridge is an Answerer for a cluster of 10-core nodes whose usage the test sets.
type bridge struct {
	*Answerer
	t        testing.TB
	observer *observer.Observer
	now      time.Time
	used     map[string]int64 // CPU of nodes in milli-cores; unlisted nodes are not measured
	pods     []usage.PodSample
	shown    map[string]bool // the pods that the watch has shown, by UID
	capacity string          // of nodes, in cores; if empty, the same as allocatable, 10
}

func newBridge(t testing.TB, change ...func(*observer.Config)) *bridge {
	t.Helper()
	b := &bridge{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), used: map[string]int64{}, shown: map[string]bool{}}
	clock := func() time.Time { return b.now }
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	config := observer.Config{
		Sources: []observer.Source{source(b.read)},
		Usage: usage.Config{
			SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 75 * time.Second,
			Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: cluster.Amounts{250, 0}},
		},
		Scorer: scorer.Config{DampPercent: 5},
		Lines:  set,
		Hot:    thresholds.HotRule{ConsecutiveSamples: 1, SampleInterval: 15 * time.Second},
		Ledger: ledger.Config{SourceAvoidance: 10 * time.Minute}, SampleInterval: 15 * time.Second, Now: clock,
	}
	for _, c := range change {
		c(&config)
	}
	o, err := observer.New(config)
	if err != nil {
		t.Fatal(err)
	}
	b.observer, b.Answerer = o, NewAnswerer(o, clock)
	return b
}

// source is a Source named "test".
type source func(context.Context, *cluster.Snapshot) (usage.Batch, error)

func (source) Name() string { return "test" }

func (s source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	return s(ctx, snapshot)
}

func (b *bridge) read(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	batch := usage.Batch{Source: "test", Received: b.now}
	for name, cpu := range b.used {
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Readings: usage.LastReadings(b.now, cluster.Amounts{cpu, 0})})
	}
	for _, pod := range b.pods {
		pod.Last.At = b.now
		batch.Pods = append(batch.Pods, pod)
	}
	return batch, nil
}

// node adds a node. If usage is negative, the node is not measured.
func (b *bridge) node(name string, cpuMilli int64) {
	b.taint(name)
	if cpuMilli >= 0 {
		b.used[name] = cpuMilli
	}
}

// label sets the labels of a node that was added before.
func (b *bridge) label(name string, labels map[string]string) { b.set(name, labels, nil) }

// taint adds a node with taints of these keys, or replaces the taints of an existing one.
func (b *bridge) taint(name string, keys ...string) {
	var taints []v1.Taint
	for _, key := range keys {
		taints = append(taints, v1.Taint{Key: key, Effect: v1.TaintEffectPreferNoSchedule})
	}
	b.set(name, nil, taints)
}

func (b *bridge) set(name string, labels map[string]string, taints []v1.Taint) {
	b.observer.Store().SetNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       v1.NodeSpec{Taints: taints},
		Status: v1.NodeStatus{
			Capacity:    v1.ResourceList{v1.ResourceCPU: resource.MustParse(cmp.Or(b.capacity, "10")), v1.ResourceMemory: resource.MustParse("100Gi")},
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	})
}

// bind binds a pod of the ReplicaSet "web" to a node.
func (b *bridge) bind(uid, node string) {
	b.bindTo(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web-" + uid, UID: types.UID(uid), Labels: map[string]string{"pod-template-hash": "h1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: new(true)}},
		},
	}, node)
}

// bindTo binds a pod that has been running for an hour.
func (b *bridge) bindTo(pod *v1.Pod, node string) {
	pod.Spec.NodeName = node
	pod.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: b.now.Add(-time.Hour)}}
	b.observer.Store().SetPod(pod)
}

// observe samples for five minutes.
func (b *bridge) observe() {
	for range 21 {
		b.now = b.now.Add(15 * time.Second)
		b.observer.Sample(b.t.Context())
	}
}

// record records a move of a web pod that used 1 core.
func (b *bridge) record(n int, from, to string) string {
	uid := fmt.Sprintf("uid-%d", n)
	b.observer.Ledger().Record(b.now, ledger.Intent{
		Namespace: "ns", Pod: fmt.Sprintf("web-%d", n), PodUID: uid,
		Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
		Usage: cluster.Amounts{1000, 0}, From: from, To: to, TTL: time.Hour,
	})
	b.observer.Ledger().Leaves(uid, b.now)
	return uid
}

// webPod returns a new pod of the ReplicaSet "web" that requests 200m.
func webPod(uid string) *extender.Pod {
	return &extender.Pod{
		Namespace: "ns", Name: "web-" + uid, UID: uid, OwnerUID: "rs-1", OwnerKind: "ReplicaSet", OwnerName: "web", TemplateHash: "h1",
		CPUMilli: 200, MemoryBytes: extender.Absent,
	}
}

// strange returns a pod without an owner that requests the given CPU.
func strange(uid string, cpuMilli int64) *extender.Pod {
	return &extender.Pod{Namespace: "ns", Name: uid, UID: uid, CPUMilli: cpuMilli, MemoryBytes: extender.Absent}
}

// watch makes the pod watch show an unbound pod, as it does before kube-scheduler asks.
func (b *bridge) watch(pod *extender.Pod) {
	if b.shown[pod.UID] {
		return
	}
	b.shown[pod.UID] = true
	show(b.observer, pod)
}

func show(o *observer.Observer, pod *extender.Pod) {
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID), Labels: map[string]string{}}}
	if pod.OwnerUID != "" {
		object.OwnerReferences = []metav1.OwnerReference{{Kind: pod.OwnerKind, Name: pod.OwnerName, UID: types.UID(pod.OwnerUID), Controller: new(true)}}
	}
	if pod.TemplateHash != "" {
		object.Labels["pod-template-hash"], object.Labels["controller-revision-hash"] = pod.TemplateHash, pod.TemplateHash
	}
	if pod.HasClaims {
		object.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	}
	object.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}}
	resources := &object.Spec.Containers[0].Resources
	if pod.CPUMilli > 0 {
		resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(pod.CPUMilli, resource.DecimalSI)
	}
	if pod.LimitCPUMilli > 0 {
		resources.Limits[v1.ResourceCPU] = *resource.NewMilliQuantity(pod.LimitCPUMilli, resource.DecimalSI)
	}
	o.Store().SetPod(object)
}

// filter sends a filter request about a pod that the watch shows, and returns the answer for each
// node, by name.
func (b *bridge) filter(pod *extender.Pod, names ...string) map[string]extender.Reject {
	b.watch(pod)
	return b.filterUnseen(pod, names...)
}

// filterUnseen is like filter, but does not make the watch show the pod.
func (b *bridge) filterUnseen(pod *extender.Pod, names ...string) map[string]extender.Reject {
	round, nodes := b.open(names)
	reasons := make([]extender.Reject, len(names))
	round.Filter(pod, nodes, reasons)
	said := map[string]extender.Reject{}
	for i, name := range names {
		said[name] = reasons[i]
	}
	return said
}

func (b *bridge) prioritize(pod *extender.Pod, names ...string) map[string]int8 {
	b.watch(pod)
	return b.prioritizeUnseen(pod, names...)
}

func (b *bridge) prioritizeUnseen(pod *extender.Pod, names ...string) map[string]int8 {
	round, nodes := b.open(names)
	scores := make([]int8, len(names))
	round.Prioritize(pod, nodes, scores)
	said := map[string]int8{}
	for i, name := range names {
		said[name] = scores[i]
	}
	return said
}

func (b *bridge) open(names []string) (extender.Round, []cluster.NodeIndex) {
	round, nodes := b.Begin(), make([]cluster.NodeIndex, len(names))
	for i, name := range names {
		nodes[i] = cluster.NodeIndex(round.Node([]byte(name)))
	}
	return round, nodes
}

func podSample(name string, cpuMilli int64) usage.PodSample {
	return usage.PodSample{Namespace: "ns", Name: name, Last: usage.Sample{Used: cluster.Amounts{cpuMilli, 0}}}
}

// predicted returns the predicted CPU usage of nodes, in milli-cores.
func (b *bridge) predicted(names ...string) map[string]int64 {
	board, all := b.observer.Latest().Board, map[string]int64{}
	for _, name := range names {
		amounts, _ := board.Predicted(board.Node([]byte(name)))
		all[name] = amounts[cluster.CPU]
	}
	return all
}
