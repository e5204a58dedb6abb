package admission

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

// A held pod is released, whatever happened to the key that holds it and to the process that set
// the key. It is released at once, even if it has been waiting for a long time.
func TestHeldPodsGoFreeWhateverTheKeySays(t *testing.T) {
	orphan := podOf("orphan", gate)
	orphan.OwnerReferences = nil
	old := podOf("old", gate)
	old.CreationTimestamp = metav1.NewTime(start.Add(-time.Hour))
	key := to("n1", start.Add(time.Hour))
	cases := map[string]struct {
		pod    *v1.Pod
		change func(*testing.T, *world)
	}{
		"there is none":          {podOf("held", gate), func(*testing.T, *world) {}},
		"the pod has no owner":   {orphan, func(*testing.T, *world) {}},
		"held for an hour":       {old, func(*testing.T, *world) {}},
		"its move is in flight":  {podOf("held", gate), func(t *testing.T, w *world) { opens(t, w, key); w.moves(web, "web-1") }},
		"its move is not known":  {podOf("held", gate), func(t *testing.T, w *world) { opens(t, w, key) }},
		"it has expired":         {podOf("held", gate), func(t *testing.T, w *world) { opens(t, w, key); w.now = start.Add(2 * time.Hour) }},
		"another process leads":  {podOf("held", gate), func(t *testing.T, w *world) { opens(t, w, key); w.deposed = errors.New("another leads") }},
		"keys cannot be written": {podOf("held", gate), func(t *testing.T, w *world) { opens(t, w, key); w.breaks(errors.New("connection refused")) }},
		"the kind does not exist": {podOf("held", gate), func(t *testing.T, w *world) {
			opens(t, w, key)
			w.breaks(apierrors.NewNotFound(resource.GroupResource(), ""))
		}},
		"it is another process's": {podOf("held", gate), func(t *testing.T, w *world) { w.keys.used = true }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.change(t, w)
			got := play(t, &patches{}, plans{}, w.keys, 100*time.Millisecond, tc.pod)
			if diff := cmp.Diff([]string{tc.pod.Name + ": remove /spec/schedulingGates/0"}, got[:min(len(got), 1)]); diff != "" {
				t.Errorf("patches %q (-want +got):\n%s", got, diff)
			}
		})
	}
}

func opens(t *testing.T, w *world, key target) {
	t.Helper()
	if err := w.keys.set(t.Context(), web, "uid-web-1", key); err != nil {
		t.Fatal(err)
	}
}

// breaks makes all requests about Steerings fail.
func (w *world) breaks(err error) {
	w.server.PrependReactor("*", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

// Held pods are counted while they are held. After 30 seconds, they also count as overdue.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		young, old, leaves, free := podOf("young", gate), podOf("old", gate), podOf("leaves", "acme.io/wait", gate), podOf("free", "acme.io/wait")
		for _, pod := range []*v1.Pod{old, leaves, free} {
			pod.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		}
		young.CreationTimestamp = metav1.NewTime(time.Now())
		client := fake.NewClientset(young, old, leaves, free)
		factory, registry := informers.NewSharedInformerFactory(client, 0), prometheus.NewRegistry()
		watchdog := NewWatchdog(factory.Core().V1().Pods().Informer(), time.Now, registry)
		factory.Start(ctx.Done())
		done := make(chan error)
		go func() { done <- watchdog.Run(ctx) }()
		counts := func(what, held, overdue string) {
			t.Helper()
			synctest.Wait()
			want := "# HELP evenkeel_steering_held_pods Pods that the scheduling gate evenkeel.io/steer currently holds.\n# TYPE evenkeel_steering_held_pods gauge\n" +
				"evenkeel_steering_held_pods " + held + "\n# HELP evenkeel_steering_overdue_pods Pods that the scheduling gate has held for longer than 30s, because no process can remove it.\n" +
				"# TYPE evenkeel_steering_overdue_pods gauge\nevenkeel_steering_overdue_pods " + overdue + "\n"
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		time.Sleep(time.Millisecond)
		counts("at once", "3", "2")
		time.Sleep(Overdue + time.Second)
		counts("later", "3", "3")
		old.Spec.SchedulingGates = nil
		if _, err := client.CoreV1().Pods("shop").Update(ctx, old, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.CoreV1().Pods("shop").Delete(ctx, "leaves", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		counts("one freed, one deleted", "1", "1")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		factory.Shutdown()
	})
}

// The log names a few overdue pods, each once.
func TestWatchdogLogs(t *testing.T) {
	w := NewWatchdog(nil, func() time.Time { return start }, prometheus.NewRegistry())
	for name := range strings.FieldsSeq("a b c d e f g") {
		w.saw(podOf(name, gate), false)
	}
	var lines []string
	ctx := logged(t, &lines)
	if told := w.tell(ctx, w.tell(ctx, 0)); told != 7 || len(lines) != 1 {
		t.Errorf("%d pods logged in %q", told, lines)
	}
	w.saw(podOf("h", gate), false)
	if w.tell(ctx, 7); len(lines) != 2 || strings.Count(lines[1], "shop") != maxOverdueNamed {
		t.Errorf("logged %q", lines)
	}
}

// logged returns a context whose log lines are collected.
func logged(t *testing.T, lines *[]string) context.Context {
	t.Helper()
	logger := funcr.New(func(_, args string) { *lines = append(*lines, args) }, funcr.Options{})
	return klog.NewContext(t.Context(), logger)
}
