package placement

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// oracle computes the results of Session.Fits in the simplest way. It writes both worlds as lists
// of pods, and runs the plugins on kube-scheduler's own snapshot of each, which it builds from
// scratch for every question.
type oracle struct {
	cfg     Config // to build filters that see the same claims
	ctx     context.Context
	lister  *swapLister
	plugins framework.Framework
	nodes   []*v1.Node
	pods    []*v1.Pod
	moves   map[*v1.Pod]string
}

type swapLister struct{ fwk.SharedLister }

// newOracle serves a ReadWriteOncePod claim "mine" and a zonal one "zonal" in
// the namespace ns-0.
func newOracle(t testing.TB) *oracle {
	t.Helper()
	factory := informers.NewSharedInformerFactory(fake.NewClientset(
		inFirstNamespace(boundClaim("mine", v1.ReadWriteOncePod)), volume("mine"),
		inFirstNamespace(boundClaim("zonal", v1.ReadWriteMany)), volume("zonal", inZone("zone-1")),
	), 0)
	o := &oracle{ctx: t.Context(), lister: &swapLister{cache.NewEmptySnapshot()}, moves: map[*v1.Pod]string{}}
	o.cfg.Informers = factory
	var err error
	if o.plugins, _, err = newFramework(t.Context(), o.cfg, o.lister); err != nil {
		t.Fatalf("building the oracle's framework: %v", err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	return o
}

func inFirstNamespace(c *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	c.Namespace = "ns-0"
	return c
}

func (o *oracle) fits(pod *v1.Pod, node string) Result {
	if v := o.fitsIn(pod, node, false); !v.OK {
		return v
	}
	v := o.fitsIn(pod, node, true)
	v.Terminating = !v.OK
	return v
}

func (o *oracle) fitsIn(pod *v1.Pod, node string, terminating bool) Result {
	o.lister.SharedLister = cache.NewSnapshot(o.world(pod, terminating), o.nodes)
	info, err := o.lister.NodeInfos().Get(node)
	if err != nil {
		return Result{Reason: errUnknownNode.Error()}
	}
	replacement := replacementOf(pod)
	cycle := framework.NewCycleState()
	result, status, _ := o.plugins.RunPreFilterPlugins(o.ctx, cycle, replacement)
	if status.IsSuccess() && !result.AllNodes() && !result.NodeNames.Has(node) {
		return Result{Plugin: "NodeAffinity", Reason: "the pod may run on named nodes only, and this is not one of them"}
	}
	if status.IsSuccess() {
		status = o.plugins.RunFilterPlugins(o.ctx, cycle, replacement, info)
	}
	if status.IsSuccess() {
		return Result{OK: true}
	}
	return refusalOf(status)
}

// world returns the pods on nodes at the time when a replacement for the pod is scheduled.
func (o *oracle) world(asked *v1.Pod, terminating bool) []*v1.Pod {
	var world []*v1.Pod
	for _, pod := range o.pods {
		dest, moved := o.moves[pod]
		leaves := moved || pod == asked
		switch {
		case !leaves:
			world = append(world, pod)
		case terminating && (moved || !isStateful(pod)):
			old := pod.DeepCopy()
			now := metav1.Now()
			old.DeletionTimestamp = &now
			world = append(world, old)
		}
		if moved {
			landed := replacementOf(pod)
			landed.Spec.NodeName = dest
			world = append(world, landed)
		}
	}
	return world
}
