package evictor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// web-20 of an ordered StatefulSet stays while web-5 is unavailable, because web-20 would not be
// recreated. The recheck just before the eviction returns the same reason.
func TestAnOrderedStatefulSetWithALowerPodDown(t *testing.T) {
	for policy, want := range map[appsv1.PodManagementPolicyType]reasons.Reason{
		appsv1.OrderedReadyPodManagement: reasons.OwnerCreatesInOrder, appsv1.ParallelPodManagement: "",
	} {
		var pods []*v1.Pod
		for i := range 30 {
			pods = append(pods, replica(types.UID(fmt.Sprint("web-", i)), inStatefulSet))
		}
		unready(pods[5])
		e := newEstate(t, pods...)
		e.config.Settings.OwnerPercent = 10
		e.add(t, statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.Replicas, s.Status.Replicas, s.Spec.PodManagementPolicy = new(int32(30)), 30, policy
		}))
		if got := e.Refuse(pods[20]); got != want {
			t.Errorf("%s: refused for %q, want %q", policy, got, want)
		}
		if got := e.Refuse(pods[5]); got != "" {
			t.Errorf("%s: web-5 itself is refused for %q", policy, got)
		}
		if got, _ := e.Allow(&ledger.Intent{Namespace: "ns", Pod: "web-20", PodUID: "web-20", To: "cool"}); got != want {
			t.Errorf("%s: rechecked with %q, want %q", policy, got, want)
		}
	}
}

// One of three pods has been ready for ten seconds of the ten minutes after which it counts as
// available.
func TestReadyIsNotAvailable(t *testing.T) {
	since := func(age time.Duration) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-age)) }
	}
	for name, tc := range map[string]struct {
		change func(*v1.Pod)
		object any
	}{
		"ReplicaSet": {func(*v1.Pod) {}, replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 600 })},
		"StatefulSet": {inStatefulSet, statefulSet(func(s *appsv1.StatefulSet) {
			s.Spec.MinReadySeconds, s.Spec.PodManagementPolicy = 600, appsv1.ParallelPodManagement
		})},
		"ReplicationController": {replicated, replicationController(func(rc *v1.ReplicationController) { rc.Spec.MinReadySeconds = 600 })},
	} {
		t.Run(name, func(t *testing.T) {
			for age, want := range map[time.Duration]reasons.Reason{10 * time.Second: reasons.OwnerPodsUnavailable, 10 * time.Minute: ""} {
				a := replica("a", tc.change, since(time.Hour))
				e := newEstate(t, a, replica("b", tc.change, since(age)), replica("c", tc.change, since(time.Hour)))
				e.add(t, tc.object)
				if got := e.Refuse(a); got != want {
					t.Errorf("ready for %v: refused for %q, want %q", age, got, want)
				}
			}
		})
	}
}

// A PodDisruptionBudget counts ready pods as healthy before their owner counts them as available.
// Each such pod uses up one of the evictions that the budget allows.
func TestABudgetOfPodsThatAreNotAvailableYet(t *testing.T) {
	since := func(age time.Duration) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-age)) }
	}
	old, young := since(time.Hour), since(10*time.Second)
	for name, tc := range map[string]struct {
		allowed int32
		pod     *v1.Pod
		others  []*v1.Pod
		want    reasons.Reason
	}{
		"all are available":                {1, replica("a", old), replicas(4, old), ""},
		"one is young":                     {1, replica("a", old), append(replicas(3, old), replica("b", young)), reasons.OwnerPodsUnavailable},
		"one is young, two may be away":    {2, replica("a", old), append(replicas(3, old), replica("b", young)), ""},
		"two are young, two may be away":   {2, replica("a", old), append(replicas(2, old), replica("b", young), replica("c", young)), reasons.OwnerPodsUnavailable},
		"it is the young one":              {1, replica("a", young), replicas(4, old), ""},
		"one is unready, the budget knows": {1, replica("a", old), append(replicas(3, old), replica("b", unready)), ""},
		"a young one terminates":           {1, replica("a", old), append(replicas(3, old), replica("b", young, leaving)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, append(tc.others, tc.pod)...)
			e.add(t, replicaSet(5, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 600 }))
			e.add(t, budget("a", policyv1.PodDisruptionBudgetStatus{ExpectedPods: 5, DesiredHealthy: 5 - tc.allowed, CurrentHealthy: 5, DisruptionsAllowed: tc.allowed}))
			if got := e.Refuse(tc.pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
			intent := ledger.Intent{Namespace: "ns", Pod: tc.pod.Name, PodUID: string(tc.pod.UID), From: "hot", To: "cool", Pool: "general", TTL: 5 * time.Minute}
			if got, _ := e.Allow(&intent); got != tc.want {
				t.Errorf("allowed last with %q, want %q", got, tc.want)
			}
		})
	}
}

// In the middle of a rollout, a Deployment with maxSurge 100%, or a blue-green Rollout, has two
// ReplicaSets with the full number of pods each.
func TestTwoReplicaSetsOfOneController(t *testing.T) {
	of := func(name string, wants int32, namespace, controller string) *appsv1.ReplicaSet {
		return replicaSet(wants, func(rs *appsv1.ReplicaSet) {
			rs.Namespace, rs.Name, rs.UID = namespace, name, types.UID(name)
			if name == "web" {
				rs.UID = "rs-1"
			}
			rs.Annotations = map[string]string{"rollout.argoproj.io/desired-replicas": fmt.Sprint(wants)}
			rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: types.UID(controller), Controller: new(true)}}
		})
	}
	for name, tc := range map[string]struct {
		other *appsv1.ReplicaSet
		want  reasons.Reason
	}{
		"the other one wants pods":    {of("green", 3, "ns", "rollout"), reasons.OwnerRollingOut},
		"the other one wants none":    {of("green", 0, "ns", "rollout"), ""},
		"of another controller":       {of("green", 3, "ns", "another"), ""},
		"forged in another namespace": {of("green", 3, "evil", "rollout"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := replica("a")
			e := newEstate(t, append(replicas(2), pod)...)
			e.add(t, of("web", 3, "ns", "rollout"))
			e.add(t, tc.other)
			if got := e.Refuse(pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A kind is identified by its group and its name. Kruise's StatefulSet is not looked up among
// Kubernetes' own StatefulSets. Its pods may be moved if the policy lists the kind among the
// controllers that recreate pods.
func TestKindsOfTheSameName(t *testing.T) {
	owned := func(apiVersion, kind string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			ref := &pod.OwnerReferences[0]
			ref.APIVersion, ref.Kind, ref.UID = apiVersion, kind, "thing-1"
		}
	}
	for name, tc := range map[string]struct {
		of   func(*v1.Pod)
		more []schema.GroupKind
		want reasons.Reason
	}{
		"Kruise's StatefulSet, which the policy knows":    {owned("apps.kruise.io/v1beta1", "StatefulSet"), []schema.GroupKind{{Group: "apps.kruise.io", Kind: "StatefulSet"}}, ""},
		"Kruise's StatefulSet, which the policy does not": {owned("apps.kruise.io/v1beta1", "StatefulSet"), nil, reasons.ControllerUnknown},
		"Kruise's CloneSet":                               {owned("apps.kruise.io/v1alpha1", "CloneSet"), []schema.GroupKind{{Group: "apps.kruise.io", Kind: "CloneSet"}}, ""},
		"somebody's ReplicaSet":                           {owned("example.com/v1", "ReplicaSet"), []schema.GroupKind{{Group: "example.com", Kind: "ReplicaSet"}}, ""},
		"somebody's ReplicationController":                {owned("example.com/v1", "ReplicationController"), []schema.GroupKind{{Group: "example.com", Kind: "ReplicationController"}}, ""},
		"a StatefulSet in an older version":               {owned("apps/v1beta1", "StatefulSet"), nil, reasons.OwnerUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, append(replicas(2, tc.of), replica("a", tc.of))...)
			e.config.Settings.Recreating = tc.more
			if got := e.Refuse(replica("a", tc.of)); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

func inJob(pod *v1.Pod) {
	ref := &pod.OwnerReferences[0]
	ref.APIVersion, ref.Kind, ref.UID = "batch/v1", "Job", "job-1"
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
}

// If a Job's pods may be moved, the Job is watched, and so is the CronJob that created it. Both are
// checked.
func TestJobsAreAsked(t *testing.T) {
	job := func(change ...func(*batchv1.Job)) *batchv1.Job {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "web", UID: "job-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "nightly", UID: "cron-1", Controller: new(true)}},
			},
			Spec:   batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(10)), BackoffLimit: new(int32(6))},
			Status: batchv1.JobStatus{Active: 3},
		}
		for _, c := range change {
			c(job)
		}
		return job
	}
	cronJob := func(annotations map[string]string) *batchv1.CronJob {
		return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "nightly", UID: "cron-1", Annotations: annotations}}
	}
	no := map[string]string{safeguards.EvictAnnotation: "false"}
	for name, tc := range map[string]struct {
		objects []any
		want    reasons.Reason
	}{
		"at work":                  {[]any{job(), cronJob(nil)}, ""},
		"out of retries":           {[]any{job(func(job *batchv1.Job) { job.Status.Failed = 6 })}, reasons.JobWouldFail},
		"nobody knows it":          {nil, reasons.OwnerUnknown},
		"it says no":               {[]any{job(func(job *batchv1.Job) { job.Annotations = no })}, reasons.EvictionDeclined},
		"its CronJob forbids it":   {[]any{job(), cronJob(no)}, reasons.EvictionDeclined},
		"its CronJob asks for all": {[]any{job(), cronJob(map[string]string{safeguards.MinAvailableAnnotation: "3"})}, reasons.BelowMinAvailable},
		"another of its name":      {[]any{job(func(job *batchv1.Job) { job.UID = "job-2" })}, reasons.OwnerUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			pod := replica("a", inJob)
			e := newEstate(t, append(replicas(2, inJob), pod)...)
			if err := e.watched.WatchJobs(); err != nil {
				t.Fatal(err)
			}
			for _, object := range tc.objects {
				e.add(t, object)
			}
			if got := e.Refuse(pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// customs returns an API server that serves a CloneSet and a StatefulSet of a separate group, as
// Kruise does. The estate reads it.
func customs(t *testing.T, e *estate, objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	t.Helper()
	const version = "apps.kruise.io/v1alpha1"
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}:    "CloneSetList",
		{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "statefulsets"}: "StatefulSetList",
	}, objects...)
	kube := fake.NewClientset()
	kube.Resources = []*metav1.APIResourceList{{GroupVersion: version, APIResources: []metav1.APIResource{
		{Name: "clonesets", Kind: "CloneSet"}, {Name: "statefulsets", Kind: "StatefulSet"},
	}}}
	controllers := custom.New(client, kube.Discovery())
	for _, kind := range []string{"CloneSet", "StatefulSet"} {
		of := schema.GroupKind{Group: "apps.kruise.io", Kind: kind}
		if err := controllers.Request(of); err != nil {
			t.Fatal(err)
		}
		e.config.Settings.Recreating = append(e.config.Settings.Recreating, of)
	}
	e.watched.WatchCustom(controllers)
	controllers.Start(t.Context())
	for !controllers.Settled() {
		time.Sleep(time.Millisecond)
	}
	return client
}

// kruise returns a controller of that group with 5 pods.
func kruise(kind string, change ...func(spec, status map[string]any)) *unstructured.Unstructured {
	spec, status := map[string]any{"replicas": int64(5), "podManagementPolicy": "Parallel"}, map[string]any{
		"replicas": int64(5), "currentRevision": "web-h1", "updateRevision": "web-h1",
	}
	for _, c := range change {
		c(spec, status)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": kind,
		"metadata": map[string]any{"namespace": "ns", "name": "web", "uid": "custom-1", "creationTimestamp": "2020-01-01T00:00:00Z"},
		"spec":     spec, "status": status,
	}}
}

func inKruise(kind string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		ref := &pod.OwnerReferences[0]
		ref.APIVersion, ref.Kind, ref.Name, ref.UID = "apps.kruise.io/v1alpha1", kind, "web", "custom-1"
	}
}

// Custom controllers that are scaled, or finish a rollout, are left alone for a while like built-in
// ones. If one wants fewer pods, its moves do not wait for those that it no longer wants.
func TestCustomControllersChange(t *testing.T) {
	wanting := func(n int64) func(spec, status map[string]any) {
		return func(spec, status map[string]any) { spec["replicas"], status["replicas"] = n, n }
	}
	updating := func(_, status map[string]any) { status["updateRevision"] = "web-h2" }
	updated := func(_, status map[string]any) {
		status["currentRevision"], status["updateRevision"] = "web-h2", "web-h2"
	}
	pausing := func(spec, status map[string]any) {
		updating(spec, status)
		spec["updateStrategy"] = map[string]any{"paused": true}
	}
	for name, tc := range map[string]struct {
		before, after *unstructured.Unstructured // nil if it is deleted
		want          reasons.Reason
		inFlight      []string
	}{
		"scaled up":                      {kruise("CloneSet", wanting(4)), kruise("CloneSet"), reasons.OwnerJustScaled, []string{"web-1", "web-3", "web-4"}},
		"scaled down by two":             {kruise("CloneSet", wanting(7)), kruise("CloneSet"), reasons.OwnerJustScaled, []string{"web-4"}},
		"deleted":                        {kruise("CloneSet"), nil, reasons.OwnerUnknown, nil},
		"a rollout ends":                 {kruise("CloneSet", updating), kruise("CloneSet", updated), reasons.OwnerRollingOut, []string{"web-1", "web-3", "web-4"}},
		"a rollout is paused":            {kruise("CloneSet", updating), kruise("CloneSet", pausing), reasons.OwnerRollingOut, []string{"web-1", "web-3", "web-4"}},
		"a paused one goes on, and ends": {kruise("CloneSet", pausing), kruise("CloneSet", updated), "", []string{"web-1", "web-3", "web-4"}},
		"a StatefulSet, scaled down":     {kruise("StatefulSet", wanting(7)), kruise("StatefulSet", wanting(4)), reasons.OwnerJustScaled, []string{"web-1", "web-3"}},
		"a StatefulSet that reserves one": {
			kruise("StatefulSet"), kruise("StatefulSet", func(spec, _ map[string]any) { spec["reserveOrdinals"] = []any{"3-4"} }), "", []string{"web-1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kind := tc.before.GetKind()
			of := inKruise(kind)
			var pods []*v1.Pod
			for i := range 5 {
				pods = append(pods, replica(types.UID(fmt.Sprint("web-", i)), of))
			}
			e := newEstate(t, pods...)
			e.config.Settings.OwnerPercent = 100
			client := customs(t, e, tc.before)
			for _, pod := range []string{"web-1", "web-3", "web-4"} {
				e.ledger.Record(noon, ledger.Intent{
					Namespace: "ns", Pod: pod, PodUID: "old-" + pod, Owner: cluster.Owner{UID: "custom-1", Kind: kind}, Wait: time.Hour, TTL: time.Hour,
				})
			}
			sets := client.Resource(schema.GroupVersionResource{Group: "apps.kruise.io", Version: "v1alpha1", Resource: strings.ToLower(kind) + "s"}).Namespace("ns")
			var err error
			if tc.after == nil {
				err = sets.Delete(t.Context(), "web", metav1.DeleteOptions{})
			} else {
				_, err = sets.Update(t.Context(), tc.after, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			var got reasons.Reason
			var inFlight []string
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				inFlight = nil
				for _, move := range e.ledger.InFlight() {
					inFlight = append(inFlight, move.Pod)
				}
				slices.Sort(inFlight)
				if got = e.Refuse(pods[0]); got == tc.want && slices.Equal(inFlight, tc.inFlight) && e.seen(tc.after, pods[0]) {
					return
				}
			}
			t.Errorf("refused for %q, want %q; in flight %v, want %v", got, tc.want, inFlight, tc.inFlight)
		})
	}
}

// seen reports whether the watch has delivered a state of a pod's controller.
func (e *estate) seen(object *unstructured.Unstructured, pod *v1.Pod) bool {
	owner := e.watched.Owner(pod)
	if object == nil {
		return owner.Missing
	}
	want := owners.OfCustom(object, pod)
	return owner.Replicas == want.Replicas && owner.RollingOut == want.RollingOut && owner.Sparse == want.Sparse
}

// Changes made before this process started are visible in the object.
func TestCustomControllersThatHaveJustChanged(t *testing.T) {
	for ago, want := range map[time.Duration]reasons.Reason{time.Minute: reasons.OwnerJustScaled, time.Hour: ""} {
		object := kruise("CloneSet")
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Time: &metav1.Time{Time: noon.Add(-ago)}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}})
		pods := replicas(5, inKruise("CloneSet"))
		e := newEstate(t, pods...)
		customs(t, e, object)
		if got := e.Refuse(pods[0]); got != want {
			t.Errorf("changed %v ago: refused for %q, want %q", ago, got, want)
		}
	}
}

// These owners create the next pod only when the previous one has ended, so a full quota has space
// for it. A CloneSet, in contrast, creates the next pod as soon as the previous one is terminating.
func TestQuotasOfOwnersThatWait(t *testing.T) {
	full := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}, Status: v1.ResourceQuotaStatus{
		Hard: v1.ResourceList{v1.ResourcePods: resource.MustParse("3")}, Used: v1.ResourceList{v1.ResourcePods: resource.MustParse("3")},
	}}
	job := func(policy batchv1.PodReplacementPolicy) *batchv1.Job {
		return &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "job-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}},
			Spec:       batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(9)), BackoffLimit: new(int32(6)), PodReplacementPolicy: &policy},
			Status:     batchv1.JobStatus{Active: 3},
		}
	}
	for name, tc := range map[string]struct {
		of     func(*v1.Pod)
		object any
		want   reasons.Reason
	}{
		"Kruise's StatefulSet": {inKruise("StatefulSet"), kruise("StatefulSet"), ""},
		"a CloneSet":           {inKruise("CloneSet"), kruise("CloneSet"), reasons.ResourceQuotaExhausted},
		"a Job that waits":     {inJob, job(batchv1.Failed), ""},
		"a Job that does not":  {inJob, job(batchv1.TerminatingOrFailed), reasons.ResourceQuotaExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(pod *v1.Pod) {
				tc.of(pod)
				pod.Spec.Containers = []v1.Container{{Name: "main"}}
			}
			pods := replicas(5, of)
			e := newEstate(t, pods...)
			if object, ok := tc.object.(*unstructured.Unstructured); ok {
				customs(t, e, object)
			} else if err := e.watched.WatchJobs(); err != nil {
				t.Fatal(err)
			} else {
				e.add(t, tc.object)
			}
			e.add(t, full)
			if got := e.Refuse(pods[0]); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// The Job controller waits up to ten minutes before it creates the next pod. The move stays in
// flight, and its replacement is steered, for that long.
func TestMovesOfJobsOutlastTheBackoff(t *testing.T) {
	for failed, want := range map[int32]time.Duration{0: 10 * time.Second, 3: 80 * time.Second, 6: 10 * time.Minute} {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "job-1", CreationTimestamp: metav1.Time{Time: noon.Add(-time.Hour)}},
			Spec:       batchv1.JobSpec{Parallelism: new(int32(1)), Completions: new(int32(9)), BackoffLimit: new(int32(20))},
			Status:     batchv1.JobStatus{Active: 1, Failed: failed},
		}
		pod := replica("a", inJob)
		e := newEstate(t, pod)
		e.config.Settings.MoveTTL = time.Minute
		if err := e.watched.WatchJobs(); err != nil {
			t.Fatal(err)
		}
		e.add(t, job)
		planned := moveFor(e.Evictor, &strategies.Move{From: "hot", To: "cool", Pod: strategies.Pod{Pod: &cluster.Pod{Namespace: "ns", Name: "a", UID: "a", Owner: cluster.Owner{Kind: "Job", UID: "job-1"}}}})
		unplanned := e.unplanned(pod, evictionOf("a"))
		for name, move := range map[string]*Move{"planned": &planned, "of a plugin": &unplanned} {
			moves := ledger.New(ledger.Config{})
			moves.Record(noon, move.Intent)
			moves.Accepted("a", noon)
			moves.Leaves("a", noon)
			ended := noon.Add(5 * time.Second)
			moves.Left("a", ended)
			last := ended.Add(want + time.Minute)
			inFlight, _ := moves.Moves()
			if got := inFlight[0]; !got.Due(last) || got.Due(last.Add(time.Second)) {
				t.Errorf("%s, after %d failures: due until %v, want %v", name, failed, got.Expires(), last)
			}
		}
	}
}

// A move remembers that its pod was not ready or had crashed. If its replacement is in the same
// state, the move need not be the cause.
func TestMovesOfUnreadyPodsAreKnown(t *testing.T) {
	crashing := func(restarts int32, since time.Duration) func(*v1.Pod) {
		return func(p *v1.Pod) {
			running := &v1.ContainerStateRunning{StartedAt: metav1.Time{Time: noon.Add(-since)}}
			p.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 0}, {RestartCount: restarts, State: v1.ContainerState{Running: running}}}
		}
	}
	for name, tc := range map[string]struct {
		pod  func(*v1.Pod)
		want bool
	}{
		"ready":                    {func(*v1.Pod) {}, false},
		"not ready":                {unready, true},
		"never called ready":       {func(p *v1.Pod) { p.Status.Conditions = nil }, true},
		"ready between crashes":    {crashing(9, time.Minute), true},
		"restarted twice":          {crashing(2, time.Minute), false},
		"crashed long ago":         {crashing(9, 2*time.Hour), false},
		"ready, about to be again": {func(p *v1.Pod) { p.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: 9}} }, true},
	} {
		pod := replica("a", tc.pod)
		e := newEstate(t, pod)
		planned := moveFor(e.Evictor, &strategies.Move{From: "hot", To: "cool", Pod: strategies.Pod{Pod: &cluster.Pod{Namespace: "ns", Name: "a", UID: "a"}}})
		unplanned := e.unplanned(pod, evictionOf("a"))
		if planned.Unready != tc.want || unplanned.Unready != tc.want {
			t.Errorf("%s: unready %v if planned, %v if of a plugin, want %v", name, planned.Unready, unplanned.Unready, tc.want)
		}
	}
	e := newEstate(t)
	if move := moveFor(e.Evictor, &strategies.Move{Pod: strategies.Pod{Pod: &cluster.Pod{Namespace: "ns", Name: "gone"}}}); move.Unready {
		t.Error("a pod that is gone is unready")
	}
}

// Annotations on a controller that is a custom resource count as on any other. If listing it is not
// allowed, they are unknown, so its pods stay.
func TestCustomControllersAreAsked(t *testing.T) {
	kind := schema.GroupKind{Group: "apps", Kind: "CloneSet"}
	cloneSet := func(uid string, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"namespace": "ns", "name": "web", "uid": uid, "annotations": annotations},
			"spec": map[string]any{"replicas": int64(3)}, "status": map[string]any{"replicas": int64(3)},
		}}
	}
	for name, tc := range map[string]struct {
		object    *unstructured.Unstructured
		forbidden bool
		want      reasons.Reason
	}{
		"it says nothing":       {cloneSet("clones-1", nil), false, ""},
		"it says no":            {cloneSet("clones-1", map[string]any{"evenkeel.io/evict": "false"}), false, reasons.EvictionDeclined},
		"it asks for all":       {cloneSet("clones-1", map[string]any{"evenkeel.io/min-available": "100%"}), false, reasons.BelowMinAvailable},
		"another of its name":   {cloneSet("clones-2", nil), false, reasons.OwnerUnknown},
		"it must not be listed": {cloneSet("clones-1", nil), true, reasons.OwnerUnreadable},
	} {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
				{Group: "apps", Version: "v1alpha1", Resource: "clonesets"}: "CloneSetList",
			}, tc.object)
			if tc.forbidden {
				client.PrependReactor("list", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, errors.New("clonesets is forbidden")
				})
			}
			kube := fake.NewClientset()
			kube.Resources = []*metav1.APIResourceList{{GroupVersion: "apps/v1alpha1", APIResources: []metav1.APIResource{{Name: "clonesets", Kind: "CloneSet"}}}}
			controllers := custom.New(client, kube.Discovery())
			if err := controllers.Request(kind); err != nil {
				t.Fatal(err)
			}
			controllers.Start(t.Context())
			for !controllers.Settled() {
				time.Sleep(time.Millisecond)
			}
			pod := replica("a", ofAThing)
			e := newEstate(t, append(replicas(2, ofAThing), pod)...)
			e.watched.WatchCustom(controllers)
			if got := e.Refuse(pod); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// OpenShift copies no annotations from a DeploymentConfig to its ReplicationControllers. The
// annotations of a controller above a built-in one count if the policy names its kind. If listing
// that kind is not allowed, they are unknown.
func TestControllersAboveAreAsked(t *testing.T) {
	above := func(uid string, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps.openshift.io/v1", "kind": "DeploymentConfig",
			"metadata": map[string]any{"namespace": "ns", "name": "web", "uid": uid, "annotations": annotations},
		}}
	}
	ref := []metav1.OwnerReference{{APIVersion: "apps.openshift.io/v1", Kind: "DeploymentConfig", Name: "web", UID: "dc-1", Controller: new(true)}}
	for kind, owned := range map[string]struct {
		object any
		change func(*v1.Pod)
	}{
		"ReplicationController": {replicationController(func(rc *v1.ReplicationController) { rc.OwnerReferences = ref }), replicated},
		"ReplicaSet":            {replicaSet(3, func(rs *appsv1.ReplicaSet) { rs.OwnerReferences = ref }), nil},
		"StatefulSet": {statefulSet(func(s *appsv1.StatefulSet) { s.OwnerReferences = ref }), func(pod *v1.Pod) {
			pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].UID = "StatefulSet", "sts-1"
		}},
	} {
		for name, tc := range map[string]struct {
			object            *unstructured.Unstructured
			unnamed, unlisted bool
			want              reasons.Reason
		}{
			"it says nothing":                      {object: above("dc-1", nil)},
			"it says no":                           {object: above("dc-1", map[string]any{"evenkeel.io/evict": "false"}), want: reasons.EvictionDeclined},
			"it asks for all":                      {object: above("dc-1", map[string]any{"evenkeel.io/min-available": "100%"}), want: reasons.BelowMinAvailable},
			"another one with its name forbids it": {object: above("dc-2", map[string]any{"evenkeel.io/evict": "false"})},
			"it must not be listed":                {object: above("dc-1", nil), unlisted: true, want: reasons.OwnerUnreadable},
			"the policy does not name its kind":    {object: above("dc-1", map[string]any{"evenkeel.io/evict": "false"}), unnamed: true},
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
					{Group: "apps.openshift.io", Version: "v1", Resource: "deploymentconfigs"}: "DeploymentConfigList",
				}, tc.object)
				if tc.unlisted {
					client.PrependReactor("list", "deploymentconfigs", func(clienttesting.Action) (bool, runtime.Object, error) {
						return true, nil, errors.New("deploymentconfigs is forbidden")
					})
				}
				kube := fake.NewClientset()
				kube.Resources = []*metav1.APIResourceList{{
					GroupVersion: "apps.openshift.io/v1", APIResources: []metav1.APIResource{{Name: "deploymentconfigs", Kind: "DeploymentConfig"}},
				}}
				controllers := custom.New(client, kube.Discovery())
				if !tc.unnamed {
					if err := controllers.Request(schema.GroupKind{Group: "apps.openshift.io", Kind: "DeploymentConfig"}); err != nil {
						t.Fatal(err)
					}
				}
				controllers.Start(t.Context())
				for !controllers.Settled() {
					time.Sleep(time.Millisecond)
				}
				change := func(pod *v1.Pod) {
					if owned.change != nil {
						owned.change(pod)
					}
				}
				pods := replicas(3, change)
				e := newEstate(t, pods...)
				e.add(t, owned.object)
				e.watched.WatchCustom(controllers)
				if got := e.Refuse(pods[0]); got != tc.want {
					t.Errorf("refused for %q, want %q", got, tc.want)
				}
			})
		}
	}
}
