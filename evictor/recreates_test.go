package evictor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
)

// web-20 of an ordered StatefulSet stays while web-5 is down: nobody would create
// it again. The recheck just before the eviction says so, too.
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

// One of three pods has been ready for ten seconds of the ten minutes after which
// it is available.
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

// A PodDisruptionBudget counts ready pods as healthy before their owner does: each
// such pod takes one of the evictions that it allows.
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

// A Deployment with maxSurge 100%, and a blue-green Rollout, have two full
// ReplicaSets in the middle: each has as many pods as all are to have.
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
		"the other wants pods":        {of("green", 3, "ns", "rollout"), reasons.OwnerRollingOut},
		"the other wants none":        {of("green", 0, "ns", "rollout"), ""},
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

// A kind is its group and its name. Kruise's StatefulSet is not looked for among
// those of Kubernetes, and moves if the policy says that it recreates its pods.
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
		"a StatefulSet of an older version":               {owned("apps/v1beta1", "StatefulSet"), nil, reasons.OwnerUnknown},
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

// A Job is watched if its pods may be moved, and so is the CronJob that creates
// it: both have a say.
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
		"its CronJob says no":      {[]any{job(), cronJob(no)}, reasons.EvictionDeclined},
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

// Annotations on a controller that is a custom resource count as on any other. Of
// one that may not be listed nobody knows them, so its pods stay.
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
