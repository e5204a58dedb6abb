package evictor

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// replica is a ready pod of the ReplicaSet rs-1, or of what a change makes of
// it.
func replica(uid types.UID, change ...func(*v1.Pod)) *v1.Pod {
	pod := ownedBy("ReplicaSet", "rs-1")
	pod.UID, pod.Name = uid, string(uid)
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func unready(pod *v1.Pod) { pod.Status.Conditions[0].Status = v1.ConditionFalse }

func leaving(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: noon} }

func inStatefulSet(pod *v1.Pod) {
	pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].UID = "StatefulSet", "sts-1"
}

// By what its controller has counted, the last ready pod of an owner that wants
// several is not planned to be moved.
func TestOwnersRefuseTheLastReadyPod(t *testing.T) {
	ready := func(n int32) func(*appsv1.ReplicaSet) {
		return func(rs *appsv1.ReplicaSet) { rs.Status.ReadyReplicas = n }
	}
	cases := map[string]struct {
		owner any
		pod   *v1.Pod
		want  reasons.Reason
	}{
		"two are wanted, it is the ready one":        {replicaSet(2, ready(1)), replica("a"), reasons.LastReadyReplica},
		"its controller has not counted it yet":      {replicaSet(2, ready(0)), replica("a"), reasons.LastReadyReplica},
		"two are wanted, it is the one not ready":    {replicaSet(2, ready(1)), replica("a", unready), ""},
		"two are wanted and ready":                   {replicaSet(2), replica("a"), ""},
		"one is wanted":                              {replicaSet(1), replica("a"), ""},
		"of a StatefulSet that wants three, one is":  {statefulSet(func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }), replica("a", inStatefulSet), reasons.LastReadyReplica},
		"of a StatefulSet that wants three, two are": {statefulSet(func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 2 }), replica("a", inStatefulSet), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			e.add(t, tc.owner)
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// Just before its eviction a planned move's pod is held against the other pods
// of its owner: the last ready one stays. Evictions of upstream's plugins,
// which plan no destination, are not held against them.
func TestTheLastReadyPodStays(t *testing.T) {
	elsewhere := func(pod *v1.Pod) { pod.Namespace = "other" }
	ofAnother := func(pod *v1.Pod) { pod.OwnerReferences[0].UID = "rs-2" }
	planned := ledger.Intent{
		Namespace: "ns", Pod: "a", PodUID: "a", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, From: "hot", To: "cool",
	}
	unplanned := planned
	unplanned.To = ""
	cases := map[string]struct {
		wants  int32
		others []*v1.Pod
		intent ledger.Intent
		want   reasons.Reason
	}{
		"alone, though two are wanted":    {2, nil, planned, reasons.LastReadyReplica},
		"beside one that is not ready":    {2, []*v1.Pod{replica("b", unready)}, planned, reasons.LastReadyReplica},
		"beside one that leaves":          {2, []*v1.Pod{replica("b", leaving)}, planned, reasons.LastReadyReplica},
		"beside one of another owner":     {2, []*v1.Pod{replica("b", ofAnother)}, planned, reasons.LastReadyReplica},
		"beside one of another namespace": {2, []*v1.Pod{replica("b", elsewhere)}, planned, reasons.LastReadyReplica},
		"beside one that is ready":        {2, []*v1.Pod{replica("b", unready), replica("c")}, planned, ""},
		"the only one that is wanted":     {1, nil, planned, ""},
		"evicted by an upstream plugin":   {2, nil, unplanned, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, append(tc.others, replica("a"))...)
			e.add(t, replicaSet(tc.wants))
			if got, _ := e.Allow(&tc.intent); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A pod that this cycle has evicted does not count as ready, whatever the watch
// says of it.
func TestWhatIsEvictedIsNotReady(t *testing.T) {
	e := newEstate(t, replica("a"), replica("b"))
	e.add(t, replicaSet(2))
	lastReady := func() bool { return e.lastReady("ns", "a") }
	if lastReady() {
		t.Fatal("there is another one")
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}
	if err := e.client.Clientset(e.Evictor).PolicyV1().Evictions("ns").Evict(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	if !lastReady() {
		t.Error("it is not the last one, though the other was evicted")
	}
}
