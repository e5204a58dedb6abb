package evictor

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// estate is an Evictor whose informers the test feeds.
type estate struct {
	*Evictor
	watched *Watched
	factory informers.SharedInformerFactory
	ledger  *ledger.Ledger
	client  *Client
}

// Refuse returns why a pod with known usage must not be moved.
func (e *estate) Refuse(pod *v1.Pod) reasons.Reason { return refuse(e.Evictor, pod) }

func refuse(e *Evictor, pod *v1.Pod) reasons.Reason {
	return e.Refuse(context.Background(), candidateOf(pod), anyProfile)
}

func candidateOf(pod *v1.Pod) *strategies.Candidate {
	return &strategies.Candidate{Object: pod, Record: informed.Pod(pod), Read: &usage.PodUsage{Measured: true}}
}

// anyProfile is a profile whose filters and strategy allow every pod to be moved.
var anyProfile = &strategies.Profile{
	Filter: func(*v1.Pod) bool { return true }, PreEvictionFilter: func(*v1.Pod) bool { return true }, Spares: func(string) bool { return false },
}

// at is a clock that stands still.
type at time.Time

func (a at) Now() time.Time { return time.Time(a) }

func (a at) Local() time.Time { return time.Time(a) }

func newEstate(t testing.TB, pods ...*v1.Pod) *estate {
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
		Observer: p, Cluster: e.watched, Evictions: e.client, DryRun: e.client, Clock: at(noon),
		Settings: Settings{EvictJobs: true, SchedulerNames: []string{""}, Recreating: []schema.GroupKind{{Group: "apps", Kind: "CloneSet"}}, OwnerSettle: 3 * time.Minute, Deadline: time.Minute, Safeguards: safeguards.New(safeguards.Config{Breaker: lenient})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *estate) add(t testing.TB, object any) {
	t.Helper()
	var err error
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		err = e.factory.Apps().V1().ReplicaSets().Informer().GetIndexer().Add(o)
	case *appsv1.StatefulSet:
		err = e.factory.Apps().V1().StatefulSets().Informer().GetIndexer().Add(o)
	case *v1.ReplicationController:
		err = e.factory.Core().V1().ReplicationControllers().Informer().GetIndexer().Add(o)
	case *batchv1.Job:
		err = e.factory.Batch().V1().Jobs().Informer().GetIndexer().Add(o)
	case *batchv1.CronJob:
		err = e.factory.Batch().V1().CronJobs().Informer().GetIndexer().Add(o)
	case *v1.Namespace:
		err = e.factory.Core().V1().Namespaces().Informer().GetIndexer().Add(o)
	case *v1.ResourceQuota:
		err = e.factory.Core().V1().ResourceQuotas().Informer().GetIndexer().Add(o)
	case *policyv1.PodDisruptionBudget:
		err = e.factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replicaSet returns a ReplicaSet that is an hour old and has all the pods that it wants.
func replicaSet(replicas int32, change ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "rs-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
		Status:     appsv1.ReplicaSetStatus{Replicas: replicas},
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
		Status:     appsv1.StatefulSetStatus{CurrentRevision: "1", UpdateRevision: "1", Replicas: replicas},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func replicationController(change ...func(*v1.ReplicationController)) *v1.ReplicationController {
	rc := &v1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "rc-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}},
		Spec:       v1.ReplicationControllerSpec{Replicas: new(int32(3))},
		Status:     v1.ReplicationControllerStatus{Replicas: 3, ReadyReplicas: 3},
	}
	for _, c := range change {
		c(rc)
	}
	return rc
}

func replicated(pod *v1.Pod) {
	ref := &pod.OwnerReferences[0]
	ref.APIVersion, ref.Kind, ref.UID = "v1", "ReplicationController", "rc-1"
}

func inReplicationController() *v1.Pod {
	pod := ownedBy("ReplicaSet", "rs-1")
	replicated(pod)
	return pod
}

// namespace returns a Namespace with an annotation about evictions.
func namespace(name, evict string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"evenkeel.io/evict": evict}}}
}

func ownedBy(kind string, uid types.UID) *v1.Pod {
	controller := true
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: "web", UID: uid, Controller: &controller}},
	}}
}

func budget(name string, status policyv1.PodDisruptionBudgetStatus) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}, Status: status,
	}
}

// A StatefulSet whose update is in progress is left alone. If the update waits for a user, only
// pods that an eviction would update are left alone.
func TestStatefulSetsThatAreUpdated(t *testing.T) {
	inRevision := func(revision string) *v1.Pod {
		pod := ownedBy("StatefulSet", "sts-1")
		pod.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}
		return pod
	}
	between := func(strategy appsv1.StatefulSetUpdateStrategy, updated int32) *appsv1.StatefulSet {
		return statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy, s.Status.CurrentRevision = strategy, "old"
			s.Status.UpdateRevision, s.Status.UpdatedReplicas = "new", updated
		})
	}
	onDelete := appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	rolling := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	from := func(partition int32) appsv1.StatefulSetUpdateStrategy {
		strategy := rolling
		strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
		return strategy
	}
	for name, tc := range map[string]struct {
		set  *appsv1.StatefulSet
		pod  *v1.Pod
		want reasons.Reason
	}{
		"OnDelete, a pod that would be updated": {between(onDelete, 1), inRevision("old"), reasons.OwnerRollingOut},
		"OnDelete, a pod that is updated":       {between(onDelete, 1), inRevision("new"), ""},
		"rolling":                               {between(rolling, 2), inRevision("new"), reasons.OwnerRollingOut},
		"rolling from the first":                {between(from(0), 2), inRevision("new"), reasons.OwnerRollingOut},
		"rolling to its partition":              {between(from(1), 1), inRevision("old"), reasons.OwnerRollingOut},
		"at rest at its partition":              {between(from(1), 2), inRevision("old"), ""},
		"at rest, none is to be updated":        {between(from(3), 0), inRevision("old"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, replica("s-0", inStatefulSet), replica("s-1", inStatefulSet))
			e.add(t, tc.set)
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// Checks read the labels and annotations of Namespaces, including those that are not known yet.
func TestNamespaces(t *testing.T) {
	e := newEstate(t)
	shop := namespace("shop", "false")
	shop.Labels = map[string]string{"team": "web"}
	e.add(t, shop)
	for name, want := range map[string]*v1.Namespace{"shop": shop, "new": {}} {
		if diff := cmp.Diff(want, e.watched.Namespace(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := new(Watched).Namespace("shop"); len(got.Annotations) > 0 {
		t.Errorf("got %v without a watch", got)
	}
}

// The cases show whose pods must not be moved, and why.
func TestOwnersRefuse(t *testing.T) {
	room := policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 2, DisruptionsAllowed: 1}
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
		"more pods than it wants": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = 4 })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerScaledDown,
		},
		"not seen by its controller": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Generation = 2 })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerRollingOut,
		},
		"its Deployment wants five in total": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) {
				rs.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": "5"}
			})},
			pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerRollingOut,
		},
		"an unknown ReplicaSet":             {pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerUnknown},
		"a ReplicaSet of the name, another": {objects: []any{replicaSet(3)}, pod: ownedBy("ReplicaSet", "rs-2"), want: reasons.OwnerUnknown},
		"a ReplicaSet that is deleted": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.DeletionTimestamp = &metav1.Time{Time: noon} })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerDeleting,
		},
		"a ReplicaSet scaled below its pods": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = 4 })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.OwnerScaledDown,
		},
		"a StatefulSet scaled below its pods": {
			objects: []any{statefulSet(func(s *appsv1.StatefulSet) { s.Status.Replicas = 4 })},
			pod:     ownedBy("StatefulSet", "sts-1"), want: reasons.OwnerScaledDown,
		},
		"a settled ReplicationController":           {objects: []any{replicationController()}, pod: inReplicationController()},
		"an unknown ReplicationController":          {pod: inReplicationController(), want: reasons.OwnerUnknown},
		"a ReplicationController below its pods":    {objects: []any{replicationController(func(rc *v1.ReplicationController) { rc.Status.Replicas = 4 })}, pod: inReplicationController(), want: reasons.OwnerScaledDown},
		"a ReplicationController that is scaled up": {objects: []any{replicationController(func(rc *v1.ReplicationController) { rc.Spec.Replicas = new(int32(4)) })}, pod: inReplicationController(), want: reasons.OwnerPodsUnavailable},
		"an owner that forbids it": {
			objects: []any{replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Annotations = map[string]string{"evenkeel.io/evict": "false"} })},
			pod:     ownedBy("ReplicaSet", "rs-1"), want: reasons.EvictionDeclined,
		},
		"a Namespace that forbids it": {
			objects: []any{replicaSet(3), namespace("ns", "false")}, pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.EvictionDeclined,
		},
		"a Namespace that allows it":         {objects: []any{replicaSet(3), namespace("ns", "true")}, pod: ownedBy("ReplicaSet", "rs-1")},
		"another Namespace that forbids":     {objects: []any{replicaSet(3), namespace("other", "false")}, pod: ownedBy("ReplicaSet", "rs-1")},
		"a settled StatefulSet":              {objects: []any{statefulSet()}, pod: ownedBy("StatefulSet", "sts-1")},
		"someone else's controller":          {pod: ownedBy("Thing", "thing-1"), want: reasons.ControllerUnknown},
		"a controller that the policy knows": {pod: ownedBy("CloneSet", "clones-1")},
		"one budget":                         {objects: []any{replicaSet(3), budget("a", room)}, pod: ownedBy("ReplicaSet", "rs-1")},
		"one budget that never leaves room":  {objects: []any{replicaSet(3), budget("a", policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 3})}, pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.PodDisruptionBudgetForbids},
		"two budgets":                        {objects: []any{replicaSet(3), budget("a", room), budget("b", room)}, pod: ownedBy("ReplicaSet", "rs-1"), want: reasons.SeveralPodDisruptionBudgets},
		"a StatefulSet between two revision": {objects: []any{statefulSet(func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "2" })}, pod: ownedBy("StatefulSet", "sts-1"), want: reasons.OwnerRollingOut},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, slices.Concat(replicas(2), []*v1.Pod{
				replica("s-0", inStatefulSet), replica("s-1", inStatefulSet), replica("r-0", replicated), replica("r-1", replicated),
			})...)
			for _, object := range tc.objects {
				e.add(t, object)
			}
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// An owner that was just scaled is left alone for a while. If it was scaled down, that many fewer
// of its moves stay in flight.
func TestOwnersScaled(t *testing.T) {
	cases := map[string]struct {
		change   func(*estate)
		refused  reasons.Reason
		inFlight int
	}{
		"only its status changed": {func(e *estate) { e.watched.updated(replicaSet(5), replicaSet(5)) }, "", 3},
		"scaled up":               {func(e *estate) { e.watched.updated(replicaSet(4), replicaSet(5)) }, reasons.OwnerJustScaled, 3},
		"scaled down by two":      {func(e *estate) { e.watched.updated(replicaSet(7), replicaSet(5)) }, reasons.OwnerJustScaled, 1},
		"deleted":                 {func(e *estate) { e.watched.updated(replicaSet(4), replicaSet(5)); e.watched.deleted(replicaSet(5)) }, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, replicas(4)...)
			e.add(t, replicaSet(5))
			for _, pod := range []string{"a", "b", "c"} {
				e.ledger.Record(noon, ledger.Intent{Namespace: "ns", PodUID: pod, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"}, TTL: time.Hour})
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

// A rollout does not change the age of a StatefulSet although its pods are new, so the end of the
// rollout counts.
func TestStatefulSetsThatWereUpdated(t *testing.T) {
	in := func(current, update string, updated int32, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		return statefulSet(append(change, func(s *appsv1.StatefulSet) {
			s.Status.CurrentRevision, s.Status.UpdateRevision, s.Status.UpdatedReplicas = current, update, updated
		})...)
	}
	atTwo := func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
	}
	for name, tc := range map[string]struct {
		before, after *appsv1.StatefulSet
		want          reasons.Reason
	}{
		"a rollout has ended":               {in("1", "2", 2), in("2", "2", 3), reasons.OwnerRollingOut},
		"it has come to rest at its bounds": {in("1", "2", 0, atTwo), in("1", "2", 1, atTwo), reasons.OwnerRollingOut},
		"still at rest":                     {in("1", "2", 1, atTwo), in("1", "2", 1, atTwo), ""},
		"nothing was rolled out":            {in("1", "1", 3), in("1", "1", 3), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := ownedBy("StatefulSet", "sts-1")
			pod.Name = "web-1"
			e := newEstate(t, pod)
			e.add(t, tc.after)
			e.watched.updated(tc.before, tc.after)
			o := e.watched.Owner(pod)
			if got, until := o.Refuses(noon.Add(5*time.Second), 3*time.Minute); got != tc.want || got != "" && !until.Equal(noon.Add(3*time.Minute)) {
				t.Errorf("after 5 s: %q until %v, want %q", got, until, tc.want)
			}
			if got, _ := o.Refuses(noon.Add(3*time.Minute), 3*time.Minute); got != "" {
				t.Errorf("after 3 min: %q", got)
			}
		})
	}
}

// A StatefulSet that wants fewer pods does not recreate those with the highest ordinals. It does
// recreate those with lower ones, whichever pod was evicted first.
func TestStatefulSetsScaled(t *testing.T) {
	replicas := func(n int32, first int32) *appsv1.StatefulSet {
		return statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.Replicas = &n
			if first > 0 {
				s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: first}
			}
		})
	}
	for name, tc := range map[string]struct {
		before, after *appsv1.StatefulSet
		want          []string
	}{
		"its status changed":            {replicas(10, 0), replicas(10, 0), []string{"s-0", "s-4", "s-9"}},
		"scaled up":                     {replicas(10, 0), replicas(12, 0), []string{"s-0", "s-4", "s-9"}},
		"scaled down by one":            {replicas(10, 0), replicas(9, 0), []string{"s-0", "s-4"}},
		"scaled down to one":            {replicas(10, 0), replicas(1, 0), []string{"s-0"}},
		"scaled down to none":           {replicas(10, 0), replicas(0, 0), nil},
		"it begins with a later number": {replicas(10, 0), replicas(10, 3), []string{"s-4", "s-9"}},
		"it ends with a later number":   {replicas(10, 0), replicas(6, 4), []string{"s-4", "s-9"}},
		"scaled down, but not to zero":  {replicas(15, 0), replicas(12, 0), []string{"s-0", "s-4", "s-9"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			for _, pod := range []string{"s-0", "s-4", "s-9"} {
				e.ledger.Record(noon, ledger.Intent{Namespace: "ns", Pod: pod, PodUID: pod, Owner: cluster.Owner{UID: "sts-1", Kind: "StatefulSet"}, TTL: time.Hour})
				e.ledger.Leaves(pod, noon)
			}
			e.watched.updated(tc.before, tc.after)
			var got []string
			for _, move := range e.ledger.InFlight() {
				got = append(got, move.Pod)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("in flight (-want +got):\n%s", diff)
			}
		})
	}
}

// The pods are in the order in which they are moved, other things being equal.
func TestDisruptionOrder(t *testing.T) {
	e := newEstate(t)
	e.add(t, replicaSet(50))
	e.add(t, statefulSet())
	withQoS := func(class v1.PodQOSClass, pod *v1.Pod) *v1.Pod {
		pod.Status.QOSClass = class
		return pod
	}
	reluctant := withQoS(v1.PodQOSBestEffort, ownedBy("ReplicaSet", "rs-1"))
	reluctant.Annotations = map[string]string{strategies.PreferNoEviction: ""}
	valued := func(cost string, pod *v1.Pod) *v1.Pod {
		pod.Annotations = map[string]string{v1.PodDeletionCost: cost}
		return pod
	}
	ordered := map[string]*v1.Pod{
		"0 of the lowest cost":     valued("-2147483648", withQoS(v1.PodQOSGuaranteed, ownedBy("ReplicaSet", "rs-1"))),
		"0b of a lower cost":       valued("-1", withQoS(v1.PodQOSGuaranteed, ownedBy("ReplicaSet", "rs-1"))),
		"1 one of fifty":           withQoS(v1.PodQOSBestEffort, ownedBy("ReplicaSet", "rs-1")),
		"3 of an unknown number":   withQoS(v1.PodQOSBestEffort, ownedBy("Thing", "thing-1")),
		"4 burstable":              withQoS(v1.PodQOSBurstable, ownedBy("ReplicaSet", "rs-1")),
		"5 guaranteed":             withQoS(v1.PodQOSGuaranteed, ownedBy("ReplicaSet", "rs-1")),
		"6 of a higher cost":       valued("1", withQoS(v1.PodQOSBestEffort, ownedBy("ReplicaSet", "rs-1"))),
		"7 of the highest cost":    valued("2147483647", withQoS(v1.PodQOSBestEffort, ownedBy("ReplicaSet", "rs-1"))),
		"7b one of a StatefulSet":  withQoS(v1.PodQOSBestEffort, ownedBy("StatefulSet", "sts-1")),
		"8 asks not to be evicted": reluctant,
	}
	costs := map[string]strategies.Disruption{}
	for name, pod := range ordered {
		costs[name] = e.Disruption(pod)
	}
	for a, costA := range costs {
		for b, costB := range costs {
			if a < b && costA.Compare(costB) >= 0 {
				t.Errorf("%q costs %v, not less than %q with %v", a, costA, b, costB)
			}
		}
	}
	for _, cost := range []string{"2147483648", "much", "+1"} { // no controller accepts these
		if got := e.Disruption(valued(cost, ownedBy("ReplicaSet", "rs-1"))); got != e.Disruption(ownedBy("ReplicaSet", "rs-1")) {
			t.Errorf("a cost of %q counts %v", cost, got)
		}
	}
	if diff := cmp.Diff(50, e.watched.Owner(ordered["1 one of fifty"]).Replicas); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
}

// A pod that is starting or recovering is moved after its ready siblings, whatever keeps it from
// being ready, because its work in progress would be lost.
func TestWorkInProgressHasAPrice(t *testing.T) {
	e := newEstate(t)
	e.add(t, statefulSet())
	slow := func(pod *v1.Pod) {
		inStatefulSet(pod)
		started := metav1.Time{Time: noon.Add(-25 * time.Hour)}
		pod.Status.StartTime = &started
		pod.Status.Conditions[0].LastTransitionTime = metav1.Time{Time: started.Add(10 * time.Minute)}
	}
	waiting := func(reason string) v1.ContainerState {
		return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
	}
	ready := e.Disruption(replica("ready", slow))
	if unseen := e.Disruption(replica("unseen", slow, func(pod *v1.Pod) { pod.Status.Conditions = nil })); unseen.Compare(ready) <= 0 {
		t.Errorf("a pod that is neither ready nor unready costs %d quarters, its ready sibling %d", unseen.Quarters, ready.Quarters)
	}
	for name, change := range map[string]func(*v1.Pod){
		"its startup probe has not succeeded": func(pod *v1.Pod) {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{Started: new(false), State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
		},
		"an init container runs": func(pod *v1.Pod) {
			pod.Status.InitContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
		},
		"a readiness gate is open": func(pod *v1.Pod) {
			pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/in-service"}}
		},
		"it crashes": func(pod *v1.Pod) {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 9, State: waiting("CrashLoopBackOff")}}
		},
		"it recovers": func(pod *v1.Pod) {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 1, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: noon}}}}}
		},
		"it has just begun": func(pod *v1.Pod) { pod.Status.StartTime = &metav1.Time{Time: noon} },
	} {
		if starting := e.Disruption(replica("starting", slow, unready, change)); starting.Compare(ready) <= 0 {
			t.Errorf("%s: costs %d quarters, its ready sibling %d", name, starting.Quarters, ready.Quarters)
		}
	}
}

// The costs of pods are in quarters of a plain pod's.
func TestDisruptionCosts(t *testing.T) {
	of := func(kind string, uid types.UID, change ...func(*v1.Pod)) *v1.Pod {
		pod := ownedBy(kind, uid)
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		for _, c := range change {
			c(pod)
		}
		return pod
	}
	readyAfter := func(took, age time.Duration) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			started := metav1.Time{Time: noon.Add(-age)}
			pod.Status.StartTime = &started
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Time{Time: started.Add(took)}}}
		}
	}
	unreadyFor := func(age time.Duration) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			readyAfter(0, age)(pod)
			unready(pod)
		}
	}
	restarted := func(ago time.Duration) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 1, State: v1.ContainerState{
				Running: &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: noon.Add(-ago)}},
			}}}
		}
	}
	mounting := func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}
	for name, tc := range map[string]struct {
		replicas int32
		pod      *v1.Pod
		want     int
	}{
		"one of fifty":                             {50, of("ReplicaSet", "rs-1"), 4},
		"one of four":                              {4, of("ReplicaSet", "rs-1"), 5},
		"one of two":                               {2, of("ReplicaSet", "rs-1"), 6},
		"the only one":                             {1, of("ReplicaSet", "rs-1"), 8},
		"a volume":                                 {50, of("ReplicaSet", "rs-1", mounting), 8},
		"one of three of a StatefulSet, mounted":   {3, of("StatefulSet", "sts-1", mounting), 4 + 4 + 4 + 1},
		"ready at once":                            {50, of("ReplicaSet", "rs-1", readyAfter(5*time.Second, time.Hour)), 4},
		"ready after two minutes":                  {50, of("ReplicaSet", "rs-1", readyAfter(2*time.Minute, time.Hour)), 6},
		"ready after ten minutes":                  {50, of("ReplicaSet", "rs-1", readyAfter(10*time.Minute, time.Hour)), 8},
		"ready again after some hours":             {50, of("ReplicaSet", "rs-1", readyAfter(3*time.Hour, 4*time.Hour)), 4},
		"of yesterday":                             {50, of("ReplicaSet", "rs-1", readyAfter(5*time.Second, 25*time.Hour)), 5},
		"not ready yet, or no longer":              {50, of("ReplicaSet", "rs-1", unreadyFor(time.Minute)), 4 + 6},
		"not seen by its kubelet":                  {50, of("ReplicaSet", "rs-1", func(pod *v1.Pod) { pod.Status = v1.PodStatus{} }), 4 + 6},
		"started, with unknown readiness":          {50, of("ReplicaSet", "rs-1", unreadyFor(time.Minute), func(pod *v1.Pod) { pod.Status.Conditions = nil }), 4 + 6},
		"not started by its kubelet":               {50, of("ReplicaSet", "rs-1", unreadyFor(0), func(pod *v1.Pod) { pod.Status.StartTime = nil }), 4 + 6},
		"ready again, two minutes after a restart": {50, of("ReplicaSet", "rs-1", readyAfter(3*time.Hour, 4*time.Hour), restarted(time.Hour+2*time.Minute)), 6},
		"restarted since it was ready":             {50, of("ReplicaSet", "rs-1", readyAfter(3*time.Hour, 4*time.Hour), restarted(time.Minute)), 4},
		"when it got ready is not kept": {50, of("ReplicaSet", "rs-1", readyAfter(0, time.Hour), func(pod *v1.Pod) {
			pod.Status.Conditions[0].LastTransitionTime = metav1.Time{}
		}), 4},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t)
			e.add(t, replicaSet(tc.replicas))
			e.add(t, statefulSet())
			if got := e.Disruption(tc.pod).Quarters; got != tc.want {
				t.Errorf("costs %d quarters, want %d", got, tc.want)
			}
		})
	}
}
