package safeguards

import (
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/reasons"
)

// heldBy returns a pod of a controller that started 10 minutes before noon.
func heldBy(apiVersion, kind string, change ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "p", UID: "p", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"prometheus.io/scrape": "false"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "web", UID: "o", Controller: new(true)}},
		},
		Spec:   v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways},
		Status: v1.PodStatus{StartTime: &metav1.Time{Time: noon.Add(-10 * time.Minute)}},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func webPod(change ...func(*v1.Pod)) *v1.Pod { return heldBy("apps/v1", "ReplicaSet", change...) }

func annotated(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Annotations[key] = value }
}

func labelled(key string) func(*v1.Pod) { return func(p *v1.Pod) { p.Labels[key] = "a" } }

func restarting(policy v1.RestartPolicy) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.RestartPolicy = policy }
}

type protection struct {
	reason reasons.Reason
	detail string
}

// These pods are protected on any node, by the key given with them, or are similar but unprotected.
// The reduced pod that is stored is protected like the whole pod.
func TestProtected(t *testing.T) {
	const (
		safe    = "cluster-autoscaler.kubernetes.io/safe-to-evict"
		disrupt = "karpenter.sh/do-not-disrupt"
	)
	disruption := func(key string) protection { return protection{reasons.DisruptionDeclined, key} }
	declined := func(detail string) protection { return protection{reasons.EvictionDeclined, detail} }
	no := map[string]string{EvictAnnotation: "false"}
	cases := map[string]struct {
		pod  *v1.Pod
		by   Words
		want protection
	}{
		"nobody's word":                      {pod: webPod()},
		"its own word":                       {pod: webPod(annotated(EvictAnnotation, "false")), want: declined(EvictAnnotation + " of the pod")},
		"its own word, spelt so":             {pod: webPod(annotated(EvictAnnotation, "False")), want: declined(EvictAnnotation + " of the pod")},
		"its own word, which is yes":         {pod: webPod(annotated(EvictAnnotation, "true"))},
		"its own word, which is never":       {pod: webPod(annotated(EvictAnnotation, "never")), want: declined(EvictAnnotation + " of the pod")},
		"its own word, which is off":         {pod: webPod(annotated(EvictAnnotation, " Off ")), want: declined(EvictAnnotation + " of the pod")},
		"its own word, which is on":          {pod: webPod(annotated(EvictAnnotation, "on"))},
		"its annotation is unreadable":       {pod: webPod(annotated(EvictAnnotation, "flase")), want: declined(EvictAnnotation + ` of the pod: "flase" is neither true nor false`)},
		"its word is empty":                  {pod: webPod(annotated(EvictAnnotation, "")), want: declined(EvictAnnotation + ` of the pod: "" is neither true nor false`)},
		"its owner's is unreadable":          {pod: webPod(), by: Words{Owner: map[string]string{EvictAnnotation: "only at night"}}, want: declined(EvictAnnotation + ` of its owner: "only at night" is neither true nor false`)},
		"its owner's no, in other words":     {pod: webPod(), by: Words{Owner: map[string]string{EvictAnnotation: "no"}}, want: declined(EvictAnnotation + " of its owner")},
		"its Namespace's no, in other words": {pod: webPod(), by: Words{Namespace: map[string]string{EvictAnnotation: "No"}}, want: declined(EvictAnnotation + " of its Namespace")},
		"its Namespace's is unreadable":      {pod: webPod(annotated(EvictAnnotation, "true")), by: Words{Namespace: map[string]string{EvictAnnotation: "?"}}, want: declined(EvictAnnotation + ` of its Namespace: "?" is neither true nor false`)},
		"its owner's word":                   {pod: webPod(), by: Words{Owner: no}, want: declined(EvictAnnotation + " of its owner")},
		"its Namespace's word":               {pod: webPod(), by: Words{Namespace: no}, want: declined(EvictAnnotation + " of its Namespace")},
		"its own yes against a no":           {pod: webPod(annotated(EvictAnnotation, "true")), by: Words{Namespace: no}, want: declined(EvictAnnotation + " of its Namespace")},
		"another word of its owner":          {pod: webPod(), by: Words{Owner: map[string]string{safe: "false", disrupt: "true"}}},

		"descheduler's, which is no":           {pod: webPod(annotated(deschedulerEvict, "false")), want: declined(deschedulerEvict + " of the pod")},
		"descheduler's, which is off":          {pod: webPod(annotated(deschedulerEvict, "off")), want: declined(deschedulerEvict + " of the pod")},
		"descheduler's, with an unknown value": {pod: webPod(annotated(deschedulerEvict, "please"))}, // descheduler reads it this way
		"descheduler's, which is yes":          {pod: webPod(annotated(deschedulerEvict, "true"))},
		"descheduler's, empty":                 {pod: webPod(annotated(deschedulerEvict, ""))},
		"evicted by request only":              {pod: webPod(annotated(background[0], "")), want: protection{reasons.EvictedInBackground, background[0]}},
		"evicted already":                      {pod: webPod(annotated(background[1], "")), want: protection{reasons.EvictedInBackground, background[1]}},

		"not safe to evict":              {pod: webPod(annotated(safe, "false")), want: disruption(safe)},
		"safe to evict":                  {pod: webPod(annotated(safe, "true"))},
		"safe by another spelling":       {pod: webPod(annotated(safe, "False"))}, // cluster-autoscaler reads it this way
		"its volumes are safe":           {pod: webPod(annotated(safe+"-local-volumes", "false"))},
		"not to be disrupted":            {pod: webPod(annotated(disrupt, "true")), want: disruption(disrupt)},
		"may be disrupted":               {pod: webPod(annotated(disrupt, "false"))},
		"not for longer than it runs":    {pod: webPod(annotated(disrupt, "11m")), want: disruption(disrupt)},
		"not for as long as it runs":     {pod: webPod(annotated(disrupt, "10m"))},
		"not before it starts":           {pod: webPod(annotated(disrupt, "1s"), func(p *v1.Pod) { p.Status.StartTime = nil }), want: disruption(disrupt)},
		"not for less than no time":      {pod: webPod(annotated(disrupt, "-1h"))},
		"not for a time without a unit":  {pod: webPod(annotated(disrupt, "3600"))},
		"not to be evicted by Karpenter": {pod: webPod(annotated("karpenter.sh/do-not-evict", "true")), want: disruption("karpenter.sh/do-not-evict")},

		"a group by its spec": {
			pod:  webPod(func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")} }),
			want: protection{reasons.PodGroupMember, "spec.schedulingGroup"},
		},
		"an unrelated label": {pod: webPod(labelled("kueue.x-k8s.io/queue-name"))},

		"of a StatefulSet":                {pod: heldBy("apps/v1", "StatefulSet")},
		"of a ReplicationController":      {pod: heldBy("v1", "ReplicationController")},
		"of an older API group":           {pod: heldBy("extensions/v1beta1", "ReplicaSet"), want: protection{reasons.ControllerUnknown, "ReplicaSet.extensions"}},
		"of a kind that the policy names": {pod: heldBy("apps.kruise.io/v1alpha1", "CloneSet")},
		"of its kind, another group":      {pod: heldBy("apps.kruise.io/v1beta1", "StatefulSet"), want: protection{reasons.ControllerUnknown, "StatefulSet.apps.kruise.io"}},
		"of a Workflow":                   {pod: heldBy("argoproj.io/v1alpha1", "Workflow"), want: protection{reasons.ControllerUnknown, "Workflow.argoproj.io"}},
		"of a PyTorchJob":                 {pod: heldBy("kubeflow.org/v1", "PyTorchJob"), want: protection{reasons.ControllerUnknown, "PyTorchJob.kubeflow.org"}},
		"of a RayCluster":                 {pod: heldBy("ray.io/v1", "RayCluster"), want: protection{reasons.ControllerUnknown, "RayCluster.ray.io"}},
		"of a pod":                        {pod: heldBy("v1", "Pod"), want: protection{reasons.ControllerUnknown, "Pod"}},
		"of Volcano's Job":                {pod: heldBy("batch.volcano.sh/v1alpha1", "Job"), want: protection{reasons.ControllerUnknown, "Job.batch.volcano.sh"}},
		"of nobody":                       {pod: webPod(func(p *v1.Pod) { p.OwnerReferences = nil }), want: protection{reasons.NoController, ""}},
		"of no controller":                {pod: webPod(func(p *v1.Pod) { p.OwnerReferences[0].Controller = nil }), want: protection{reasons.NoController, ""}},

		"runs once":                 {pod: webPod(restarting(v1.RestartPolicyNever)), want: protection{reasons.RestartPolicyNotAlways, "Never"}},
		"runs until it succeeds":    {pod: webPod(restarting(v1.RestartPolicyOnFailure)), want: protection{reasons.RestartPolicyNotAlways, "OnFailure"}},
		"of a Job, which runs once": {pod: heldBy("batch/v1", "Job", restarting(v1.RestartPolicyNever))},
	}
	for _, key := range groupKeys {
		cases["a group by the label "+key] = struct {
			pod  *v1.Pod
			by   Words
			want protection
		}{pod: webPod(labelled(key)), want: protection{reasons.PodGroupMember, key}}
	}
	for _, key := range []string{
		"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "volcano.sh/job-name", "jobset.sigs.k8s.io/jobset-name",
		"yunikorn.apache.org/task-group-name", "gang.scheduling.koordinator.sh/name",
	} {
		cases["a group by the annotation "+key] = struct {
			pod  *v1.Pod
			by   Words
			want protection
		}{pod: webPod(annotated(key, "a")), want: protection{reasons.PodGroupMember, key}}
	}
	more := []schema.GroupKind{{Group: "apps.kruise.io", Kind: "CloneSet"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			was := maps.Clone(tc.pod.Annotations)
			reason, detail := Protected(tc.pod, tc.by, more, noon)
			if got := (protection{reason, detail}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			stored, err := slim.New().Transform(tc.pod)
			if err != nil {
				t.Fatal(err)
			}
			reason, detail = Protected(stored.(*v1.Pod), tc.by, more, noon)
			if got := (protection{reason, detail}); got != tc.want {
				t.Errorf("stored with %v of %v: got %+v, want %+v", tc.pod.Annotations, was, got, tc.want)
			}
		})
	}
}
