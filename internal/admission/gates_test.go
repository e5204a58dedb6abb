package admission

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/internal/admission/names"
)

// plans are the nodes for pods by name.
type plans map[string]string

func (p plans) land(pod *v1.Pod) string { return p[pod.Name] }

func podOf(name string, gates ...string) *v1.Pod {
	controller := true
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("uid-" + name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs-web", Controller: &controller}},
	}}
	for _, gate := range gates {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: gate})
	}
	return pod
}

// patches notes what pods are patched with.
type patches struct {
	mu   sync.Mutex
	made []string
	// fail returns the error of a patch, by pod and subresource.
	fail func(pod, subresource string) error
	// forbids is why nothing may be evicted.
	forbids error
	dryRun  bool
}

func (p *patches) Permits(context.Context) error { return p.forbids }
func (p *patches) DryRun() bool                  { return p.dryRun }

// evict notes a pod that is released.
func (p *patches) evict(action clienttesting.Action) (bool, runtime.Object, error) {
	create := action.(clienttesting.CreateAction)
	eviction, ok := create.GetObject().(*policyv1.Eviction)
	if !ok {
		return false, nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if only := eviction.DeleteOptions.Preconditions; only == nil || *only.UID != types.UID("uid-"+eviction.Name) || *only.ResourceVersion == "" {
		p.made = append(p.made, eviction.Name+": released, whatever it is by now")
	}
	p.made = append(p.made, eviction.Name+": released")
	return true, nil, nil
}

func (p *patches) react(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		if err := p.fail(patch.GetName(), patch.GetSubresource()); err != nil {
			p.made = append(p.made, patch.GetName()+": "+patch.GetSubresource()+" failed")
			return true, nil, err
		}
	}
	p.made = append(p.made, patch.GetName()+": "+said(patch))
	return true, &v1.Pod{}, nil
}

func said(patch clienttesting.PatchAction) string {
	if patch.GetSubresource() == "status" {
		var body struct {
			Metadata struct{ UID string }
			Status   map[string]string
		}
		if json.Unmarshal(patch.GetPatch(), &body) != nil || body.Metadata.UID == "" || len(body.Status) != 1 {
			return "invalid " + string(patch.GetPatch())
		}
		return "nominated " + body.Status["nominatedNodeName"]
	}
	var steps []struct{ Op, Path, Value string }
	if json.Unmarshal(patch.GetPatch(), &steps) != nil || len(steps) != 3 || steps[0].Path != "/metadata/uid" || steps[1].Value != gate {
		return "invalid " + string(patch.GetPatch())
	}
	return steps[2].Op + " " + steps[2].Path
}

// play runs Gates over pods for some time and returns how these were patched.
func play(t *testing.T, p *patches, planner plans, keys *Keys, lasts time.Duration, pods ...*v1.Pod) []string {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var objects []runtime.Object
		for _, pod := range pods {
			objects = append(objects, pod)
		}
		client := fake.NewClientset(objects...)
		client.PrependReactor("patch", "pods", p.react)
		client.PrependReactor("create", "pods", p.evict)
		factory := informers.NewSharedInformerFactory(client, 0)
		gates := NewGates(client, keys, factory.Core().V1().Pods().Informer(), p)
		factory.Start(ctx.Done())
		done := make(chan error)
		go func() { done <- gates.Run(ctx, planner.land) }()
		time.Sleep(lasts)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
	})
	slices.Sort(p.made)
	return p.made
}

// A replacement is nominated before it goes free, any other held pod goes free
// at once, and pods that we do not hold are left alone.
func TestGatesAreTakenOff(t *testing.T) {
	leaving := podOf("leaving", gate)
	leaving.DeletionTimestamp, leaving.Finalizers = &metav1.Time{Time: start}, []string{"x/y"}
	got := play(t, &patches{}, plans{"planned": "n7"}, newWorld().keys, time.Second,
		podOf("planned", gate), podOf("scaled-up", gate), podOf("theirs", "acme.io/wait"), podOf("both", "acme.io/wait", gate), podOf("free"), leaving)
	want := []string{
		"both: remove /spec/schedulingGates/1", "planned: nominated n7", "planned: remove /spec/schedulingGates/0",
		"scaled-up: remove /spec/schedulingGates/0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A nomination that fails holds no pod back, and a gate is tried until it is
// off.
func TestGatesAreTakenOffInTheEnd(t *testing.T) {
	failures := 3
	p := &patches{fail: func(_, subresource string) error {
		if subresource == "status" {
			return errors.New("connection refused")
		}
		if failures--; failures >= 0 {
			return apierrors.NewInternalError(errors.New("etcd has no leader"))
		}
		return nil
	}}
	got := play(t, p, plans{"planned": "n7"}, newWorld().keys, time.Minute, podOf("planned", gate))
	if last := got[len(got)-1]; last != "planned: status failed" || !slices.Contains(got, "planned: remove /spec/schedulingGates/0") {
		t.Errorf("patches %s", strings.Join(got, ", "))
	}
}

// Where the right is missing it is seldom tried: whoever may create pods can
// have any number of them held.
func TestGatesThatMayNotBeTakenOff(t *testing.T) {
	p := &patches{fail: func(string, string) error { return apierrors.NewForbidden(v1.Resource("pods"), "a", nil) }}
	if got := play(t, p, plans{}, newWorld().keys, 61*time.Second, podOf("a", gate)); len(got) != 3 {
		t.Errorf("%d patches in a minute, want 3", len(got))
	}
}

// A pod that is deleted meanwhile is done with. Where another replica may have
// been faster, the watch has the last word: a webhook's refusal looks alike.
func TestGatesThatSomebodyElseTookOff(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		again bool
	}{
		"its gates have changed": {apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "a", nil), true},
		"deleted":                {apierrors.NewNotFound(v1.Resource("pods"), "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patches{fail: func(string, string) error { return tc.err }}
			if got := play(t, p, plans{}, newWorld().keys, time.Minute, podOf("a", gate)); len(got) > 1 != tc.again {
				t.Errorf("patches %v, want more than one: %v", got, tc.again)
			}
		})
	}
}

// The key is cleared when the ledger knows the replacement, be that before or
// after the pod is seen here, and not by any other pod of the owner.
func TestAnswersClearTheKey(t *testing.T) {
	w := newWorld()
	w.moves(web, "web-1")
	if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	play(t, &patches{}, plans{}, w.keys, time.Second, podOf("before"))
	if !w.keys.isOpen(web) {
		t.Error("a pod that replaces nothing cleared it")
	}
	w.replaces(web, "web-1", "new")
	play(t, &patches{}, plans{}, w.keys, time.Second, podOf("new", gate))
	if w.keys.isOpen(web) {
		t.Error("the replacement did not clear it")
	}
}

// A pod that fits on none of the nodes that it was restricted to is released
// after a while, if a move of its controller is known.
func TestStrandedPodsAreReleased(t *testing.T) {
	waiting := func(name, by string, change ...func(*v1.Pod)) *v1.Pod {
		pod := podOf(name)
		pod.CreationTimestamp = metav1.Time{Time: start}
		pod.Annotations = map[string]string{names.Annotation: by}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
		for _, c := range change {
			c(pod)
		}
		return pod
	}
	pods := []*v1.Pod{
		waiting("stranded", "n1,n2"), waiting("held-once", names.Gate), waiting("never", ""),
		waiting("bound", "n1", func(pod *v1.Pod) { pod.Spec.NodeName = "n1" }),
		waiting("not-tried", "n1", func(pod *v1.Pod) { pod.Status.Conditions = nil }),
		waiting("stranger", "n1", func(pod *v1.Pod) { pod.OwnerReferences[0].UID = "rs-strangers" }),
		waiting("alone", "n1", func(pod *v1.Pod) { pod.OwnerReferences = nil }),
	}
	for _, pod := range pods {
		pod.ResourceVersion = "7"
	}
	released := func(p *patches, lasts time.Duration) []string {
		w := newWorld()
		w.moves(owner{"shop", "rs-web"}, "web-1")
		var began time.Time
		w.keys.now = func() time.Time {
			if began.IsZero() {
				began = time.Now()
			}
			return start.Add(time.Since(began))
		}
		return play(t, p, nil, w.keys, lasts, pods...)
	}
	for name, tc := range map[string]struct {
		server *patches
		lasts  time.Duration
		want   []string
	}{
		"not yet":       {&patches{}, strandedAfter - time.Second, nil},
		"again":         {&patches{}, strandedAfter + releaseRetry + time.Second, []string{"stranded: released", "stranded: released"}},
		"another leads": {&patches{forbids: errors.New("another process leads")}, strandedAfter + time.Second, nil},
		"a dry run":     {&patches{dryRun: true}, strandedAfter + time.Second, nil},
	} {
		if diff := cmp.Diff(tc.want, released(tc.server, tc.lasts)); diff != "" {
			t.Errorf("%s: released (-want +got):\n%s", name, diff)
		}
	}
}
