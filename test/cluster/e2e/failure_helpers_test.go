package e2e

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func (f *fixture) schedulerWithoutExtender() {
	f.T.Helper()
	f.RestoreScheduler()
	if err := f.RestartScheduler(f.T.Context()); err != nil {
		f.T.Fatal(err)
	}
}

func (f *fixture) cycles(address string) float64 {
	f.T.Helper()
	return f.Metric(address, `evenkeel_cycles_total{result="success"}`)
}

// waitCycles waits until n more cycles have ended.
func (f *fixture) waitCycles(address string, n float64) {
	f.T.Helper()
	begin := f.cycles(address)
	f.Eventually(2*time.Minute, fmt.Sprintf("%v more cycles", n), func(context.Context) bool { return f.cycles(address) >= begin+n })
}

// podsPerSecond restarts kube-scheduler with the extenders, lets it bind the waiting pods, and
// returns how many it bound per second from the first to the last. All pods must be bound in every
// case.
func (f *fixture) podsPerSecond(name string, pods int, extenders []schedulerv1.Extender) float64 {
	f.T.Helper()
	if err := f.Shutdown(cluster.Scheduler); err != nil {
		f.T.Fatal(err)
	}
	w := stage.Workload(name, cluster.Resources{CPU: "10m", Memory: "16Mi"}, cluster.Resources{CPU: "1m", Memory: "1Mi"})
	w.Replicas = pods
	if err := f.Create(f.T.Context(), w); err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(30*time.Second, "the pods to be created", func(ctx context.Context) bool { return len(f.Pods(ctx, name)) == pods })

	elapsed := f.watchBindings(name, pods)
	if err := f.RestartScheduler(f.T.Context(), extenders...); err != nil {
		f.T.Fatal(err)
	}
	select {
	case took := <-elapsed:
		return float64(pods-1) / took.Seconds()
	case <-time.After(90 * time.Second):
		f.T.Fatalf("%s: not all of %d pods were bound within 90 s", name, pods)
		return 0
	}
}

// watchBindings delivers the time between the first and the last of the given number of bindings.
func (f *fixture) watchBindings(name string, pods int) <-chan time.Duration {
	f.T.Helper()
	// This uses an informer rather than a bare watch, because the API server ends a watch that
	// falls behind in such a burst.
	factory := informers.NewSharedInformerFactoryWithOptions(f.Client(), 0, informers.WithNamespace("shop"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=" + name }))
	informer := factory.Core().V1().Pods().Informer()
	elapsed := make(chan time.Duration, 1)
	bound := map[types.UID]bool{}
	var first time.Time
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) {
		pod, ok := object.(*v1.Pod)
		if !ok || pod.Spec.NodeName == "" || bound[pod.UID] {
			return
		}
		if bound[pod.UID] = true; len(bound) == 1 {
			first = time.Now()
		}
		if len(bound) == pods {
			elapsed <- time.Since(first)
		}
	}})
	if err != nil {
		f.T.Fatal(err)
	}
	factory.Start(f.T.Context().Done())
	factory.WaitForCacheSync(f.T.Context().Done())
	return elapsed
}
