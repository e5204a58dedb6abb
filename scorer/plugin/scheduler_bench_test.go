package plugin

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// hotMilli is the usage of hot nodes.
const hotMilli = 9000

// BenchmarkSchedulePod measures kube-scheduler's own cycle for one pod of a Deployment, up to the
// choice of a node, with a tenth of the nodes hot. It compares a profile without the plugin, one
// whose taints keep the pod off the same nodes, and one with the plugin. The results are steadier
// than pods per second in a whole cluster.
func BenchmarkSchedulePod(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		s := newStand(b)
		for i := range nodes {
			used := int64(1000 * (1 + i%5))
			if i%10 == 0 {
				used = hotMilli
			}
			s.node(fmt.Sprintf("node-%04d", i), used)
		}
		s.observeFor(7)
		for _, variant := range []string{"stock", "tainted", "plugin"} {
			b.Run(fmt.Sprintf("%d-nodes/%s", nodes, variant), func(b *testing.B) {
				newWhole(b, s, variant == "plugin", variant == "tainted").schedulePods(b)
			})
		}
	}
}

// whole is a complete kube-scheduler that binds nothing.
type whole struct {
	*scheduler.Scheduler
	framework framework.Framework
	snapshot  *cache.Snapshot
	placed    []placed
}

// placed is a pod that was given a node, with the state of its cycle.
type placed struct {
	pod   *v1.Pod
	state fwk.CycleState
}

var webLabels = map[string]string{"app": "web"}

// newWhole returns a kube-scheduler with the default profile for the nodes of a stand, with the
// plugin or with taints on hot nodes.
func newWhole(b *testing.B, s *stand, plugin, tainted bool) *whole {
	b.Helper()
	ctx := klog.NewContext(b.Context(), klog.Logger{}) // logs nothing
	client := fake.NewClientset(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "rs-1"},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: webLabels}},
	})
	defaults, err := latest.Default()
	if err != nil {
		b.Fatal(err)
	}
	if plugins := defaults.Profiles[0].Plugins; plugin {
		plugins.MultiPoint.Enabled = append(plugins.MultiPoint.Enabled, config.Plugin{Name: EvenkeelLoad, Weight: 15})
	}
	registry := frameworkruntime.Registry{EvenkeelLoad: func(_ context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		return &Plugin{name: EvenkeelLoad, host: handle, side: &half{answerer: s.answerer}}, nil
	}}
	informed := informers.NewSharedInformerFactory(client, 0)
	recorders := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	w := &whole{}
	w.Scheduler, err = scheduler.New(ctx, client, informed, nil, recorders,
		scheduler.WithProfiles(defaults.Profiles[0]), scheduler.WithFrameworkOutOfTreeRegistry(registry))
	if err != nil {
		b.Fatal(err)
	}
	informed.StartWithContext(b.Context())
	informed.WaitForCacheSyncWithContext(b.Context())
	for _, info := range s.nodes {
		node := info.Node().DeepCopy()
		node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("110")
		if tainted && s.used[node.Name] == hotMilli {
			node.Spec.Taints = []v1.Taint{{Key: "hot", Effect: v1.TaintEffectNoSchedule}}
		}
		w.Cache.AddNode(klog.TODO(), node)
	}
	w.framework = w.Profiles[v1.DefaultSchedulerName]
	var ok bool
	if w.snapshot, ok = w.framework.SnapshotSharedLister().(*cache.Snapshot); !ok {
		b.Fatalf("a snapshot of another kind: %T", w.framework.SnapshotSharedLister())
	}
	return w
}

// schedulePods places one pod after another. Once there are many, it removes all of them.
func (w *whole) schedulePods(b *testing.B) {
	b.Helper()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		w.schedule(b, n)
		if len(w.placed) == 1500 {
			b.StopTimer()
			w.clear(b)
			b.StartTimer()
		}
	}
}

func (w *whole) schedule(b *testing.B, n int) {
	b.Helper()
	pod := replica(n)
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Cache.UpdateSnapshot(klog.TODO(), w.snapshot); err != nil {
		b.Fatal(err)
	}
	state := framework.NewCycleState()
	result, err := w.SchedulePod(b.Context(), w.framework, state, &framework.QueuedPodInfo{PodInfo: info})
	if err != nil {
		b.Fatal(err)
	}
	if status := w.framework.RunReservePluginsReserve(b.Context(), state, pod, result.SuggestedHost); !status.IsSuccess() {
		b.Fatal(status.AsError())
	}
	pod.Spec.NodeName = result.SuggestedHost
	if err := w.Cache.AssumePod(klog.TODO(), pod); err != nil {
		b.Fatal(err)
	}
	w.placed = append(w.placed, placed{pod, state})
}

func (w *whole) clear(b *testing.B) {
	b.Helper()
	for _, p := range w.placed {
		w.framework.RunReservePluginsUnreserve(b.Context(), p.state, p.pod, p.pod.Spec.NodeName)
		if err := w.Cache.ForgetPod(klog.TODO(), p.pod); err != nil {
			b.Fatal(err)
		}
	}
	w.placed = w.placed[:0]
}

// replica returns a pod of two containers.
func replica(n int) *v1.Pod {
	requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m"), v1.ResourceMemory: resource.MustParse("8Mi")}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("web-%d", n), UID: types.UID(fmt.Sprintf("uid-%d", n)), Labels: webLabels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: new(true)}},
		},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{
			{Name: "main", Image: "main", Resources: v1.ResourceRequirements{Requests: requests}},
			{Name: "side", Image: "side", Resources: v1.ResourceRequirements{Requests: requests}},
		}},
	}
}
