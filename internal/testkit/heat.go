package testkit

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Heat is a cluster as represented by a usage store and the lines.
type Heat struct {
	View   *usage.View
	Lines  *thresholds.Resolved
	States map[string]thresholds.NodeState
}

// The nodes of Unsettled.
const (
	// StartingNode is measured at 96.6% CPU, of which 94.6 come from 12 pods that
	// started four minutes ago and count for 8.5% for another two minutes.
	StartingNode = "starting"
	// EstimatedNode is measured at 10% CPU and predicted at 53%, because its ten
	// pods started four minutes ago and count with their requests.
	EstimatedNode = "estimated"
	// EndedNode is measured at 72% CPU, of which 60 come from a pod that has just
	// ended.
	EndedNode = "ended"
	// UnseenNode is measured at 67% CPU, of which 65 come from a pod that started
	// 200 s ago and has not been sampled yet.
	UnseenNode = "unseen"
	// SpikeNode is at 95% CPU in its newest sample only.
	SpikeNode = "spike"
	// CalmNode is at 10% CPU.
	CalmNode = "calm"
)

// UnsettledAt is when Unsettled is observed.
var UnsettledAt = time.Date(2026, 3, 1, 5, 28, 0, 0, time.UTC)

// Unsettled returns a cluster with nodes of 10 cores, none of which is hot although most
// are measured above their evict line of 65%. Usage is read as in the shipped policy,
// every 15 s: a pod counts from 345 s after its start.
func Unsettled(t testing.TB) Heat {
	t.Helper()
	store, err := usage.NewStore(usage.Config{
		SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 150 * time.Second, Startup: 3 * time.Minute,
		Windows:  []usage.Window{{Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute}},
		Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{85, 70}},
	}, UnsettledAt.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	cpu := thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 55}
	var rules []thresholds.Rule
	for _, window := range store.Windows()[1:] {
		rules = append(rules, thresholds.Rule{Metric: usage.CPU, Window: window, Levels: cpu})
	}
	set, err := thresholds.New([]thresholds.Pool{{Rules: rules}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	h := Heat{}
	for age := 225 * time.Second; age >= 0; age -= 15 * time.Second {
		now := UnsettledAt.Add(-age)
		snapshot, batch := unsettled(now, age)
		if age > 0 || len(batch.Nodes) > 0 {
			store.Ingest(snapshot, batch)
		}
		if age == 0 { // the pod has left since the sample
			snapshot = withoutPod(snapshot, "ended-big")
		}
		h.View = store.View(snapshot, now, nil)
		h.Lines = set.Resolve(h.View)
		h.States = h.Lines.Classify(h.States, thresholds.HotRule{ConsecutiveSamples: 100, SampleInterval: 15 * time.Second})
	}
	return h
}

// unsettled returns the cluster some time before UnsettledAt, and its
// measurements.
func unsettled(now time.Time, before time.Duration) (*cluster.Snapshot, usage.Batch) {
	snapshot, batch := &cluster.Snapshot{}, usage.Batch{Source: "test", Received: now}
	measured := now.Add(-time.Second)
	node := func(name string, system int64) {
		size := cluster.Amounts{10_000, 100 << 30}
		snapshot.Nodes = append(snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: size, Capacity: size, Ready: true, Schedulable: true}})
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Readings: usage.LastReadings(measured, cluster.Amounts{system, 10 << 30})})
	}
	pod := func(name string, age time.Duration, requests, used int64, sampled bool) {
		if age < before {
			return
		}
		last := len(snapshot.Nodes) - 1
		started := UnsettledAt.Add(-age)
		snapshot.Nodes[last].Pods = append(snapshot.Nodes[last].Pods, &cluster.Pod{
			UID: "uid-" + name, Namespace: "shop", Name: name, Node: snapshot.Nodes[last].Node.Name, Ready: true, Created: started, Started: started,
			Owner: cluster.Owner{UID: snapshot.Nodes[last].Node.Name, Kind: "ReplicaSet", Name: "web"}, Requests: cluster.Amounts{requests, 1 << 30},
		})
		if age-before < 15*time.Second {
			return // a rate requires two readings
		}
		batch.Nodes[last].Readings[0].Value += float64(used)
		if sampled {
			batch.Pods = append(batch.Pods, usage.PodSample{Namespace: "shop", Name: name, Last: usage.Sample{At: measured, Used: cluster.Amounts{used, 1 << 20}}})
		}
	}
	const old, young = 24 * time.Hour, 240 * time.Second
	node(CalmNode, 200)
	pod("calm-0", old, 500, 800, true)
	node(EndedNode, 200)
	pod("ended-big", old, 500, 6000, true)
	pod("ended-small", old, 500, 1000, true)
	node(EstimatedNode, 200)
	for i := range 10 {
		pod(fmt.Sprintf("estimated-%d", i), young, 600, 80, true)
	}
	node(SpikeNode, 200)
	spike := int64(800)
	if before == 0 {
		spike = 9300
	}
	pod("spike-0", old, 500, spike, true)
	node(StartingNode, 204)
	for i := range 12 {
		pod(fmt.Sprintf("starting-%02d", i), young, 100, 788, true)
	}
	node(UnseenNode, 200)
	pod("unseen-0", 200*time.Second, 100, 8000, false)
	return snapshot, batch
}

// withoutPod returns a snapshot without one pod.
func withoutPod(snapshot *cluster.Snapshot, name string) *cluster.Snapshot {
	without := &cluster.Snapshot{}
	for _, node := range snapshot.Nodes {
		left := &cluster.NodePods{Node: node.Node}
		for _, pod := range node.Pods {
			if pod.Name != name {
				left.Pods = append(left.Pods, pod)
			}
		}
		without.Nodes = append(without.Nodes, left)
	}
	return without
}
