package evictor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// estate is an Evictor on what informers know, fed by hand.
type estate struct {
	*Evictor
	watched *Watched
	factory informers.SharedInformerFactory
	ledger  *ledger.Ledger
	client  *Client
}

// at is a clock that stands.
type at time.Time

func (a at) Now() time.Time { return time.Time(a) }

func (a at) Local() time.Time { return time.Time(a) }

func newEstate(t *testing.T, pods ...*v1.Pod) *estate {
	t.Helper()
	kube := fake.NewClientset()
	e := &estate{factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0), ledger: ledger.New(ledger.Config{})}
	e.watched = NewWatched(e.factory, e.ledger, at(noon))
	if err := e.watched.WatchOwners(&placement.Filters{}); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		if err := e.factory.Core().V1().Pods().Informer().GetIndexer().Add(pod); err != nil {
			t.Fatal(err)
		}
		if err := kube.Tracker().Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	p := &play{t: t, ledger: e.ledger}
	var err error
	e.client, err = NewClient(ClientConfig{Kube: kube, Ledger: e.ledger, Authority: p, Clock: at(noon), Timeout: time.Second, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	e.Evictor, err = New(Config{
		Observer: p, Cluster: e.watched, Evictions: e.client, Clock: at(noon),
		Settings: Settings{OwnerSettle: 3 * time.Minute, Deadline: time.Minute, Safeguards: safeguards.New(safeguards.Config{Breaker: lenient})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *estate) add(t *testing.T, object any) {
	t.Helper()
	var err error
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		err = e.factory.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(o)
	case *appsv1.StatefulSet:
		err = e.factory.Apps().V1().StatefulSets().Informer().GetIndexer().Add(o)
	case *policyv1.PodDisruptionBudget:
		err = e.factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replicaSet is an hour old and has what it wants.
func replicaSet(replicas int32, change ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "rs-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
		Status:     appsv1.ReplicaSetStatus{Replicas: replicas, ReadyReplicas: replicas},
	}
	for _, c := range change {
		c(rs)
	}
	return rs
}

func statefulSet(change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	replicas := int32(3)
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "sts-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}},
		Spec:       appsv1.StatefulSetSpec{Replicas: &replicas},
		Status:     appsv1.StatefulSetStatus{CurrentRevision: "1", UpdateRevision: "1", ReadyReplicas: replicas},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func ownedBy(kind string, uid types.UID) *v1.Pod {
	controller := true
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: "web", UID: uid, Controller: &controller}},
	}}
}

func budget(name string, status policyv1.PodDisruptionBudgetStatus) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}, Status: status,
	}
}

// Whose pods may not be moved, and why.
func TestOwnersRefuse(t *testing.T) {
	room := policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 2}
	cases := map[string]struct {
		objects []any
		pod     *v1.Pod
		want    reasons.Reason
	}{
		"a settled ReplicaSet": {objects: []any{replicaSet(3)}, pod: ownedBy("ReplicaSet", "rs-1")},
		"created a minute ago": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.CreationTimestamp.Time = noon.Add(-time.Minute) })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerRollingOut,
		},
		"not all of its pods there yet": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = 2 })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerRollingOut,
		},
		"not seen by its controller": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Generation = 2 })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerRollingOut,
		},
		"its Deployment wants five in all": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) {
				rs.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": "5"}
			})},
			pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerRollingOut,
		},
		"a ReplicaSet nobody knows":          {pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerUnknown},
		"a ReplicaSet of the name, another":  {objects: []any{replicaSet(3)}, pod: ownedBy("ReplicaSet", "rs-2"), want: reasons.OwnerUnknown},
		"a settled StatefulSet":              {objects: []any{statefulSet()}, pod: ownedBy("StatefulSet", "sts-1")},
		"a controller of somebody else":      {pod: ownedBy("Thing", "thing-1")},
		"one budget":                         {objects: []any{replicaSet(3), budget("a", room)}, pod: ownedBy("ReplicaSet", "rs-1")},
		"one budget that never leaves room":  {objects: []any{replicaSet(3), budget("a", policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 3})}, pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.PodDisruptionBudgetForbids},
		"two budgets":                        {objects: []any{replicaSet(3), budget("a", room), budget("b", room)}, pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.SeveralPodDisruptionBudgets},
		"a StatefulSet between two revision": {objects: []any{statefulSet(func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "2" })}, pod: ownedBy("StatefulSet", "sts-1"), want: reasons.OwnerRollingOut},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			for _, object := range tc.objects {
				e.add(t, object)
			}
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// An owner that was just scaled is left alone for a while, and of a smaller one
// as many moves fewer stay in flight.
func TestOwnersScaled(t *testing.T) {
	cases := map[string]struct {
		change   func(*estate)
		refused  reasons.Reason
		inFlight int
	}{
		"nothing but its status changed": {func(e *estate) { e.watched.updated(replicaSet(5), replicaSet(5)) }, "", 3},
		"scaled up":                      {func(e *estate) { e.watched.updated(replicaSet(4), replicaSet(5)) }, reasons.OwnerJustScaled, 3},
		"scaled down by two":             {func(e *estate) { e.watched.updated(replicaSet(7), replicaSet(5)) }, reasons.OwnerJustScaled, 1},
		"deleted":                        {func(e *estate) { e.watched.updated(replicaSet(4), replicaSet(5)); e.watched.deleted(replicaSet(5)) }, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			e.add(t, replicaSet(5))
			for _, pod := range []string{"a", "b", "c"} {
				e.ledger.Record(noon, ledger.Intent{PodUID: pod, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"}, TTL: time.Hour})
			}
			tc.change(e)
			if got := e.Refuse(ownedBy("ReplicaSet", "rs-1")); got != tc.refused {
				t.Errorf("refused for %q, want %q", got, tc.refused)
			}
			if inFlight, _ := e.ledger.Moves(); len(inFlight) != tc.inFlight {
				t.Errorf("%d moves in flight, want %d", len(inFlight), tc.inFlight)
			}
		})
	}
}

// Pods in the order in which they are moved, other things being equal.
func TestDisruptionOrder(t *testing.T) {
	e := newEstate(t)
	e.add(t, replicaSet(50))
	e.add(t, statefulSet())
	withQoS := func(class v1.PodQOSClass, pod *v1.Pod) *v1.Pod {
		pod.Status.QOSClass = class
		return pod
	}
	reluctant := withQoS(v1.PodQOSBestEffort, ownedBy("ReplicaSet", "rs-1"))
	reluctant.Annotations = map[string]string{preferNoEviction: ""}
	ordered := map[string]*v1.Pod{
		"1 one of fifty":           withQoS(v1.PodQOSBestEffort, ownedBy("ReplicaSet", "rs-1")),
		"2 one of three":           withQoS(v1.PodQOSBestEffort, ownedBy("StatefulSet", "sts-1")),
		"3 of an unknown number":   withQoS(v1.PodQOSBestEffort, ownedBy("Thing", "thing-1")),
		"4 burstable":              withQoS(v1.PodQOSBurstable, ownedBy("ReplicaSet", "rs-1")),
		"5 guaranteed":             withQoS(v1.PodQOSGuaranteed, ownedBy("ReplicaSet", "rs-1")),
		"6 asks not to be evicted": reluctant,
	}
	costs := map[string]int64{}
	for name, pod := range ordered {
		costs[name] = e.Disruption(pod)
	}
	for a, costA := range costs {
		for b, costB := range costs {
			if a < b && costA >= costB {
				t.Errorf("%q costs %d, not less than %q with %d", a, costA, b, costB)
			}
		}
	}
	if diff := cmp.Diff(50, e.watched.Owner(ordered["1 one of fifty"]).Replicas); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}
