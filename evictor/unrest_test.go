package evictor

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
)

func waiting(name, reason string, change ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "shop", name
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: reason}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func TestUnschedulablePods(t *testing.T) {
	e := newEstate(t,
		waiting("without a node", v1.PodReasonUnschedulable),
		waiting("gated", v1.PodReasonSchedulingGated),
		waiting("bound since", v1.PodReasonUnschedulable, func(p *v1.Pod) { p.Spec.NodeName = "n" }),
		waiting("ended", v1.PodReasonUnschedulable, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }),
		waiting("new", "", func(p *v1.Pod) { p.Status.Conditions = nil }),
	)
	if got := e.watched.Unschedulable(); got != 1 {
		t.Errorf("%d pods, want 1", got)
	}
}

func TestDrainingNodesAreSeen(t *testing.T) {
	node := func(change func(*cluster.Node)) *cluster.NodePods {
		info := &cluster.NodePods{Node: cluster.Node{Ready: true, Schedulable: true}}
		change(&info.Node)
		return info
	}
	calm, cordoned := func(*cluster.Node) {}, func(n *cluster.Node) { n.Schedulable = false }
	leaving, soft := func(n *cluster.Node) { n.Leaving = "karpenter.sh/disrupted" }, func(n *cluster.Node) { n.ClosedBy = "soft" }
	for name, tc := range map[string]struct {
		nodes []func(*cluster.Node)
		want  reasons.Reason
	}{
		"none":            {[]func(*cluster.Node){calm, calm, calm, calm}, ""},
		"one":             {[]func(*cluster.Node){calm, calm, calm, cordoned}, ""},
		"two":             {[]func(*cluster.Node){calm, calm, leaving, cordoned}, reasons.NodesDraining},
		"merely unwanted": {[]func(*cluster.Node){calm, calm, soft, soft}, ""},
	} {
		e := newEstate(t)
		rules := safeguards.New(safeguards.Config{Breaker: safeguards.Breaker{MaxDrainingPercent: 10, StandBack: time.Minute}})
		e.config.Settings.Safeguards = rules
		snapshot := &cluster.Snapshot{}
		for _, change := range tc.nodes {
			snapshot.Nodes = append(snapshot.Nodes, node(change))
		}
		e.lookAround(snapshot, noon)
		if got, detail := rules.At(safeguards.Facts{Unrest: &e.unrest}, noon).Closed(); got != tc.want {
			t.Errorf("%s: closed by %q (%s), want %q", name, got, detail, tc.want)
		}
	}
}
