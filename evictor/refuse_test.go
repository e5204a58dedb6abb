package evictor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// replica returns a ready pod of the ReplicaSet rs-1, with changes.
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

func waitsForANode(pod *v1.Pod) {
	unready(pod)
	pod.Spec.NodeName, pod.Status.Phase = "", v1.PodPending
}

func finished(pod *v1.Pod) {
	unready(pod)
	pod.Status.Phase = v1.PodFailed
}

// doomed marks a pod as about to be evicted by somebody.
func doomed(pod *v1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue})
}

func spared(pod *v1.Pod) {
	doomed(pod)
	pod.Status.Conditions[1].Status = v1.ConditionFalse
}

func inBackground(pod *v1.Pod) {
	pod.Annotations = map[string]string{"descheduler.alpha.kubernetes.io/eviction-in-progress": ""}
}

func ofAThing(pod *v1.Pod) {
	pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].UID = "CloneSet", "clones-1"
}

// askingFor returns a change that annotates a pod with the minimum number of available pods.
func askingFor(least string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Annotations = map[string]string{safeguards.MinAvailableAnnotation: least} }
}

// replicas returns ready pods of the ReplicaSet rs-1, with changes.
func replicas(n int, change ...func(*v1.Pod)) (pods []*v1.Pod) {
	for i := range n {
		pods = append(pods, replica(types.UID(fmt.Sprint("other-", i)), change...))
	}
	return pods
}

// Pods that are unready, pending, terminating or about to be evicted count as
// unavailable, regardless of the cause.
func TestUnhealthySiblings(t *testing.T) {
	budgetWith := func(allowed int32) *policyv1.PodDisruptionBudget {
		return budget("a", policyv1.PodDisruptionBudgetStatus{ExpectedPods: 10, DesiredHealthy: 5, DisruptionsAllowed: allowed})
	}
	asks := func(least string) func(*appsv1.ReplicaSet) {
		return func(rs *appsv1.ReplicaSet) {
			rs.Annotations = map[string]string{safeguards.MinAvailableAnnotation: least}
		}
	}
	five := func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(5)) }
	cases := map[string]struct {
		objects []any
		others  []*v1.Pod
		pod     *v1.Pod
		want    reasons.Reason
	}{
		"all are ready":                   {[]any{replicaSet(3)}, replicas(2), replica("a"), ""},
		"one of two is down":              {[]any{replicaSet(2)}, replicas(1, unready), replica("a"), reasons.LastReadyReplica},
		"it is the one that is down":      {[]any{replicaSet(2)}, replicas(1), replica("a", unready), ""},
		"both are down":                   {[]any{replicaSet(2)}, replicas(1, unready), replica("a", unready), reasons.LastReadyReplica},
		"one of two does not exist":       {[]any{replicaSet(2)}, nil, replica("a"), reasons.LastReadyReplica},
		"the only wanted one":             {[]any{replicaSet(1)}, nil, replica("a"), ""},
		"two of three: one is down":       {[]any{replicaSet(3)}, append(replicas(1), replica("b", unready)), replica("a"), reasons.OwnerPodsUnavailable},
		"two of three: one is pending":    {[]any{replicaSet(3)}, append(replicas(1), replica("b", waitsForANode)), replica("a"), reasons.OwnerPodsUnavailable},
		"two of three: one terminates":    {[]any{replicaSet(3)}, append(replicas(1), replica("b", leaving)), replica("a"), reasons.OwnerPodsUnavailable},
		"two of three: one is evicted":    {[]any{replicaSet(3)}, append(replicas(1), replica("b", doomed)), replica("a"), reasons.OwnerPodsUnavailable},
		"in the background":               {[]any{replicaSet(3)}, append(replicas(1), replica("b", inBackground)), replica("a"), reasons.OwnerPodsUnavailable},
		"an eviction that did not happen": {[]any{replicaSet(3)}, append(replicas(1), replica("b", spared)), replica("a"), ""},
		"evicted by someone else":         {[]any{replicaSet(3)}, replicas(2), replica("a", doomed), reasons.Terminating},
		"one more than wanted":            {[]any{replicaSet(3)}, append(replicas(2), replica("b", leaving)), replica("a"), ""},
		"two of three of a StatefulSet":   {[]any{statefulSet()}, append(replicas(1, inStatefulSet), replica("b", inStatefulSet, unready)), replica("a", inStatefulSet), reasons.OwnerPodsUnavailable},
		"three of five of one":            {[]any{statefulSet(five)}, replicas(3, inStatefulSet), replica("a", inStatefulSet), reasons.OwnerPodsUnavailable},

		"a budget with room decides":              {[]any{replicaSet(3), budgetWith(1)}, append(replicas(1), replica("b", unready)), replica("a"), ""},
		"but not of the last ready one":           {[]any{replicaSet(3), budgetWith(1)}, replicas(2, unready), replica("a"), reasons.LastReadyReplica},
		"a budget without room":                   {[]any{replicaSet(3), budgetWith(0)}, replicas(2), replica("a"), reasons.PodDisruptionBudgetExhausted},
		"of an unwatched kind all are ready":      {nil, replicas(2, ofAThing), replica("a", ofAThing), ""},
		"of an unwatched kind one is down":        {nil, append(replicas(2, ofAThing), replica("b", ofAThing, unready)), replica("a", ofAThing), reasons.OwnerPodsUnavailable},
		"of an unwatched kind some have finished": {nil, append(replicas(2, ofAThing), replica("b", ofAThing, finished)), replica("a", ofAThing), ""},

		"as many are asked for as stay":        {[]any{replicaSet(4, asks("3"))}, replicas(3), replica("a"), ""},
		"more are asked for":                   {[]any{replicaSet(4, asks("4"))}, replicas(3), replica("a"), reasons.BelowMinAvailable},
		"half are asked for, rounded up":       {[]any{replicaSet(5, asks("50%")), budgetWith(2)}, append(replicas(2), replica("b", unready)), replica("a"), reasons.BelowMinAvailable},
		"by the pod, and fewer by its owner":   {[]any{replicaSet(4, asks("1"))}, replicas(3), replica("a", askingFor("4")), reasons.BelowMinAvailable},
		"the only one asks for one":            {[]any{replicaSet(1)}, nil, replica("a", askingFor("1")), reasons.BelowMinAvailable},
		"none are asked for":                   {[]any{replicaSet(1)}, nil, replica("a", askingFor("0")), ""},
		"an unreadable annotation":             {[]any{replicaSet(4)}, replicas(3), replica("a", askingFor("most")), reasons.MinAvailableUnreadable},
		"an empty annotation on the owner":     {[]any{replicaSet(4, asks(""))}, replicas(3), replica("a"), reasons.MinAvailableUnreadable},
		"less than none is asked for":          {[]any{replicaSet(4, asks("-1"))}, replicas(3), replica("a"), reasons.MinAvailableUnreadable},
		"of an unwatched kind, all but one":    {nil, replicas(2, ofAThing), replica("a", ofAThing, askingFor("66%")), ""},
		"of an unwatched kind, more than that": {nil, replicas(2, ofAThing), replica("a", ofAThing, askingFor("67%")), reasons.BelowMinAvailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, append(tc.others, tc.pod)...)
			for _, object := range tc.objects {
				e.add(t, object)
			}
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// Just before its eviction, the pod of a planned move is compared with the other pods of its owner,
// and the last ready one stays. This does not apply to evictions by upstream's plugins, which plan
// no destination.
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
		"alone, although two are wanted":   {2, nil, planned, reasons.LastReadyReplica},
		"next to one that is not ready":    {2, []*v1.Pod{replica("b", unready)}, planned, reasons.LastReadyReplica},
		"next to one that is leaving":      {2, []*v1.Pod{replica("b", leaving)}, planned, reasons.LastReadyReplica},
		"next to one of another owner":     {2, []*v1.Pod{replica("b", ofAnother)}, planned, reasons.LastReadyReplica},
		"next to one in another namespace": {2, []*v1.Pod{replica("b", elsewhere)}, planned, reasons.LastReadyReplica},
		"next to one that is ready":        {2, []*v1.Pod{replica("b", unready), replica("c")}, planned, ""},
		"the only wanted one":              {1, nil, planned, ""},
		"evicted by an upstream plugin":    {2, nil, unplanned, ""},
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

// Pods of another namespace that name a pod's owner as theirs have no effect, even if they are
// checked first. They neither replace the owner's unavailable pods nor keep the pod from being
// moved.
func TestForgedOwnersAreNotCounted(t *testing.T) {
	elsewhere := func(pod *v1.Pod) { pod.Namespace, pod.UID = "evil", "evil-"+pod.UID }
	cases := map[string]struct {
		wants          int32
		others, forged []*v1.Pod
		want           reasons.Reason
	}{
		"the last ready one":  {2, []*v1.Pod{replica("b", unready)}, replicas(3, elsewhere), reasons.LastReadyReplica},
		"one that may be off": {3, replicas(2), replicas(2, elsewhere, unready), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := replica("a")
			e := newEstate(t, slices.Concat(tc.others, tc.forged, []*v1.Pod{pod})...)
			e.add(t, replicaSet(tc.wants))
			if got := e.Refuse(tc.forged[0]); got != reasons.OwnerUnknown {
				t.Errorf("a forged pod is refused for %q", got)
			}
			if got := e.Refuse(pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// An evicted pod does not count as available, even if the watch still shows it as such. Once a
// replacement is ready, that counts instead.
func TestWhatIsEvictedIsNotAvailable(t *testing.T) {
	e := newEstate(t, append(replicas(2), replica("a"))...)
	e.add(t, replicaSet(3))
	intent := ledger.Intent{Namespace: "ns", Pod: "other-0", PodUID: "other-0", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"}, TTL: time.Hour}
	e.ledger.Record(noon, intent)
	if got := e.Refuse(replica("a")); got != "" {
		t.Errorf("a move that waits is counted as unavailable: %s", got)
	}
	e.ledger.Accepted("other-0", noon)
	if got := e.Refuse(replica("a")); got != reasons.OwnerPodsUnavailable {
		t.Errorf("refused for %q", got)
	}
	if err := e.factory.Core().V1().Pods().Informer().GetIndexer().Add(replica("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := e.Allow(&ledger.Intent{Namespace: "ns", Pod: "a", PodUID: "a", To: "cool"}); got != "" {
		t.Errorf("refused for %q beside a replacement that is ready", got)
	}
}

// A StatefulSet creates a replacement after the pod is gone. A full quota then has space for it. A
// quota that is exceeded, for example because it was lowered, has no space, and no quota admits a
// pod without the fields that it requires.
func TestQuotasOfStatefulSets(t *testing.T) {
	quota := func(hard, used v1.ResourceList) *v1.ResourceQuota {
		return &v1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}, Status: v1.ResourceQuotaStatus{Hard: hard, Used: used},
		}
	}
	pods := func(n int64) v1.ResourceList {
		return v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	cpu := func(n int64) v1.ResourceList {
		return v1.ResourceList{v1.ResourceRequestsCPU: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	inReplicaSet := func(*v1.Pod) {}
	cases := map[string]struct {
		of    func(*v1.Pod)
		quota *v1.ResourceQuota
		want  reasons.Reason
	}{
		"full":                           {inStatefulSet, quota(pods(3), pods(3)), ""},
		"full, of a ReplicaSet":          {inReplicaSet, quota(pods(3), pods(3)), reasons.ResourceQuotaExhausted},
		"exceeded":                       {inStatefulSet, quota(pods(2), pods(3)), reasons.ResourceQuotaExhausted},
		"it requires what the pod lacks": {inStatefulSet, quota(cpu(4), cpu(0)), reasons.ResourceQuotaExhausted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			with := func(pod *v1.Pod) {
				tc.of(pod)
				pod.Spec.Containers = []v1.Container{{Name: "main"}}
			}
			pod := replica("a", with)
			e := newEstate(t, append(replicas(2, with), pod)...)
			for _, object := range []any{statefulSet(), replicaSet(3), tc.quota} {
				e.add(t, object)
			}
			if got := e.Refuse(pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A quota counts a pod that was resized in place like its replacement, which is created without the
// resize.
func TestQuotasCountReplacementsOfResizedPods(t *testing.T) {
	core := func(n int64) v1.ResourceList {
		return v1.ResourceList{v1.ResourceRequestsCPU: *resource.NewMilliQuantity(1000*n, resource.DecimalSI)}
	}
	with := func(generation int64, cpu string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			requesting(cpu)(pod)
			pod.Generation, pod.Labels["pod-template-hash"] = generation, "h1"
		}
	}
	for name, tc := range map[string]struct {
		pod     *v1.Pod
		created string // what its siblings request
		want    reasons.Reason
	}{
		"not resized":  {replica("a", with(1, "2")), "4", ""},
		"resized down": {replica("a", with(2, "100m")), "4", reasons.ResourceQuotaExhausted},
		"resized up":   {replica("a", with(2, "9")), "2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, append(replicas(2, with(1, tc.created)), tc.pod)...)
			e.add(t, replicaSet(3))
			q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}}
			q.Status = v1.ResourceQuotaStatus{Hard: core(10), Used: core(8)}
			e.add(t, q)
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A protection added since the plan keeps a pod from its planned eviction. Upstream's plugins apply
// their own rules.
func TestProtectedPodsStay(t *testing.T) {
	forbidden := func(pod *v1.Pod) { pod.Annotations = map[string]string{"evenkeel.io/evict": "false"} }
	cases := map[string]struct {
		pod     *v1.Pod
		objects []any
		to      string
		want    reasons.Reason
	}{
		"nothing protects it":                {replica("a"), nil, "cool", ""},
		"the pod forbids it":                 {replica("a", forbidden), nil, "cool", reasons.EvictionDeclined},
		"its Namespace forbids it":           {replica("a"), []any{namespace("ns", "false")}, "cool", reasons.EvictionDeclined},
		"an upstream plugin does not ask it": {replica("a", forbidden), []any{namespace("ns", "false")}, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, tc.pod, replica("b"))
			e.add(t, replicaSet(2))
			for _, object := range tc.objects {
				e.add(t, object)
			}
			intent := ledger.Intent{Namespace: "ns", Pod: "a", PodUID: "a", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, From: "hot", To: tc.to}
			if got, _ := e.Allow(&intent); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A destination that a taint has closed since the plan no longer accepts a pod.
func TestClosedNodesAreNoLandings(t *testing.T) {
	e := newEstate(t)
	for name, tc := range map[string]struct {
		change func(*cluster.Node)
		want   bool
	}{
		"open":    {func(*cluster.Node) {}, true},
		"tainted": {func(n *cluster.Node) { n.ClosedBy = "aws-node-termination-handler/spot-itn" }, false},
		"drained": {func(n *cluster.Node) { n.Leaving = "karpenter.sh/disrupted" }, false},
		"cordon":  {func(n *cluster.Node) { n.Schedulable = false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			latest := seen(t, 9700)
			to := latest.View.Snapshot.Index("cool")
			tc.change(&latest.View.Snapshot.Nodes[to].Node)
			if got := e.lands(latest, to, &Move{}, cluster.Amounts{}); got != tc.want {
				t.Errorf("lands: %t, want %t", got, tc.want)
			}
		})
	}
}
