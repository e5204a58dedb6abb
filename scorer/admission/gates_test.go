package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/ledger"
)

// plans holds the nodes planned for pods, by pod name.
type plans map[string]string

func (p plans) land(pod *v1.Pod, _ func(string) bool) string { return p[pod.Name] }

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

// patches records the patches of pods.
type patches struct {
	mu   sync.Mutex
	made []string
	// fail returns the error with which a patch of a pod's subresource fails.
	fail func(pod, subresource string) error
}

// evict records the eviction by which a pod is released.
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
	var steps []struct{ Op, Path, Value string }
	if json.Unmarshal(patch.GetPatch(), &steps) != nil || len(steps) != 3 || steps[0].Path != "/metadata/uid" {
		return "invalid " + string(patch.GetPatch())
	}
	if where := steps[1].Path; where == "/status/nominatedNodeName" && steps[2].Path == where && patch.GetSubresource() == "status" {
		return steps[2].Op + " nomination " + steps[1].Value
	}
	if steps[1].Value != gate {
		return "invalid " + string(patch.GetPatch())
	}
	if patch.GetSubresource() == "status" && steps[2].Path == "/status/nominatedNodeName" {
		return "nominated " + steps[2].Value
	}
	return steps[2].Op + " " + steps[2].Path
}

// play runs Gates over pods for some time and returns the patches and evictions.
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
		gates := NewGates(client, keys, factory)
		factory.Start(ctx.Done())
		synctest.Wait() // the client answers one call at a time, and some answers take a while to reach Gates
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

// A replacement is nominated before it is released. Any other held pod is released at once. Pods
// that Evenkeel does not hold are left alone.
func TestGatesAreRemoved(t *testing.T) {
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

// A replica that has just started does not know the plans yet. If it knows no plan for a pod, it
// leaves the pod to the leader, and releases it only if the leader does not.
func TestTheLeaderComesFirst(t *testing.T) {
	w := newWorld()
	pods := []*v1.Pod{podOf("planned", gate), podOf("unplanned", gate)}
	for _, pod := range pods {
		pod.CreationTimestamp = metav1.Time{Time: start}
	}
	planned := []string{"planned: nominated n7", "planned: remove /spec/schedulingGates/0"}
	for name, tc := range map[string]struct {
		lasts time.Duration
		leads bool
		want  []string
	}{
		"one that leads knows best": {leaderFirst / 2, true, append(slices.Clone(planned), "unplanned: remove /spec/schedulingGates/0")},
		"another leads":             {leaderFirst - time.Millisecond, false, planned},
		"none does anything":        {leaderFirst + time.Millisecond, false, append(slices.Clone(planned), "unplanned: remove /spec/schedulingGates/0")},
	} {
		t.Run(name, func(t *testing.T) {
			if w.deposed = nil; !tc.leads {
				w.deposed = errors.New("another process leads")
			}
			var began time.Time
			w.keys.now = func() time.Time {
				if began.IsZero() {
					began = time.Now()
				}
				return start.Add(time.Since(began))
			}
			if diff := cmp.Diff(tc.want, play(t, &patches{}, plans{"planned": "n7"}, w.keys, tc.lasts, pods...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// slowServer answers a PATCH after a second, unless the client hangs up before that. It stops the
// process shortly after the first request.
type slowServer struct {
	stop context.CancelFunc
	mu   sync.Mutex
	made []string
}

func (s *slowServer) RoundTrip(r *http.Request) (*http.Response, error) {
	time.AfterFunc(100*time.Millisecond, s.stop) // all pods have been seen by then
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(time.Second):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, r.URL.Path)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r,
	}, nil
}

// Before a process ends, it releases the pods that it has seen, because after a one-shot run
// nothing else would release them.
func TestAProcessThatEndsReleasesPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var objects []runtime.Object
		var want []string
		for i := range 2 * gateWorkers {
			pod := podOf(fmt.Sprint("planned-", i), gate)
			objects = append(objects, pod)
			path := "/api/v1/namespaces/shop/pods/" + pod.Name
			want = append(want, path, path+"/status")
		}
		server := &slowServer{stop: stop}
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://server", Transport: server, QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
		gates := NewGates(client, newWorld().keys, factory)
		watching, end := context.WithCancel(t.Context())
		defer factory.Shutdown()
		defer end()
		factory.Start(watching.Done())
		synctest.Wait()
		if err := gates.Run(ctx, func(*v1.Pod, func(string) bool) string { return "n7" }); err != nil {
			t.Error(err)
		}
		slices.Sort(server.made)
		if diff := cmp.Diff(want, server.made); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
	})
}

// A process that ends does not wait long for an API server that does not respond.
func TestAProcessThatEndsWaitsForNoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var objects []runtime.Object
		for i := range 10 * gateWorkers {
			objects = append(objects, podOf(fmt.Sprint("planned-", i), gate))
		}
		client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://server", QPS: -1, Transport: silent{stop}})
		if err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(fake.NewClientset(objects...), 0)
		gates := NewGates(client, newWorld().keys, factory)
		watching, end := context.WithCancel(t.Context())
		defer factory.Shutdown()
		defer end()
		factory.Start(watching.Done())
		synctest.Wait()
		began := time.Now()
		if err := gates.Run(ctx, func(*v1.Pod, func(string) bool) string { return "n7" }); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*callTimeout {
			t.Errorf("ended after %v", took)
		}
	})
}

// silent never answers, and stops the process shortly after the first request.
type silent struct{ stop context.CancelFunc }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	time.AfterFunc(100*time.Millisecond, s.stop)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A failed nomination does not hold the pod back, and removing a gate is retried until it succeeds.
func TestGatesAreEventuallyRemoved(t *testing.T) {
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

// If the permission is missing, a removal is retried only at long intervals, because anyone who can
// create pods can have any number of them held.
func TestGatesWithoutPermissionToRemove(t *testing.T) {
	p := &patches{fail: func(string, string) error { return apierrors.NewForbidden(v1.Resource("pods"), "a", nil) }}
	if got := play(t, p, plans{}, newWorld().keys, 61*time.Second, podOf("a", gate)); len(got) != 3 {
		t.Errorf("%d patches in a minute, want 3", len(got))
	}
}

// If a pod has been deleted in the meantime, nothing remains to be done. If another replica may
// have been faster, the watch decides, because a webhook's rejection looks the same.
func TestGatesThatSomebodyElseRemoved(t *testing.T) {
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

// The key is cleared when the ledger knows the replacement, whether before or after the pod is seen
// here. No other pod of the owner clears it.
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

// While a key is open, the pods of a scale-up are held as well, so the key is cleared before the
// replacement is released.
func TestAnswersClearTheKeyAtOnce(t *testing.T) {
	w := newWorld()
	w.moves(web, "web-1")
	if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	w.replaces(web, "web-1", "new")
	slow := &patches{fail: func(string, string) error {
		time.Sleep(100 * time.Millisecond)
		if w.keys.isOpen(web) {
			t.Error("a call about the replacement was answered, and the key is open")
		}
		return nil
	}}
	play(t, slow, plans{"new": "n1"}, w.keys, time.Second, podOf("new", gate))
}

// If a move of its controller is known, a pod that fits on none of the nodes to which it was
// restricted is released after a while.
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
	released := func(lasts time.Duration, deposed error) []string {
		w := newWorld()
		w.moves(web, "web-1")
		w.deposed = deposed
		var began time.Time
		w.keys.now = func() time.Time {
			if began.IsZero() {
				began = time.Now()
			}
			return start.Add(time.Since(began))
		}
		return play(t, &patches{}, nil, w.keys, lasts, pods...)
	}
	for name, tc := range map[string]struct {
		lasts   time.Duration
		deposed error
		want    []string
	}{
		"not yet":       {strandedAfter - time.Second, nil, nil},
		"again":         {strandedAfter + releaseRetry + time.Second, nil, []string{"stranded: released", "stranded: released"}},
		"another leads": {strandedAfter + time.Second, errors.New("another process leads"), nil},
	} {
		if diff := cmp.Diff(tc.want, released(tc.lasts, tc.deposed)); diff != "" {
			t.Errorf("%s: released (-want +got):\n%s", name, diff)
		}
	}
}

// A stranded pod is released even while the key of its owner is open, because a
// StatefulSet's key may be open for hours.
func TestStrandedPodsAreReleasedWhileTheKeyIsOpen(t *testing.T) {
	for name, refused := range map[string]error{"the key stays open": nil, "the key cannot be cleared": errors.New("connection refused")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.moves(web, "web-1")
			if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(time.Hour))); err != nil {
				t.Fatal(err)
			}
			if refused != nil {
				w.replaces(web, "web-1", "web-9")
				w.server.PrependReactor("patch", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
			}
			pod := podOf("pending")
			pod.ResourceVersion, pod.CreationTimestamp = "7", metav1.Time{Time: start}
			pod.Annotations = map[string]string{names.Annotation: "n1"}
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
			w.now = start.Add(strandedAfter)
			if diff := cmp.Diff([]string{"pending: released"}, play(t, &patches{}, nil, w.keys, time.Second, pod)); diff != "" {
				t.Errorf("released (-want +got):\n%s", diff)
			}
		})
	}
}

// If a steered pod is copied into a template, the template's pods look restricted. They are not
// released, because their replacements would look the same.
func TestCopiedNamesAreNotReleased(t *testing.T) {
	for name, tc := range map[string]struct {
		by    string
		after time.Duration // since the move landed
		want  []string
	}{
		"restricted for the move": {"n1,n2", 0, []string{"pending: released"}},
		"while the key may last":  {"n1", keyLasts, []string{"pending: released"}},
		"for a move elsewhere":    {"n2,n1", 0, nil},
		"when there is no key":    {"n1,n2", keyLasts + time.Second, nil},
		"before there was a key":  {"n1,n2", -keyLasts - time.Second, nil},
		"by hand, for no move":    {"n7", time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, rs := newWorld(), keyID{"shop", "rs-web"}
			w.moves(rs, "web-1")
			w.replaces(rs, "web-1", "web-9")
			w.ledger.Bound(ledger.Pod{UID: "uid-web-9", Namespace: "shop", Name: "web-9", OwnerUID: rs.name, OwnerKind: "ReplicaSet", Created: w.now}, "n1", w.now)
			pod := podOf("pending")
			pod.ResourceVersion, pod.CreationTimestamp = "7", metav1.Time{Time: start.Add(tc.after)}
			pod.Annotations = map[string]string{names.Annotation: tc.by}
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
			w.now = start.Add(tc.after + strandedAfter)
			if diff := cmp.Diff(tc.want, play(t, &patches{}, nil, w.keys, time.Second, pod)); diff != "" {
				t.Errorf("released (-want +got):\n%s", diff)
			}
		})
	}
}

// kube-scheduler keeps the nomination of a pod that never preempts and fits nowhere, and
// autoscalers add no node for a pod with a nomination. Therefore the nomination is removed.
func TestUselessNominationsAreRemoved(t *testing.T) {
	never, lower := v1.PreemptNever, v1.PreemptLowerPriority
	waiting := func(name string, change ...func(*v1.Pod)) *v1.Pod {
		pod := podOf(name)
		pod.Annotations = map[string]string{names.Annotation: names.Gate}
		pod.Spec.PreemptionPolicy, pod.Status.NominatedNodeName = &never, "n1"
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable}}
		for _, c := range change {
			c(pod)
		}
		return pod
	}
	got := play(t, &patches{}, nil, newWorld().keys, time.Second, waiting("in-vain"),
		waiting("not-tried", func(pod *v1.Pod) { pod.Status.Conditions = nil }),
		waiting("bound", func(pod *v1.Pod) { pod.Spec.NodeName = "n1" }),
		waiting("preempts", func(pod *v1.Pod) { pod.Spec.PreemptionPolicy = &lower }),
		waiting("by-default", func(pod *v1.Pod) { pod.Spec.PreemptionPolicy = nil }),
		waiting("of-others", func(pod *v1.Pod) { pod.Annotations = nil }))
	if diff := cmp.Diff([]string{"in-vain: remove nomination n1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pod with someone else's gate cannot be scheduled yet, and current measurements will be outdated
// when it can be. A nomination that is outdated because the process that made it ended before it
// released the pod is withdrawn.
func TestStaleNominations(t *testing.T) {
	left := func(name, node string, gates ...string) *v1.Pod {
		pod := podOf(name, gates...)
		pod.Status.NominatedNodeName = node
		return pod
	}
	planner := plans{"both": "n7", "planned": "n7"}
	got := play(t, &patches{}, planner, newWorld().keys, time.Second,
		podOf("both", gate, "acme.io/wait"), left("over", "hot", gate), left("planned", "n7", gate), left("free", "n7"))
	want := []string{
		"both: remove /spec/schedulingGates/0",
		"over: nominated ", "over: remove /spec/schedulingGates/0",
		"planned: remove /spec/schedulingGates/0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A replica whose watch lags behind does not change the nomination by a replica that has already
// released the pod, because kube-scheduler may be processing it.
func TestTheSlowerReplicaNominatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		client := fake.NewClientset(podOf("planned", gate))
		faster := false
		client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			if faster {
				return false, nil, nil
			}
			faster = true
			free := podOf("planned")
			free.Status.NominatedNodeName = "n7"
			return false, nil, client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), free, free.Namespace)
		})
		factory := informers.NewSharedInformerFactory(client, 0)
		gates := NewGates(client, newWorld().keys, factory)
		factory.Start(ctx.Done())
		done := make(chan error)
		go func() { done <- gates.Run(ctx, plans{"planned": "n9"}.land) }()
		time.Sleep(time.Minute)
		pod, err := client.CoreV1().Pods("shop").Get(ctx, "planned", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !faster || pod.Status.NominatedNodeName != "n7" {
			t.Errorf("nominated %q, want n7", pod.Status.NominatedNodeName)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
	})
}

// While a key is open, pods of its owner that are not the replacement are checked only at long
// intervals, because a StatefulSet's key may be open for hours.
func TestBystandersAreRarelyChecked(t *testing.T) {
	w := newWorld()
	w.moves(web, "web-1")
	if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	var looks int
	w.keys.now = func() time.Time { looks++; return w.now }
	play(t, &patches{}, plans{}, w.keys, time.Minute, podOf("pending"))
	if looks > 100 {
		t.Errorf("%d looks at a pod in a minute", looks)
	}
}

// Anyone who can create pods can have any number of them held. The replacement of a move does not
// wait for these pods.
func TestReplacementsDoNotWaitForOtherPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := newWorld()
		w.moves(web, "web-1")
		var objects []runtime.Object
		for i := range 2000 {
			pod := podOf(fmt.Sprint("strange-", i), gate)
			pod.Namespace, pod.OwnerReferences = "theirs", nil
			objects = append(objects, pod)
		}
		client, p := fake.NewClientset(objects...), &patches{}
		client.PrependReactor("patch", "pods", p.react)
		factory := informers.NewSharedInformerFactory(client, 0)
		gates := NewGates(client, w.keys, factory)
		factory.Start(ctx.Done())
		done, asked := make(chan error), make(chan time.Time, 1)
		land := func(pod *v1.Pod, _ func(string) bool) string {
			if pod.Name == "new" {
				asked <- time.Now()
			}
			time.Sleep(gateWorkers * time.Second / 50) // the client's rate limit
			return ""
		}
		go func() { done <- gates.Run(ctx, land) }()
		time.Sleep(time.Second)
		came := time.Now()
		if _, err := client.CoreV1().Pods("shop").Create(ctx, podOf("new", gate), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if waited := (<-asked).Sub(came); waited > time.Second {
			t.Errorf("the replacement waited for %v", waited)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
	})
}

// Whatever happens between the check of a pod and its patch, none of our gates remains.
func TestNoGateStays(t *testing.T) {
	kind := v1.SchemeGroupVersion.WithResource("pods")
	type server = clienttesting.ObjectTracker
	for name, meanwhile := range map[string]func(server, int) error{
		"it conflicts": func(_ server, i int) error {
			if i < 3 {
				return apierrors.NewConflict(v1.Resource("pods"), "a", nil)
			}
			return nil
		},
		"no answer for a while": func(_ server, i int) error {
			if i < 10 {
				return context.DeadlineExceeded
			}
			return nil
		},
		"another pod has its name": func(s server, i int) error {
			if i > 0 {
				return nil
			}
			next := podOf("a", gate)
			next.UID = "next"
			return errors.Join(s.Delete(kind, "shop", "a"), s.Add(next))
		},
		"another gate is removed": func(s server, i int) error {
			if i > 0 {
				return nil
			}
			return s.Update(kind, podOf("a", gate), "shop")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				client, calls := fake.NewClientset(podOf("a", "acme.io/wait", gate)), 0
				client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					err := meanwhile(client.Tracker(), calls)
					calls++
					return err != nil, nil, err
				})
				factory := informers.NewSharedInformerFactory(client, 0)
				gates := NewGates(client, newWorld().keys, factory)
				factory.Start(ctx.Done())
				done := make(chan error)
				go func() { done <- gates.Run(ctx, plans{"a": "n7"}.land) }()
				time.Sleep(time.Minute)
				if pod, err := client.CoreV1().Pods("shop").Get(ctx, "a", metav1.GetOptions{}); err != nil || gateOf(pod) >= 0 {
					t.Errorf("gates %v, error %v, %d calls", pod.Spec.SchedulingGates, err, calls)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				factory.Shutdown()
			})
		})
	}
}
