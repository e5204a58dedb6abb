package evictor

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
)

// fleet is a cluster of many nodes as an Observer sees it.
type fleet struct {
	latest *observer.Observation
	ledger *ledger.Ledger
}

func (f *fleet) Latest() *observer.Observation { return f.latest }
func (f *fleet) Ledger() *ledger.Ledger        { return f.ledger }

// aFleet returns an estate with the given number of nodes, each with 30 pods, and owners with the
// given number of pods. Every second owner has a budget of a tenth. The ledger is full of moves of
// the last two hours. anew clears cached counts.
func aFleet(b *testing.B, nodes, replicas int) (e *estate, pods []*v1.Pod, anew func()) {
	b.Helper()
	const perNode = 30
	e = newEstate(b)
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		b.Fatal(err)
	}
	view := &usage.View{Windows: []usage.Window{usage.Last, usage.Avg5m}, Snapshot: &cluster.Snapshot{}, Nodes: make([]usage.NodeUsage, nodes)}
	used := []cluster.Amounts{{5000, 1 << 30}, {5000, 1 << 30}}
	for i := range nodes {
		size := cluster.Amounts{10_000, 100 << 30}
		view.Nodes[i] = usage.NodeUsage{Measured: used, Current: used, Predicted: used, SourceSpan: make([]time.Duration, 2), Sampled: noon}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: fmt.Sprintf("node-%05d", i), Allocatable: size, Capacity: size, Ready: true, Schedulable: true,
		}})
	}
	owners := nodes * perNode / replicas
	store := e.factory.Core().V1().Pods().Informer().GetIndexer()
	for i := range nodes * perNode {
		owner, at := fmt.Sprint("rs-", i%owners), view.Snapshot.Nodes[i%nodes]
		pod := replica(types.UID(fmt.Sprint("pod-", i)))
		pod.Namespace, pod.Spec.NodeName, pod.Labels = fmt.Sprint("ns-", i%owners%100), at.Node.Name, map[string]string{"app": owner}
		pod.OwnerReferences[0].UID, pod.OwnerReferences[0].Name = types.UID(owner), owner
		if err := store.Add(pod); err != nil {
			b.Fatal(err)
		}
		pods = append(pods, pod)
		at.Pods = append(at.Pods, &cluster.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Node: at.Node.Name, Owner: cluster.Owner{Kind: "ReplicaSet", UID: owner}})
	}
	for i := range owners {
		name, namespace := fmt.Sprint("rs-", i), fmt.Sprint("ns-", i%100)
		e.add(b, replicaSet(int32(replicas), func(rs *appsv1.ReplicaSet) { rs.Name, rs.Namespace, rs.UID = name, namespace, types.UID(name) }))
		if i%2 == 0 {
			continue
		}
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(max(replicas/10, 1))},
		}
		if err := e.factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(budget); err != nil {
			b.Fatal(err)
		}
	}
	var history ledger.Document
	for i := range ledger.DefaultKeepEnded {
		at, pod := noon.Add(-2*time.Hour+time.Duration(i)*3*time.Second), pods[len(pods)-1-i]
		history.Moves = append(history.Moves, ledger.Move{
			Intent: ledger.Intent{Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Owner: cluster.Owner{Kind: "ReplicaSet", UID: string(pod.OwnerReferences[0].UID)}, From: pod.Spec.NodeName, To: "node-00001"},
			State:  ledger.Landed, Node: "node-00001", Recorded: at, Evicted: at, Ended: at.Add(30 * time.Second),
		})
	}
	e.ledger.Adopt(history, noon)
	f := &fleet{ledger: e.ledger}
	lines := set.Resolve(view)
	f.latest = &observer.Observation{View: view, Lines: lines, Board: scorer.NewBoard(view, lines, scorer.Config{})}
	e.config.Observer = f
	e.config.Settings.Safeguards = safeguards.New(safeguards.Config{
		MaxPercentPerHour: 5, MaxPercentPerHourOfOwner: 50, NodeSettle: time.Minute, MoveTTL: 5 * time.Minute,
		Cooldown: safeguards.Cooldown{Base: 10 * time.Minute, Max: 6 * time.Hour}, Breaker: lenient,
	})
	e.config.Settings.Interval, e.config.Settings.Deadline, e.config.Settings.OwnerPercent = 200*time.Millisecond, 10*time.Minute, 10
	return e, pods, func() {
		e.counted.Store(nil)
		e.tallies = nil
	}
}

// BenchmarkPace estimates how long the moves of a plan take, which happens between the plan and its
// first eviction. The cluster has 15,000 nodes with 450,000 pods, and the limits are the shipped
// ones.
func BenchmarkPace(b *testing.B) {
	const nodes, perCycle = 15_000, 100
	for _, replicas := range []int{10, 1000} {
		e, pods, anew := aFleet(b, nodes, replicas)
		for _, hot := range []int{10, 100} {
			var moves []strategies.Move
			for i := range hot * 20 { // 20 of the 30 on each node
				pod := pods[i%hot+i/hot*nodes]
				moves = append(moves, strategies.Move{From: pod.Spec.NodeName, To: "node-09999", Pod: strategies.Pod{Pod: &cluster.Pod{
					Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID), Owner: cluster.Owner{Kind: "ReplicaSet", UID: string(pod.OwnerReferences[0].UID)},
				}}})
			}
			b.Run(fmt.Sprintf("moves=%d/replicas=%d", len(moves), replicas), func(b *testing.B) {
				for b.Loop() {
					anew()
					if got := e.pace(moves, perCycle, 0); len(got) != hot {
						b.Fatalf("the pace of %d nodes, want %d", len(got), hot)
					}
				}
			})
		}
	}
}
