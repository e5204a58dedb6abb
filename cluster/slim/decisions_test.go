package slim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions/utils"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	upstream "sigs.k8s.io/descheduler/pkg/utils"

	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/placement"
)

// For stored pods, the filters, the records and the questions of upstream's plugins have the same
// results as for whole pods.
func TestDecisionsAreThoseOnWholePods(t *testing.T) {
	kinds := map[string]bool{} // the kinds of verdicts seen, because a test in which all pods fit everywhere would prove nothing
	onWhole, onStored := newFilters(t), newFilters(t)
	for seed := range uint64(15) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		nodes, whole := randomCluster(rnd)
		stored, s := make([]*v1.Pod, len(whole)), slim.New()
		for i, pod := range whole {
			stored[i] = slimmed(t, s, pod.DeepCopy())
			if diff := cmp.Diff(asked(pod), asked(stored[i])); diff != "" {
				t.Errorf("seed %d, pod %q (-whole +stored):\n%s", seed, pod.Name, diff)
			}
		}
		want := results(t, onWhole, nodes, whole)
		if diff := cmp.Diff(want, results(t, onStored, nodes, stored)); diff != "" {
			t.Errorf("seed %d: verdicts (-whole +stored):\n%s", seed, diff)
		}
		for _, verdict := range want {
			kinds[verdict.Plugin] = true
		}
	}
	wanted := []string{"", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "TaintToleration", "VolumeRestrictions"}
	if missing := sets.New(wanted...).Difference(sets.KeySet(kinds)); missing.Len() > 0 {
		t.Errorf("no verdict by %v", sets.List(missing))
	}
}

func newFilters(t *testing.T) *placement.Filters {
	t.Helper()
	filters, err := placement.New(t.Context(), placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return filters
}

func results(t *testing.T, filters *placement.Filters, nodes []*v1.Node, pods []*v1.Pod) map[string]placement.Result {
	t.Helper()
	if err := filters.Sync(nodes, pods); err != nil {
		t.Fatal(err)
	}
	session := filters.Begin()
	defer session.Close()
	all := map[string]placement.Result{}
	for _, pod := range pods {
		for _, node := range nodes {
			all[pod.Name+" on "+node.Name] = session.Fits(pod, node.Name)
		}
	}
	return all
}

// asked returns everything that is read from a pod apart from the filters.
func asked(pod *v1.Pod) map[string]any {
	states := sets.New("CrashLoopBackOff", "Error")
	requests, limits := upstream.PodRequestsAndLimits(pod)
	return map[string]any{
		"record": informed.Pod(pod), "requests": requests, "limits": limits, "QoS": upstream.GetPodQOS(pod),
		"mirror": upstream.IsMirrorPod(pod), "static": upstream.IsStaticPod(pod), "critical": upstream.IsCriticalPriorityPod(pod),
		"claims": upstream.IsPodWithPVC(pod), "local": upstream.IsPodWithLocalStorage(pod), "daemon": upstream.IsDaemonsetPod(podutil.OwnerRef(pod)),
		"rather not": utils.HaveNoEvictionAnnotation(pod), "waiting": podutil.HasMatchingContainerWaitingState(pod.Status.ContainerStatuses, states),
		"ended": podutil.HasMatchingContainerTerminatedState(pod.Status.ContainerStatuses, states), "phase": pod.Status.Phase,
	}
}

func randomCluster(rnd *rand.Rand) (nodes []*v1.Node, pods []*v1.Pod) {
	for i := range 6 {
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), Labels: map[string]string{"zone": fmt.Sprint(i % 3), "kubernetes.io/hostname": fmt.Sprint("node-", i)}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("9"),
			}},
		}
		if i == 0 {
			node.Spec.Taints = []v1.Taint{{Key: "own", Effect: v1.TaintEffectNoSchedule}}
		}
		nodes = append(nodes, node)
	}
	for i := range 30 {
		pod := randomPod(rnd, i)
		pod.ResourceVersion = fmt.Sprint(rnd.Uint64()) // different from the previous pod of the same name
		pods = append(pods, pod)
	}
	return nodes, pods
}

// randomPod returns a pod of one of six templates whose other fields are random.
func randomPod(rnd *rand.Rand, i int) *v1.Pod {
	owner, pod := fmt.Sprint("owner-", i%6), full(fmt.Sprint("pod-", i))
	app := map[string]string{"app": owner, "pod-template-hash": "1"}
	spec := v1.PodSpec{
		NodeName: fmt.Sprint("node-", rnd.IntN(6)), Containers: pod.Spec.Containers, Priority: new(int32(i % 2)),
		Volumes: []v1.Volume{{Name: "token", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}},
	}
	spec.Containers[0].Ports, spec.Containers[0].RestartPolicy = nil, nil
	spec.Containers[0].Resources = v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(fmt.Sprintf("%dm", 200+100*rnd.IntN(4)))}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": owner}}
	term := []v1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: selector}}
	for _, change := range []func(){
		func() { spec.NodeSelector = map[string]string{"zone": "1"} },
		func() { spec.Tolerations = []v1.Toleration{{Key: "own", Operator: v1.TolerationOpExists}} },
		func() { spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 8080, ContainerPort: 8080}} },
		func() {
			spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
		},
		func() {
			spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term}}
		},
		func() {
			spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector}}
		},
		func() {
			spec.Volumes = append(spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}})
		},
		func() {
			spec.Volumes = append(spec.Volumes, v1.Volume{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}})
		},
		func() { spec.Overhead = v1.ResourceList{"cpu": resource.MustParse("3")} },
	} {
		if rnd.IntN(5) == 0 {
			change()
		}
	}
	pod.Spec, pod.Labels, pod.UID, pod.Namespace = spec, app, types.UID(pod.Name), "shop"
	pod.DeletionTimestamp, pod.Finalizers = nil, nil
	controller := true
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &controller}}
	pod.Annotations = map[string]string{"checksum": "1"}
	if rnd.IntN(4) == 0 {
		pod.Annotations[utils.SoftNoEvictionAnnotationKey] = ""
	}
	pod.Status.Phase, pod.Status.QOSClass = v1.PodRunning, ""
	late := time.Duration(rnd.IntN(30)) * time.Second
	pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time = pod.Status.StartTime.Add(late)
	pod.Status.ContainerStatuses[0].State.Waiting.Reason = []string{"", "CrashLoopBackOff"}[rnd.IntN(2)]
	return pod
}
